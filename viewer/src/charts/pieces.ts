// The line of bytes wrapped into rows of equal scale, like text. What is in sight becomes pieces: a
// block, or what lies within one pixel, by shares; so the cost is what is visible.
import type { Key } from "./looks";
import { blockBefore, kGaps, type Space } from "./space";

export interface View {
  origin: number; // the byte in the upper left corner
  scale: number; // bytes of a pixel
  width: number;
  lines: number;
}

export const kLine = 34; // its height: names, blocks, and a gap
export const kStrip = 13; // of the names above the blocks
export const kBar = 18; // of the blocks
const kLeastScale = 1 / 8;
export const kPad = 4; // above and below all

export const heightOf = (lines: number): number => lines * kLine + 2 * kPad;
export const perLine = (view: View): number => view.width * view.scale;
export const perView = (view: View): number => view.lines * perLine(view);

export function wholeView(space: Space, width: number, lines: number): View {
  return { origin: 0, scale: Math.max(kLeastScale, space.total / Math.max(1, width * lines)), width, lines };
}

// Neither closer than single bytes, nor further than all, nor beyond an end.
export function clamped(space: Space, view: View): View {
  const most = wholeView(space, view.width, view.lines).scale;
  const scale = Math.min(most, Math.max(kLeastScale, view.scale));
  const one = { ...view, scale };
  return { ...one, origin: Math.max(0, Math.min(space.total - perView(one), view.origin)) };
}

export function byteAt(view: View, x: number, y: number): number {
  const line = Math.max(0, Math.min(view.lines - 1, Math.floor((y - kPad) / kLine)));
  return view.origin + line * perLine(view) + Math.max(0, Math.min(view.width, x)) * view.scale;
}

// What lies under the pointer stays there.
export function zoomed(space: Space, view: View, factor: number, x: number, y: number): View {
  const one = clamped(space, { ...view, scale: view.scale * factor });
  return clamped(space, { ...one, origin: byteAt(view, x, y) - (byteAt(one, x, y) - one.origin) });
}

export function moved(space: Space, view: View, byX: number, byLines: number): View {
  return clamped(space, { ...view, origin: view.origin + byX * view.scale + byLines * perLine(view) });
}

// The block takes a third of a line in the middle of the view.
export function viewOf(space: Space, view: View, block: number): View {
  const bytes = space.size[block]!;
  const one = clamped(space, { ...view, scale: (3 * bytes) / view.width });
  return clamped(space, { ...one, origin: space.begin[block]! + bytes / 2 - (Math.floor(view.lines / 2) + 0.5) * perLine(one) });
}

// No more than that is moved.
export function withInSight(space: Space, view: View, block: number): View {
  const from = space.begin[block]!;
  const line = perLine(view);
  return from < view.origin ? clamped(space, { ...view, origin: view.origin - Math.ceil((view.origin - from) / line) * line })
    : from >= view.origin + perView(view)
      ? clamped(space, { ...view, origin: view.origin + Math.ceil((from - view.origin - perView(view) + 1) / line) * line }) : view;
}

// From byte to byte, the boxes on each line that it touches: x, line, width.
export function eachBox(view: View, from: number, to: number, work: (x: number, line: number, width: number) => void): void {
  const wide = perLine(view);
  const first = Math.max(0, Math.floor((from - view.origin) / wide));
  for (let line = first; line < view.lines && view.origin + line * wide < to; ++line) {
    const begin = view.origin + line * wide;
    const x = (Math.max(from, begin) - begin) / view.scale;
    const end = (Math.min(to, begin + wide) - begin) / view.scale;
    if (end > x) {
      work(x, line, end - x);
    }
  }
}

// What is drawn of blocks, in columns that are used again from frame to frame.
export class Pieces {
  count = 0;
  x = new Float64Array(1024);
  width = new Float64Array(1024);
  low = new Float32Array(1024); // parts of the height, from below
  part = new Float32Array(1024);
  line = new Int32Array(1024);
  look = new Int16Array(1024);
  block = new Int32Array(1024); // -1: of several

  private share = new Float64Array(0); // of one pixel, by look
  private paper = new Uint32Array(0);

  // Cells of a line, all empty.
  sheet(width: number): Uint32Array {
    if (this.paper.length !== width * kBar) {
      this.paper = new Uint32Array(width * kBar);
    }
    this.paper.fill(0);
    return this.paper;
  }
  private pixel = -1;

  put(line: number, x: number, width: number, low: number, part: number, look: number, block: number): void {
    const last = this.count - 1;
    if (block < 0 && last >= 0 && this.block[last]! < 0 && this.line[last] === line && this.look[last] === look && part > 0.999 &&
      this.part[last]! > 0.999 && this.x[last]! + this.width[last]! === x) {
      this.width[last]! += width;
      return;
    }
    if (this.count === this.x.length) {
      this.grow();
    }
    const at = this.count++;
    this.x[at] = x;
    this.width[at] = width;
    this.low[at] = low;
    this.part[at] = part;
    this.line[at] = line;
    this.look[at] = look;
    this.block[at] = block;
  }

  private grow(): void {
    const twice = <T extends Float64Array | Float32Array | Int32Array | Int16Array>(one: T): T => {
      const next = new (one.constructor as new (length: number) => T)(2 * one.length);
      next.set(one);
      return next;
    };
    this.x = twice(this.x);
    this.width = twice(this.width);
    this.low = twice(this.low);
    this.part = twice(this.part);
    this.line = twice(this.line);
    this.look = twice(this.look);
    this.block = twice(this.block);
  }

  fill(space: Space, key: Key, view: View): void {
    this.count = 0;
    if (this.share.length !== key.looks.length + kGaps.length) {
      this.share = new Float64Array(key.looks.length + kGaps.length);
    }
    const wide = perLine(view);
    let block = Math.max(0, blockBefore(space, view.origin));
    for (let line = 0; line < view.lines; ++line) {
      block = this.fillLine(space, key, view, line, view.origin + line * wide, block);
    }
  }

  private fillLine(space: Space, key: Key, view: View, line: number, low: number, from: number): number {
    const high = low + perLine(view);
    const { begin, size: bytes } = space;
    let block = from;
    for (; block < begin.length && begin[block]! < high; ++block) {
      const x = Math.max(0, (begin[block]! - low) / view.scale);
      const end = (Math.min(high, begin[block]! + bytes[block]!) - low) / view.scale;
      if (end <= 0) {
        continue;
      }
      if (bytes[block]! >= view.scale) {
        this.flush(line, key);
        this.put(line, x, end - x, 0, 1, key.of[block]!, block);
        continue;
      }
      const column = Math.floor(x);
      this.add(line, key, column, Math.min(end, column + 1) - x, key.of[block]!);
      if (end > column + 1) {
        this.add(line, key, column + 1, end - column - 1, key.of[block]!);
      }
    }
    this.flush(line, key);
    return Math.max(from, block - 1); // it may go on in the next line
  }

  private add(line: number, key: Key, column: number, part: number, look: number): void {
    if (column !== this.pixel) {
      this.flush(line, key);
      this.pixel = column;
    }
    this.share[look >= 0 ? look : key.looks.length - 1 - look]! += part;
  }

  private flush(line: number, key: Key): void {
    if (this.pixel < 0) {
      return;
    }
    let low = 0;
    for (let slot = 0; slot < this.share.length; ++slot) {
      const part = this.share[slot]!;
      if (part > 0) {
        this.put(line, this.pixel, 1, low, part, slot < key.looks.length ? slot : key.looks.length - 1 - slot, -1);
        low += part;
        this.share[slot] = 0;
      }
    }
    this.pixel = -1;
  }
}
