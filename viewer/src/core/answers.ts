// What the core answers: the JSON of the command line (memtool-formats(5)), with integers beyond
// 2^53 kept as BigInt.

export type Int = number | bigint;

export interface InputNote {
  path: string;
  format: string;
  moment: string;
  [key: string]: unknown;
}

export interface Diagnostic {
  severity: string;
  code: string;
  message: string;
  count: number;
}

export type Row = Record<string, unknown>;

export interface Answer {
  schema: string;
  inputs: InputNote[];
  sample_type: string;
  unit: string;
  total?: Int;
  rows: Row[];
  diagnostics: Diagnostic[];
  [key: string]: unknown;
}

// A string, or a whole number too long for a double. Nothing else of JSON can hold digits like
// that, so one pass finds them all; the digits of a fraction are none.
const kStringOrLongNumber = /"(?:[^"\\]|\\.)*"|(?<![\d.])-?\d{16,}(?![\d.eE])/g;
const kLongNumber = /(?<![\d.])\d{16}/;
const kMark = "\u0000int:";

// A row of columns, which looks up what it is asked for: to make an object with all of them takes longer than to
// parse the text.
const kColumns = Symbol("columns");
const kAt = Symbol("at");
class ColumnsRow {
  readonly [kColumns]: unknown[][];
  readonly [kAt]: number;
  constructor(columns: unknown[][], at: number) {
    this[kColumns] = columns;
    this[kAt] = at;
  }
}
const rowClasses = new Map<string, typeof ColumnsRow>(); // by their keys

function rowsOf(columns: Record<string, unknown[]>): Row[] {
  const keys = Object.keys(columns);
  const name = keys.join();
  let rowClass = rowClasses.get(name);
  if (rowClass === undefined) {
    rowClass = class extends ColumnsRow {};
    keys.forEach((key, k) => Object.defineProperty(rowClass!.prototype, key, {
      get(this: ColumnsRow): unknown {
        return this[kColumns][k]![this[kAt]];
      },
    }));
    rowClasses.set(name, rowClass);
  }
  const RowOf = rowClass;
  const values = Object.values(columns);
  return (values[0] ?? []).map((_, at) => new RowOf(values, at) as unknown as Row);
}

export function parseAnswer(text: string): Answer {
  const answer = parsed(text);
  if (answer["columns"] !== undefined) {
    answer.rows = rowsOf(answer["columns"] as Record<string, unknown[]>);
  }
  return answer;
}

function parsed(text: string): Answer {
  if (!kLongNumber.test(text)) {
    return JSON.parse(text) as Answer; // as nearly always, in a third of the time
  }
  let long = false;
  const marked = text.replace(kStringOrLongNumber, (found) => {
    if (found.startsWith('"') || Number.isSafeInteger(Number(found))) {
      return found;
    }
    long = true;
    return `"\\u0000int:${found}"`;
  });
  // Looking at every value makes reading several times slower, and is rarely needed.
  return (long ? JSON.parse(marked, (_key, value: unknown) =>
    typeof value === "string" && value.startsWith(kMark) && /^-?\d+$/.test(value.slice(kMark.length))
      ? BigInt(value.slice(kMark.length))
      : value) : JSON.parse(text)) as Answer;
}

export function asNumber(value: unknown): number {
  return typeof value === "number" ? value : typeof value === "bigint" ? Number(value) : 0;
}

export function asText(value: unknown): string {
  return value === null || value === undefined ? "" : String(value);
}
