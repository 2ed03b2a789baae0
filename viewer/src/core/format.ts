// Sizes and counts as the program writes them.
import type { Int } from "./answers";

const kUnits: [string, number][] = [
  ["TiB", 1024 ** 4],
  ["GiB", 1024 ** 3],
  ["MiB", 1024 ** 2],
  ["KiB", 1024],
];

export function count(value: Int): string {
  return value.toString().replace(/\B(?=(\d{3})+(?!\d))/g, ",");
}

// "1 row", "2 rows"
export function counted(value: Int, noun: string): string {
  return `${count(value)} ${noun}${Number(value) === 1 ? "" : "s"}`;
}

export function size(value: Int, sign = false): string {
  const bytes = Number(value);
  const plus = sign && bytes > 0 ? "+" : "";
  for (const [name, unit] of kUnits) {
    if (Math.abs(bytes) >= unit) {
      return `${plus}${(bytes / unit).toFixed(2)} ${name}`;
    }
  }
  return `${plus}${count(value)} B`;
}

export function percent(part: number, whole: number): string {
  return whole === 0 ? "" : `${((100 * part) / whole).toFixed(1)}%`;
}

// As a shell reads it back.
export function shellWord(word: string): string {
  return /^[A-Za-z0-9_@%+=:,./-]+$/.test(word) ? word : `'${word.replace(/'/g, `'\\''`)}'`;
}

export function commandLine(words: string[]): string {
  return ["memtool", ...words].map(shellWord).join(" ");
}

// What hides or reorders text is shown by its number, as the program shows it on a terminal.
const kHidden =
  /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u2028-\u202e\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb]/g;

export function visible(text: string): string {
  return text.replace(kHidden, (c) => `\\u${c.charCodeAt(0).toString(16).padStart(4, "0")}`);
}
