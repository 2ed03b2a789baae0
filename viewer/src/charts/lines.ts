// Histories of several inputs as lines over one axis, as a picture.
import { count } from "../core/format";
import { kOnPaper, theme } from "./palette";
import type { Pen, Picture } from "./pen";
import { axisSize, kBottom, kLeft, kRight, kTop, niceStep } from "./plot";
import { pointAt } from "./series";

export interface Line {
  name: string;
  x: Float64Array; // places on the common axis, ascending
  y: Float64Array; // bytes from there on
  events: Float64Array; // what stands there
}

// Events of one run at the places of another: in between, in proportion. `anchors`: pairs of both, ascending.
export function mapped(events: Float64Array, anchors: [number, number][]): Float64Array {
  let at = 0;
  return events.map((event) => {
    while (at + 2 < anchors.length && event >= anchors[at + 1]![0]) {
      at += 1;
    }
    const [from, to] = [anchors[at]!, anchors[at + 1]!];
    const part = to[0] === from[0] ? 0 : (event - from[0]) / (to[0] - from[0]);
    return from[1] + part * (to[1] - from[1]);
  });
}

// Those of the base that only go forwards in both; the ends are always among them.
export function ascending(anchors: [number, number][], first: [number, number], last: [number, number]): [number, number][] {
  const kept: [number, number][] = [first];
  for (const one of [...anchors].sort((a, b) => a[0] - b[0])) {
    const before = kept.at(-1)!;
    if (one[0] > before[0] && one[1] > before[1] && one[0] < last[0] && one[1] < last[1]) {
      kept.push(one);
    }
  }
  return [...kept, last];
}

export const kDashes: number[][] = [[], [6, 4], [2, 3], [9, 3, 2, 3]];

export class LinesPlot {
  private readonly low: number;
  private readonly high: number;
  private readonly most: number;
  constructor(private readonly lines: Line[], readonly width: number, readonly height: number) {
    this.low = Math.min(...lines.map((line) => line.x[0] ?? 0));
    this.high = Math.max(this.low + 1, ...lines.map((line) => line.x.at(-1) ?? 0));
    this.most = 1.06 * Math.max(1, ...lines.map((line) => line.y.reduce((most, value) => Math.max(most, value), 0)));
  }
  private toX(x: number): number {
    return kLeft + ((x - this.low) / (this.high - this.low)) * (this.width - kLeft - kRight);
  }
  private toY(bytes: number): number {
    return kTop + (this.height - kTop - kBottom) * (1 - bytes / this.most);
  }
  // The point of each line that holds there; -1 before its first.
  pointsAt(pixel: number): number[] {
    const x = this.low + ((pixel - kLeft) / (this.width - kLeft - kRight)) * (this.high - this.low);
    return this.lines.map((line) => pointAt(line.x, x));
  }

  picture(pointer?: number): Picture {
    return { width: this.width, height: this.height, draw: (pen, dark) => this.draw(pen, dark, pointer) };
  }

  private draw(pen: Pen, dark: boolean, pointer: number | undefined): void {
    const colors = theme(dark);
    const end = this.width - kRight;
    const step = niceStep((this.most * 34) / (this.height - kTop - kBottom), true);
    for (let bytes = 0; bytes <= this.most; bytes += step) {
      const y = Math.round(this.toY(bytes)) + 0.5;
      pen.line([kLeft, y, end, y], colors.line, 1);
      pen.text(kLeft - 8, y, axisSize(bytes), { color: colors.soft, align: "right" });
    }
    const across = niceStep(((this.high - this.low) * 90) / (end - kLeft), false);
    for (let event = Math.ceil(this.low / across) * across; event <= this.high; event += across) {
      pen.text(this.toX(event), this.height - 8, count(Math.round(event)), { color: colors.soft, align: "center" });
    }
    this.lines.forEach((line, i) => {
      const points: number[] = [];
      line.x.forEach((x, at) => {
        const y = this.toY(line.y[at]!);
        points.push(this.toX(x), y, this.toX(line.x[at + 1] ?? x), y);
      });
      pen.line(points, kOnPaper[i % kOnPaper.length]![dark ? 1 : 0], 1.6, kDashes[i % kDashes.length]);
    });
    if (pointer !== undefined) {
      pen.line([pointer, kTop, pointer, this.height - kBottom], colors.ink, 1);
    }
  }
}
