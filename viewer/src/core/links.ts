// From command lines, as the program names them to go on with, to views of the page.
import { kDefaults, type State } from "./state";

// The first of these that the page offers for what is open.
const kViewsOf = new Map(Object.entries({
  top: ["table"], flame: ["flame"], tree: ["flame"], traces: ["flame"], peek: ["graph"], dot: ["graph"], svg: ["graph"],
  timeline: ["timeline"], steps: ["steps", "timeline"], segments: ["map", "allocator"], events: ["allocator"],
  buckets: ["buckets"], leaks: ["leaks"], advise: ["advise"], whatif: ["whatif"], fit: ["fit"], ranks: ["ranks"], check: ["check"],
  tags: ["labels"], info: ["facts"],
}));
const kStateOf = new Map<string, keyof State>(Object.entries({
  "--at": "at", "--from": "from", "--to": "to", "--by": "by", "--focus": "focus", "--ignore": "ignore", "--device": "device",
  "--frames": "frames", "--change": "change", "--card": "card", "--x": "x", "--id": "block", "--address": "block",
} as const));

// As shellWord writes them.
export function wordsOf(line: string): string[] {
  return (line.match(/(?:'(?:[^']|'\\'')*'|[^\s'])+/g) ?? []).map((word) => word.replace(/'((?:[^']|'\\'')*)'/g, (_all, inner: string) => inner.replace(/'\\''/g, "'")));
}

export function linkOf(line: string, offers: (view: string) => boolean): Partial<State> | undefined {
  const [program, command, ...rest] = wordsOf(line);
  const view = program !== "memtool" ? undefined : (kViewsOf.get(command ?? "") ?? []).find(offers);
  if (view === undefined) {
    return undefined;
  }
  const patch: Partial<State> = { view };
  for (let i = 0; i < rest.length; ++i) {
    const key = kStateOf.get(rest[i]!);
    if (key !== undefined && rest[i + 1] !== undefined) {
      patch[key] = rest[++i]!;
    } else if (command === "buckets" && rest[i] === "--explain" && offers("table")) {
      Object.assign(patch, { view: "table", by: "bucket", row: rest[++i] ?? kDefaults.row });
    }
  }
  return patch;
}

// Changes of a program that `advise` names, and settings of PyTorch's allocator, within a sentence.
const kChange = /\b(?:checkpoint:[^\s,]+(?:,(?:every|group)=\d+)?|(?:accumulate|zero[123]|optimizer|chunk-loss|autocast)=\w+|batch\/\d+)/;
const kSetting = /\b(?:expandable_segments|max_split_size_mb|garbage_collection_threshold|roundup_power2_divisions):[\w.\[\]:]+/;
const kEither = new RegExp(`(?:${kChange.source})|(?:${kSetting.source})`, "g");

export interface Piece {
  text: string;
  link?: Partial<State>;
}

export function piecesOf(sentence: string, offers: (view: string) => boolean): Piece[] {
  const pieces: Piece[] = [];
  let done = 0;
  for (const found of sentence.matchAll(kEither)) {
    const [text] = found;
    const view = kSetting.test(text) ? ["whatif", "advise"].find(offers) : ["advise"].find(offers);
    if (view !== undefined) {
      pieces.push({ text: sentence.slice(done, found.index) }, { text, link: { view, change: text } });
      done = found.index + text.length;
    }
  }
  pieces.push({ text: sentence.slice(done) });
  return pieces.filter((piece) => piece.text !== "");
}
