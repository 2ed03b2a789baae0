// Rows of `flame` as a tree with places, straight or from the innermost frame.
import { asNumber, asText, type Row } from "../core/answers";

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
      self: asNumber(row["self"]), change: asNumber(row["change"]), begin: 0 };
  });
  return place(nodes);
}

interface Branch {
  node: Node;
  base: number;
  below: Map<string, Branch>;
}

// The same bytes by who holds them: what a frame itself holds is followed outwards.
export function fromLeaves(nodes: Node[]): Node[] {
  if (nodes.length === 0) {
    return [];
  }
  const root: Branch = { node: { ...nodes[0]!, self: 0, now: 0 }, base: 0, below: new Map() };
  for (const leaf of nodes) {
    const base = asNumber(leaf.row["base_self"]);
    if (leaf.self === 0 && base === 0) {
      continue;
    }
    let branch = root;
    for (let node = leaf, inner = true; ; node = nodes[node.parent]!, inner = false) {
      branch.node.now += leaf.self;
      branch.base += base;
      if (node.parent < 0) {
        break;
      }
      const key = `${node.name}\0${node.file}\0${asText(node.row["line"])}`;
      let next = branch.below.get(key);
      if (next === undefined) {
        next = { node: { ...node, depth: branch.node.depth + 1, now: 0, self: 0 }, base: 0, below: new Map() };
        branch.below.set(key, next);
      }
      next.node.self += inner ? leaf.self : 0;
      branch = next;
    }
  }
  const listed: Node[] = [];
  const open: { branch: Branch; parent: number }[] = [{ branch: root, parent: -1 }];
  while (open.length > 0) {
    const { branch, parent } = open.pop()!;
    const width = (one: Branch): number => Math.max(Math.abs(one.node.now), Math.abs(one.base));
    const row = listed.length;
    listed.push({ ...branch.node, parent, bytes: width(branch), change: branch.node.now - branch.base, begin: 0 });
    const children = [...branch.below.values()].sort((a, b) => width(a) - width(b) || (a.node.name < b.node.name ? 1 : -1));
    open.push(...children.map((child) => ({ branch: child, parent: row })));
  }
  return place(listed);
}
