// Of a table's rows, without the page: what cells say, their order, which are kept, and which are in sight.
import { asNumber, asText, type Row } from "../core/answers";
import { count, percent, size } from "../core/format";
import { place, shortName, shortPlace } from "../core/words";

export interface Column {
  key: string;
  title: string;
  kind: "size" | "change" | "count" | "percent" | "text" | "bar" | "shape";
  of?: number; // what percent and bar are of
  about?: string; // what the title means
  value?: (row: Row) => number | undefined; // where no field of the row has it
  text?: (row: Row) => string;
  whole?: (row: Row) => string; // in whole, where the cell says less
}

export const kWhere: Column = {
  key: "name", title: "Where", kind: "text", text: (row) => shortName(asText(row["name"])), whole: (row) => asText(row["name"]),
};
export const kPlace: Column = { key: "file", title: "Place", kind: "text", text: shortPlace, whole: place };

export function cellText(column: Column, row: Row): string {
  if (column.text !== undefined) {
    return column.text(row);
  }
  const value = column.value === undefined ? row[column.key] : column.value(row);
  if (value === null || value === undefined) {
    return "";
  }
  switch (column.kind) {
    case "size":
      return size(value as number | bigint);
    case "change":
      return size(value as number | bigint, true);
    case "count":
      return count(value as number | bigint);
    case "percent":
      return percent(asNumber(value), column.of ?? 0);
    default:
      return asText(value);
  }
}

export const cellValue = (column: Column, row: Row): number => asNumber(column.value === undefined ? row[column.key] : column.value(row));

// Rows in the order of a column; equal ones stay as they were.
export function inOrder(rows: Row[], column: Column, down: boolean): Row[] {
  const order = column.kind === "text" ? new Intl.Collator().compare : (a: number, b: number) => a - b;
  const keys = rows.map((row) => (column.kind === "text" ? cellText(column, row) : cellValue(column, row)));
  return rows.map((_row, i) => i)
    .sort((a, b) => (down ? 1 : -1) * (order as (a: unknown, b: unknown) => number)(keys[b], keys[a]) || a - b)
    .map((i) => rows[i]!);
}

// All that the row says in words, to look for something in it. It begins with the name, wherever its column stands.
export function rowText(columns: Column[], row: Row): string {
  const texts = columns.filter((column) => column.kind === "text");
  return [...texts.filter((column) => column.key === "name"), ...texts.filter((column) => column.key !== "name")].map((column) => column.whole?.(row) ?? cellText(column, row)).join(" ");
}

const kAround = 12; // rows above and below what is in sight

// The rows that a box shows that is so high and scrolled so far.
export function inSight(top: number, height: number, rowHeight: number, rows: number): { from: number; to: number } {
  const from = Math.max(0, Math.min(rows - 1, Math.floor(top / rowHeight)) - kAround);
  return { from, to: Math.min(rows, Math.ceil((top + height) / rowHeight) + kAround) };
}
