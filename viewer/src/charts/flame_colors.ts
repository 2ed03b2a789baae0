// What colours of frames mean, with a key: files, one's own code, what a frame itself holds, or what changed.
import { asText } from "../core/answers";
import { shortName } from "../core/words";
import type { Paint } from "./flame";
import { grew, kLayers, kOnColor, kRest, shadeOf, shrank, theme, toShade } from "./palette";
import type { Node } from "./tree";

export interface KeyEntry {
  color: string;
  text: string;
  whole?: string;
  grows?: "left" | "right"; // as the frame is filled
}

export interface Colors {
  paint: (node: Node) => Paint;
  key: KeyEntry[];
}

const kUnnamed = new Set(["", "??"]);
const isWhole = (node: Node): boolean => node.depth === 0 && node.file === "";
const kLetters = 40;
// Of a path the last part, of a function of C++ its name.
function short(text: string): string {
  const part = shortName(/[ (]/.test(text) ? text : text.split("/").at(-1)!);
  return part.length > kLetters ? `${part.slice(0, kLetters)}…` : part;
}

// The groups that hold most themselves; none is "".
function byGroup(nodes: Node[], groupOf: (node: Node) => string, dark: boolean): Colors {
  const held = new Map<string, number>();
  for (const node of nodes) {
    const group = groupOf(node);
    if (group !== "") {
      held.set(group, (held.get(group) ?? 0) + Math.abs(node.self));
    }
  }
  const order = [...held].sort((a, b) => b[1] - a[1]).slice(0, kLayers.length).map(([group]) => group);
  const colors = new Map(order.map((group, i) => [group, kLayers[i]!]));
  const rest = toShade(kRest, dark);
  const ink = theme(dark).ink;
  return {
    paint: (node) => {
      const color = colors.get(groupOf(node));
      return color === undefined ? { fill: isWhole(node) ? theme(dark).root : rest, ink } : { fill: color, ink: kOnColor };
    },
    key: [...order.map((group, i) => ({ color: kLayers[i]!, text: short(group), whole: group.slice(0, 2000) })),
      { color: rest, text: "others, or not known" }],
  };
}

// Of files; where frames have none, or are files or modules, their names.
export function byFile(nodes: Node[], dark: boolean): Colors {
  const some = nodes.some((node) => !kUnnamed.has(node.file));
  return byGroup(nodes, (node) => (isWhole(node) ? "" : !some ? node.name : kUnnamed.has(node.file) ? "" : node.file), dark);
}

// The category that most of a frame is of.
export function byBucket(nodes: Node[], dark: boolean): Colors {
  return byGroup(nodes, (node) => (isWhole(node) ? "" : asText(node.row["bucket"])), dark);
}

// `kept`: frames that "your code" keeps.
export function byOwn(kept: (node: Node) => boolean, dark: boolean): Colors {
  const rest = toShade(kRest, dark);
  return {
    paint: (node) => (kept(node) ? { fill: kLayers[0]!, ink: kOnColor, bold: true }
      : { fill: isWhole(node) ? theme(dark).root : rest, ink: theme(dark).ink }),
    key: [{ color: kLayers[0]!, text: "your code (bold)", whole: "frames that “frames: your code” keeps" },
      { color: rest, text: "framework and runtime", whole: "frames that “frames: your code” leaves out" }],
  };
}

export function bySelf(nodes: Node[], dark: boolean): Colors {
  const most = nodes.reduce((all, node) => Math.max(all, node.self), 1);
  return {
    paint: (node) => ({ fill: shadeOf(Math.max(0, node.self) / most, dark), ink: theme(dark).ink, bold: node.self > most / 2 }),
    key: [{ color: shadeOf(0, dark), text: "holds nothing itself" }, { color: shadeOf(0.25, dark), text: "a quarter of the most" },
      { color: shadeOf(1, dark), text: "holds most itself (bold)" }],
  };
}

// A frame is filled as far as the part of it that changed.
export function byChange(dark: boolean): Colors {
  const { root, ink } = theme(dark);
  return {
    paint: (node) => ({ fill: root, ink, changed: node.change / Math.max(1, node.bytes) }),
    key: [{ color: grew(dark), text: "▲ grew", grows: "left", whole: "filled from the left by the part of it that is new" },
      { color: shrank(dark), text: "▼ shrank", grows: "right", whole: "filled from the right by the part of it that is gone" }],
  };
}
