// Between the page and its worker.
export interface Mounted {
  name: string;
  data: Blob;
}

export type ToWorker =
  | { kind: "start"; id: number; module: string }
  | { kind: "mount"; id: number; inputs: Mounted[] }
  | { kind: "write"; id: number; path: string; text: string }
  | { kind: "run"; id: number; words: string[] };

export type FromWorker =
  | { kind: "done"; id: number; result: unknown }
  | { kind: "failed"; id: number; error: string }
  | { kind: "progress"; bytes: number };

export interface Ran {
  code: number;
  out: string;
  err: string;
}
