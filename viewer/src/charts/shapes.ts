// Allocations as shapes: those that live in a range, stacked in the order of their allocation. Each lasts
// from its allocation to its free, and a freed one lets those above it step down.
import { pointAt } from "./series";

export interface Life {
  born: number; // the event of its allocation: the order of the stack
  from: number; // places on the axis
  to: number; // Infinity: not freed
  bytes: number;
}

export interface Shape<T extends Life = Life> {
  life: T;
  end: number; // its right side
  x: number[]; // from here on its bottom lies ...
  bottom: number[]; // ... here
}

// A later step within `grain` of the one before takes its place.
function step(xs: number[], values: number[], x: number, value: number, grain: number): void {
  const last = xs.length - 1;
  if (last >= 0 && x - xs[last]! <= grain) {
    values[last] = value;
  } else {
    xs.push(x);
    values.push(value);
  }
}

export class Shapes<T extends Life = Life> {
  readonly shapes: Shape<T>[] = []; // by birth
  readonly x: number[] = []; // from here on all of them are ...
  readonly sum: number[] = []; // ... this high

  // Of the range from low to high; `grain`: what is too small to be seen on the axis, 0 = nothing.
  constructor(lives: T[], readonly low: number, readonly high: number, private readonly grain: number) {
    const here = lives.filter((one) => one.to > one.from && one.from <= high && one.to > low)
      .sort((a, b) => Math.max(low, a.from) - Math.max(low, b.from) || a.born - b.born);
    const freed = here.filter((one) => one.to <= high).sort((a, b) => a.to - b.to);
    const stack: Shape<T>[] = [];
    let height = 0;
    let next = 0;
    const dropUntil = (x: number): void => {
      for (; next < freed.length && freed[next]!.to <= x; ++next) {
        this.drop(stack, freed[next]!);
        height -= freed[next]!.bytes;
        step(this.x, this.sum, freed[next]!.to, height, grain);
      }
    };
    step(this.x, this.sum, low, 0, grain);
    for (const life of here) {
      const from = Math.max(low, life.from);
      dropUntil(from);
      const shape: Shape<T> = { life, end: Math.min(high, life.to), x: [from], bottom: [height] };
      stack.push(shape);
      this.shapes.push(shape);
      height += life.bytes;
      step(this.x, this.sum, from, height, grain);
    }
    dropUntil(high);
  }

  // Takes a freed one out from below those above it.
  private drop(stack: Shape<T>[], life: T): void {
    let at = stack.length - 1;
    while (stack[at]!.life !== life) {
      at -= 1;
    }
    stack.splice(at, 1);
    for (; at < stack.length; ++at) {
      const above = stack[at]!;
      step(above.x, above.bottom, life.to, above.bottom.at(-1)! - life.bytes, this.grain);
    }
  }

  // How high they stand there. What else is live is above.
  sumAt(x: number): number {
    return this.sum[Math.max(0, pointAt(this.x, x))]!;
  }
  // The shape at a place, if one is there.
  at(x: number, bytes: number): Shape<T> | undefined {
    return this.stackAt(x).find((shape) => bytes < bottomAt(shape, x)! + shape.life.bytes && bytes >= 0);
  }
  // Those that are live there, from the bottom up.
  stackAt(x: number): Shape<T>[] {
    return this.shapes.filter((shape) => bottomAt(shape, x) !== undefined);
  }
}

// None where the shape is not.
export function bottomAt(shape: Shape, x: number): number | undefined {
  return x < shape.x[0]! || x >= shape.end ? undefined : shape.bottom[pointAt(shape.x, x)];
}

type Scale = (value: number) => number;

// Its sides in pixels, into `points`: along the bottom, and back along the top.
export function outline(shape: Shape, toX: Scale, toY: Scale, points: number[]): void {
  const { x, bottom, end, life } = shape;
  points.length = 0;
  for (let i = 0; i < x.length; ++i) {
    const y = toY(bottom[i]!);
    points.push(toX(x[i]!), y, toX(x[i + 1] ?? end), y);
  }
  for (let i = x.length - 1; i >= 0; --i) {
    const y = toY(bottom[i]! + life.bytes);
    points.push(toX(x[i + 1] ?? end), y, toX(x[i]!), y);
  }
}
