// Frames of the flame graph as trees with places: rows of `flame` as they are, from the innermost frame,
// around one function, or of whole stacks.
import { asNumber, asText, type Row } from "../core/answers";
import { hashText } from "./palette";

export interface Node {
  row: Row;
  name: string;
  file: string;
  depth: number;
  parent: number; // -1 for the root
  bytes: number; // its width: with a base the larger side, so that what is gone keeps its room
  now: number;
  self: number;
  change: number;
  begin: number; // bytes left of it
  of: number; // the frame of the straight tree that it stands for: the first of several
}

function place(nodes: Node[]): Node[] {
  // Where one child grew and another shrank, a frame is as wide as the two.
  const inside = new Array<number>(nodes.length).fill(0);
  for (let i = nodes.length - 1; i >= 0; --i) {
    const node = nodes[i]!;
    node.bytes = Math.max(node.bytes, inside[i]!);
    if (node.parent >= 0) {
      inside[node.parent] = inside[node.parent]! + node.bytes;
    }
  }
  const used = new Array<number>(nodes.length).fill(0);
  nodes.forEach((node) => {
    if (node.parent >= 0) {
      node.begin = nodes[node.parent]!.begin + used[node.parent]!;
      used[node.parent] = used[node.parent]! + node.bytes;
    }
  });
  return nodes;
}

export function readNodes(rows: Row[]): Node[] {
  const open: number[] = []; // by depth
  const nodes = rows.map((row, i): Node => {
    const depth = asNumber(row["depth"]);
    open[depth] = i;
    const now = asNumber(row["bytes"]);
    return { row, name: asText(row["name"]), file: asText(row["file"]), depth, parent: depth > 0 ? open[depth - 1]! : -1,
      bytes: Math.max(Math.abs(now), Math.abs(asNumber(row["base_bytes"]))), now,
      self: asNumber(row["self"]), change: asNumber(row["change"]), begin: 0, of: i };
  });
  return place(nodes);
}

type Frame = Pick<Node, "row" | "name" | "file" | "of">;

interface Branch extends Frame {
  now: number;
  base: number;
  self: number;
  below: Map<string, Branch> | undefined;
}

const branch = ({ row, name, file, of }: Frame): Branch => ({ row, name, file, of, now: 0, base: 0, self: 0, below: undefined });

const keyOf = (frame: Frame, lines: boolean): string => `${frame.name}\0${frame.file}\0${lines ? asText(frame.row["line"]) : ""}`;

// The branch for the frame below another, with so many bytes more.
function grow(from: Branch, frame: Frame, now: number, base: number, lines = true): Branch {
  const key = keyOf(frame, lines);
  from.below ??= new Map();
  let to = from.below.get(key);
  if (to === undefined) {
    to = branch(frame);
    from.below.set(key, to);
  }
  to.now += now;
  to.base += base;
  return to;
}

// Widest first, as the program lists them.
function listed(root: Branch): Node[] {
  const nodes: Node[] = [];
  const open = [{ branch: root, parent: -1, depth: 0 }];
  const width = (one: Branch): number => Math.max(Math.abs(one.now), Math.abs(one.base));
  while (open.length > 0) {
    const { branch: one, parent, depth } = open.pop()!;
    const at = nodes.length;
    nodes.push({ row: one.row, name: one.name, file: one.file, of: one.of, depth, parent, bytes: width(one), now: one.now,
      self: one.self, change: one.now - one.base, begin: 0 });
    const below = [...(one.below?.values() ?? [])].sort((a, b) => width(a) - width(b) || (a.name < b.name ? 1 : -1));
    for (const next of below) {
      open.push({ branch: next, parent: at, depth: depth + 1 });
    }
  }
  return place(nodes);
}

// Deep and many stacks, each of its own, would make a tree that no page can hold: those that hold most are followed
// outwards first, and where room has run out a frame says so.
class Outwards {
  private branches = 150_000;
  private steps = 20_000_000;
  constructor(private readonly nodes: Node[]) {}

  follow(from: Node, to: Branch, now: number, base: number): void {
    let at = to;
    for (let i = from.parent; i >= 0 && this.nodes[i]!.parent >= 0; i = this.nodes[i]!.parent) {
      const frame = this.nodes[i]!;
      const known = at.below?.has(keyOf(frame, true)) === true;
      if (this.steps <= 0 || (!known && this.branches <= 0)) {
        grow(at, { row: {}, name: "(further callers)", file: "", of: frame.of }, now, base);
        return;
      }
      this.steps -= 1;
      this.branches -= known ? 0 : 1;
      at = grow(at, frame, now, base);
    }
  }
}

// The same bytes by who holds them: what a frame itself holds is followed outwards.
export function fromLeaves(nodes: Node[]): Node[] {
  if (nodes.length === 0) {
    return [];
  }
  const root = branch(nodes[0]!);
  const held = (node: Node): number => Math.max(Math.abs(node.self), Math.abs(asNumber(node.row["base_self"])));
  const outwards = new Outwards(nodes);
  for (const leaf of nodes.filter((node) => held(node) > 0).sort((a, b) => held(b) - held(a))) {
    const base = asNumber(leaf.row["base_self"]);
    root.now += leaf.self;
    root.base += base;
    if (leaf.parent >= 0) {
      const inner = grow(root, leaf, leaf.self, base);
      inner.self += leaf.self;
      outwards.follow(leaf, inner, leaf.self, base);
    }
  }
  return listed(root);
}

// Frames of one function where it was first called: what it calls itself is below it already.
function outermost(nodes: Node[], is: (node: Node) => boolean): number[] {
  const inside = new Uint8Array(nodes.length);
  const found: number[] = [];
  nodes.forEach((node, i) => {
    const within = node.parent >= 0 && inside[node.parent] === 1;
    const here = node.parent >= 0 && is(node);
    inside[i] = within || here ? 1 : 0;
    if (here && !within) {
      found.push(i);
    }
  });
  return found;
}

// One frame for several: with the file and the line that are those of all.
function theSame(nodes: Node[], found: number[]): Frame {
  const one = nodes[found[0]!]!;
  const file = found.every((i) => nodes[i]!.file === one.file) ? one.file : "";
  const line = file !== "" && found.every((i) => nodes[i]!.row["line"] === one.row["line"]) ? one.row["line"] : null;
  return { name: one.name, file, row: { ...one.row, file, line }, of: found[0]! };
}

export interface Sandwich {
  callers: Node[]; // the function is the root of both
  callees: Node[];
}

export function around(nodes: Node[], is: (node: Node) => boolean): Sandwich | undefined {
  const found = outermost(nodes, is);
  if (found.length === 0) {
    return undefined;
  }
  const first = theSame(nodes, found);
  const [above, below] = [branch(first), branch(first)];
  const outwards = new Outwards(nodes);
  for (const i of found.sort((a, b) => nodes[b]!.bytes - nodes[a]!.bytes)) {
    const node = nodes[i]!;
    const base = asNumber(node.row["base_bytes"]);
    for (const root of [above, below]) {
      root.now += node.now;
      root.base += base;
      root.self += node.self;
    }
    outwards.follow(node, above, node.now, base);
    const open = [below]; // by depth below the function
    for (let j = i + 1; j < nodes.length && nodes[j]!.depth > node.depth; ++j) {
      const one = nodes[j]!;
      const depth = one.depth - node.depth;
      const to = grow(open[depth - 1]!, one, one.now, asNumber(one.row["base_bytes"]));
      to.self += one.self;
      open[depth] = to;
    }
  }
  return { callers: listed(above), callees: listed(below) };
}

export interface Stack {
  frames: Row[]; // outermost first: name, file, line
  bytes: number;
}

// `lines`: each line of a function is a frame of its own.
export function fromStacks(stacks: Stack[], lines: boolean): Node[] {
  const frameOf = (row: Row): Frame => ({ row, name: asText(row["name"]), file: asText(row["file"]), of: -1 });
  const root = branch(frameOf({ name: "(all)" }));
  for (const { frames, bytes } of stacks) {
    root.now += bytes;
    let at = root;
    for (const row of frames.length > 0 ? frames : [{ name: "(no stack)" }]) {
      at = grow(at, frameOf(row), bytes, 0, lines);
    }
    at.self += bytes;
  }
  const nodes = listed(root);
  nodes.forEach((node, i) => {
    node.of = i;
    node.change = 0;
  });
  return nodes;
}

// A frame's path in few letters, for links: with lines, and without, for where another moment shows another line.
export function pathKeys(nodes: Node[]): string[] {
  const names = new Map<string, number>();
  const hash = (text: string): number => {
    let known = names.get(text);
    if (known === undefined) {
      known = hashText(text);
      names.set(text, known);
    }
    return known;
  };
  const strict = new Uint32Array(nodes.length);
  const loose = new Uint32Array(nodes.length);
  return nodes.map((node, i) => {
    const from = Math.max(0, node.parent);
    const own = Math.imul(hash(node.name), 31) ^ hash(node.file);
    loose[i] = Math.imul(loose[from]! ^ own, 0x9e3779b1) + 1;
    strict[i] = Math.imul(strict[from]! ^ own ^ Math.imul(asNumber(node.row["line"]), 0x85ebca6b), 0x9e3779b1) + 1;
    return node.parent < 0 ? "" : `${strict[i]!.toString(36)}.${loose[i]!.toString(36)}`;
  });
}

// -1 where there is no such frame.
export function findPath(keys: string[], wanted: string): number {
  const exact = wanted === "" ? -1 : keys.indexOf(wanted);
  const loose = wanted.slice(wanted.indexOf("."));
  return exact >= 0 || !/^\w+\.\w+$/.test(wanted) ? exact : keys.findIndex((key) => key.endsWith(loose));
}
