// Rows of `peek` as functions and the calls between them, and their picture.
import { asNumber, asText, type Row } from "../core/answers";
import { percent, size } from "../core/format";
import { shortName, shortPlace } from "../core/words";
import { hashText, theme } from "./palette";
import { kBox, smooth, type Layout, type Link } from "./layers";
import type { Pen } from "./pen";

export interface CallNode {
  row: Row; // flat, cum, name, file, line
  flat: number;
  cum: number;
  key: string; // for links
}

export interface Calls {
  nodes: CallNode[];
  links: Link[];
  total: number;
}

const kLeast = 0.005; // of all: functions below are not drawn, as `dot` has it

// Rows come as callers, a function, callees, and so on for the next; a callee's row names what its own group names.
export function readCalls(rows: Row[], total: number, most: number): Calls {
  const idOf = (row: Row): string => `${asText(row["name"])}\0${asText(row["file"])}\0${asText(row["line"])}\0${asText(row["more_lines"])}`;
  const held = (row: Row): number => Math.abs(asNumber(row["cum"]));
  const nodes = rows.filter((row) => row["relation"] === "self" && held(row) >= kLeast * total)
    .sort((a, b) => held(b) - held(a)).slice(0, most)
    .map((row): CallNode => ({ row, flat: asNumber(row["flat"]), cum: asNumber(row["cum"]), key: hashText(idOf(row)).toString(36) }));
  const known = new Map(nodes.map((node, i) => [idOf(node.row), i]));
  const links: Link[] = [];
  let from: number | undefined;
  for (const row of rows) {
    if (row["relation"] === "self") {
      from = known.get(idOf(row));
    } else if (row["relation"] === "callee" && from !== undefined) {
      const to = known.get(idOf(row));
      if (to !== undefined) {
        links.push({ from, to, weight: asNumber(row["weight"]) });
      }
    }
  }
  return { nodes, links, total };
}

export interface Sight {
  scale: number;
  x: number; // where the picture's left top is
  y: number;
}

export function boxAt(layout: Layout, sight: Sight, x: number, y: number): number {
  const [toX, toY] = [(x - sight.x) / sight.scale, (y - sight.y) / sight.scale];
  return layout.x.findIndex((centre, i) => Math.abs(toX - centre) <= kBox.width / 2 && Math.abs(toY - layout.y[i]!) <= kBox.height / 2);
}

export interface Marks {
  chosen: number;
  pointed: number;
  lit: ((node: CallNode) => boolean) | undefined;
}

const thickness = (weight: number, total: number): number => Math.max(1, 16 * Math.min(1, Math.abs(weight) / Math.max(1, total)));

export function drawCalls(pen: Pen, dark: boolean, calls: Calls, layout: Layout, sight: Sight, marks: Marks,
  width: number, height: number): void {
  const colors = theme(dark);
  const { scale } = sight;
  const [toX, toY] = [(x: number) => sight.x + x * scale, (y: number) => sight.y + y * scale];
  calls.links.forEach((link, i) => {
    const bends = layout.lines[i]!;
    const points = smooth(bends).map((at, one) => (one % 2 === 0 ? toX(at) : toY(at)));
    if (points.length === 0) {
      return;
    }
    const touches = link.from === marks.chosen || link.to === marks.chosen;
    pen.faint(marks.chosen < 0 ? 0.5 : touches ? 0.9 : 0.15);
    pen.line(points, touches ? colors.accent : colors.live, Math.max(0.7, thickness(link.weight, calls.total) * scale), layout.back[i] ? [5, 4] : []);
    if (scale > 0.7 && (touches || Math.abs(link.weight) > 0.1 * calls.total)) {
      const at = 2 * Math.floor(points.length / 4);
      pen.faint(1);
      pen.text(points[at]! + 6 + thickness(link.weight, calls.total) * scale / 2, points[at + 1]!, size(link.weight), { color: colors.soft });
    }
  });
  const loops = new Set(calls.links.filter((link) => link.from === link.to).map((link) => link.from));
  calls.nodes.forEach((node, i) => {
    const [w, h] = [kBox.width * scale, kBox.height * scale];
    const [x, y] = [toX(layout.x[i]!) - w / 2, toY(layout.y[i]!) - h / 2];
    if (x > width || y > height || x + w < 0 || y + h < 0) {
      return;
    }
    pen.faint(marks.lit !== undefined && !marks.lit(node) ? 0.3 : 1);
    pen.rect(x, y, w, h, colors.shade, i === marks.chosen || i === marks.pointed ? colors.ink : colors.line);
    // What it holds itself, as part of all, at the bottom; the rest passes through.
    const part = (bytes: number): number => w * Math.min(1, Math.abs(bytes) / Math.max(1, calls.total));
    pen.rect(x, y + h - 4 * scale, part(node.cum), 4 * scale, colors.live);
    pen.rect(x, y + h - 4 * scale, part(node.flat), 4 * scale, colors.ink);
    words(pen, dark, node, loops.has(i), { x, y, w, h }, scale, calls.total);
  });
  pen.faint(1);
}

function words(pen: Pen, dark: boolean, node: CallNode, loops: boolean, at: { x: number; y: number; w: number; h: number },
  scale: number, total: number): void {
  const colors = theme(dark);
  const room = at.w - 10;
  const name = shortName(asText(node.row["name"]));
  if (room < 24 || at.h < 11) {
    return;
  }
  const lines = [{ text: `${loops ? "↻ " : ""}${name}`, bold: true, color: colors.ink }];
  if (at.h >= 28) {
    lines.push({ text: `${size(node.cum)} · ${percent(node.cum, total)}`, bold: false, color: colors.soft });
  }
  if (at.h >= 44) {
    lines.splice(1, 0, { text: shortPlace(node.row), bold: false, color: colors.soft });
  }
  const step = (at.h - 4 * scale) / lines.length;
  lines.forEach(({ text, bold, color }, i) => pen.text(at.x + 5, at.y + step * (i + 0.5), text, { color, bold, room }));
}
