// Tables as CSV, for spreadsheets.

// A size, a count or a share, as the page writes them: a sign in front of it begins no formula.
const kFigure = /^[+-]?\d[\d,]*(\.\d+)?( ?([KMGT]iB|B|%))?$/;

// A name that a spreadsheet would take for a formula gets an apostrophe in front, as in the CSV of
// the program (EscapeCsv).
function cell(text: string): string {
  const guard = /^[=+\-@\t\r\n]/.test(text) && !kFigure.test(text) ? "'" : "";
  return `"${guard}${text.replace(/"/g, '""')}"`;
}

export function toCsv(rows: string[][]): string {
  return rows.map((row) => `${row.map(cell).join(",")}\r\n`).join("");
}
