// Places of frames in a flame graph, for drawing and for finding what is under a pointer: work is for what is in
// sight, however many frames there are.
import { size } from "../core/format";
import { grew, shrank, theme } from "./palette";
import type { Pen } from "./pen";
import type { Node } from "./tree";

export const kRow = 18; // pixels
const kLeast = 0.5; // pixels that a frame is wide at least

export interface Paint {
  fill: string;
  ink: string;
  bold?: boolean;
  changed?: number; // the part of it that grew; less than 0: that shrank
}

export interface Look {
  paint: (node: Node) => Paint;
  lit?: ((row: number) => boolean) | undefined; // what was searched for; the rest is faint
  marked: number; // with an edge
  changes: boolean; // with what changed behind the names
}

export class FlameShape {
  root = 0;
  readonly deepest: number;
  private readonly byDepth: number[][] = [];
  private above: number[] = [0]; // from the whole to the frame that is as wide as all

  // `from`: the first depth that is drawn.
  constructor(readonly nodes: Node[], private readonly upwards: boolean, private readonly from = 0) {
    nodes.forEach((node, i) => (this.byDepth[node.depth] ??= []).push(i));
    this.deepest = this.byDepth.length - 1;
  }

  get height(): number {
    return Math.max(0, this.deepest + 1 - this.from) * kRow;
  }

  zoom(row: number): void {
    this.root = row;
    this.above = [];
    for (let i = row; i >= 0; i = this.nodes[i]!.parent) {
      this.above[this.nodes[i]!.depth] = i;
    }
  }

  top(depth: number): number {
    return (this.upwards ? this.deepest - depth : depth - this.from) * kRow;
  }
  private depthAt(y: number): number {
    const row = Math.floor(y / kRow);
    return this.upwards ? this.deepest - row : row + this.from;
  }

  // First of a depth that ends behind so many bytes.
  private behind(list: number[], bytes: number): number {
    let low = 0;
    let high = list.length;
    while (low < high) {
      const half = (low + high) >> 1;
      const node = this.nodes[list[half]!]!;
      if (node.begin + node.bytes > bytes) {
        high = half;
      } else {
        low = half + 1;
      }
    }
    return low;
  }

  // What is to be seen between two heights, one frame for each half of a pixel at most.
  private visit(width: number, low: number, high: number, see: (row: number, x: number, y: number, wide: number) => void): void {
    const whole = this.nodes[this.root]!;
    const scale = width / Math.max(1, whole.bytes);
    const ends = [this.depthAt(low), this.depthAt(high)].sort((a, b) => a - b);
    for (let depth = Math.max(this.from, ends[0]!); depth <= Math.min(this.deepest, ends[1]!); ++depth) {
      if (depth <= whole.depth) {
        see(this.above[depth]!, 0, this.top(depth), width);
        continue;
      }
      const list = this.byDepth[depth]!;
      let i = this.behind(list, whole.begin);
      while (i < list.length) {
        const row = list[i]!;
        const node = this.nodes[row]!;
        if (node.begin >= whole.begin + whole.bytes) {
          break;
        }
        const wide = node.bytes * scale;
        if (wide > 0) {
          see(row, (node.begin - whole.begin) * scale, this.top(depth), Math.max(kLeast, wide));
        }
        i = wide >= kLeast ? i + 1 : Math.max(i + 1, this.behind(list, node.begin + kLeast / scale));
      }
    }
  }

  at(x: number, y: number, width: number): number {
    const depth = this.depthAt(y);
    if (y < 0 || depth < this.from || depth > this.deepest) {
      return -1;
    }
    const whole = this.nodes[this.root]!;
    if (depth <= whole.depth) {
      return this.above[depth]!;
    }
    const list = this.byDepth[depth]!;
    const bytes = whole.begin + (x * whole.bytes) / width;
    const row = list[this.behind(list, bytes)];
    return row !== undefined && this.nodes[row]!.begin <= bytes && bytes < whole.begin + whole.bytes ? row : -1;
  }

  beside(row: number, step: number): number {
    const list = this.byDepth[this.nodes[row]!.depth]!;
    const next = list[list.indexOf(row) + step];
    return next !== undefined && this.nodes[next]!.parent === this.nodes[row]!.parent ? next : -1;
  }
  firstBelow(row: number): number {
    return this.nodes[row + 1]?.parent === row ? row + 1 : -1;
  }

  // `y`: where the part from `low` on begins in the picture.
  draw(pen: Pen, dark: boolean, look: Look, width: number, low: number, high: number, y = 0): void {
    const { ink } = theme(dark);
    this.visit(width, low, high, (row, x, top, wide) => {
      const node = this.nodes[row]!;
      const paint = look.paint(node);
      const at = y + top - low;
      pen.faint(look.lit !== undefined && !look.lit(row) ? 0.3 : 1);
      pen.rect(x, at, Math.max(kLeast, wide - 0.7), kRow - 1, paint.fill, row === look.marked ? ink : undefined);
      if (paint.changed !== undefined && paint.changed !== 0) {
        changed(pen, dark, x, at, Math.max(kLeast, wide - 0.7), paint.changed);
      }
      if (wide > 24) {
        const sign = node.change > 0 ? "▲ " : node.change < 0 ? "▼ " : "";
        const text = look.changes && sign !== "" ? `${node.name}  ${sign}${size(node.change, true)}` : node.name;
        pen.text(x + 4, at + kRow / 2 - 0.5, text, { color: paint.ink, room: wide - 8, bold: paint.bold === true || node.depth === 0 });
      }
    });
    pen.faint(1);
  }
}

// What grew is filled from the left and has an edge below; what shrank from the right, with an edge above.
function changed(pen: Pen, dark: boolean, x: number, y: number, wide: number, part: number): void {
  const filled = Math.max(Math.min(wide, 1), wide * Math.min(1, Math.abs(part)));
  const left = part > 0 ? x : x + wide - filled;
  pen.rect(left, y, filled, kRow - 1, part > 0 ? grew(dark) : shrank(dark));
  pen.rect(left, part > 0 ? y + kRow - 3 : y, filled, 2, theme(dark).ink);
}
