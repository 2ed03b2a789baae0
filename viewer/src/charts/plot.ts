// A stacked plot over time, as a picture: layers from the largest up, what is reserved above them.
import { count, size } from "../core/format";
import { toShade, theme } from "./palette";
import type { Pen } from "./pen";
import { pointAt, type Mark, type Series } from "./series";

export const kLeft = 76;
export const kBottom = 22;
export const kTop = 14;
export const kRight = 14;

export interface PlotOptions {
  series: Series;
  width: number;
  height: number;
  low: number; // the range that is shown
  high: number;
  time: boolean;
  reserved: boolean; // drawn, and with room for it
  chosen: number | undefined; // x of the moment
  pointer: number | undefined;
  lit: number | undefined; // a layer
  brush: [number, number] | undefined; // x of a range that is being drawn
  marks: (Mark & { x: number; end?: number })[];
  ooms: number[];
}

function niceStep(wanted: number, bytes: boolean): number {
  if (wanted <= 0) {
    return 1;
  }
  const base = bytes ? 1024 : 1000;
  const unit = base ** Math.floor(Math.log(wanted) / Math.log(base));
  // 250 of 1024 would not end at the next unit.
  const steps = [1, 2, 5, 10, 20, 50, 100, ...(bytes ? [256, 512] : [200, 500])];
  return (steps.find((one) => one * unit >= wanted) ?? base) * unit;
}

// No more decimals than the steps have.
export function axisSize(value: number): string {
  return value === 0 ? "0" : size(value).replace(/\.00 /, " ").replace(/(\.\d)0 /, "$1 ");
}

function axisTime(seconds: number, step: number): string {
  const digits = Math.max(0, -Math.floor(Math.log10(step)));
  return step < 1e-3 ? `${(seconds * 1e3).toFixed(Math.max(0, digits - 3))} ms` : `${seconds.toFixed(Math.min(digits, 3))} s`;
}

export class Plot {
  readonly inner: number; // width of the plot itself
  readonly most: number;
  constructor(readonly is: PlotOptions) {
    this.inner = Math.max(1, is.width - kLeft - kRight);
    const { series, low, high } = is;
    const live = series.tops.at(-1)!;
    let most = 1;
    const first = Math.max(0, pointAt(series.x, low));
    for (let i = first; i < series.x.length && series.x[i]! <= high; ++i) {
      most = Math.max(most, live[i]!, is.reserved ? series.reserved[i]! : 0);
    }
    this.most = most * 1.04;
  }
  toX(value: number): number {
    return kLeft + ((value - this.is.low) / Math.max(1e-9, this.is.high - this.is.low)) * this.inner;
  }
  valueAt(x: number): number {
    return this.is.low + ((x - kLeft) / this.inner) * (this.is.high - this.is.low);
  }
  toY(bytes: number): number {
    const room = this.is.height - kTop - kBottom;
    return kTop + room * (1 - bytes / this.most);
  }
  // Which layer is below the pointer, if any.
  layerAt(x: number, y: number): number | undefined {
    const point = pointAt(this.is.series.x, this.valueAt(x));
    const found = this.is.series.tops.findIndex((top) => point >= 0 && y >= this.toY(top[point]!));
    return point < 0 || found < 0 || y > this.toY(0) ? undefined : found;
  }

  draw(pen: Pen, dark: boolean): void {
    const { is } = this;
    const colors = theme(dark);
    this.grid(pen, dark);
    pen.within([kLeft, 0, this.inner, is.height - kBottom]);
    const first = Math.max(0, pointAt(is.series.x, is.low));
    let last = pointAt(is.series.x, is.high) + 1;
    last = Math.min(is.series.x.length, last + 1);
    for (let layer = is.series.tops.length - 1; layer >= 0; --layer) {
      pen.faint(is.lit === undefined || is.lit === layer ? 1 : 0.35);
      const top = this.steps(is.series.tops[layer]!, first, last, true);
      pen.shape(top, toShade(is.series.layers[layer]!.color, dark));
      pen.line(top.slice(2, -2), colors.paper, dark ? 0.4 : 0.6);
      // Covers the layers below, which the next turns of the loop draw.
      if (is.lit !== undefined && layer > 0) {
        pen.faint(1);
        pen.shape(this.steps(is.series.tops[layer - 1]!, first, last, true), colors.paper);
      }
    }
    pen.faint(1);
    if (is.reserved) {
      pen.line(this.steps(is.series.reserved, first, last, false), colors.ink, 1);
    }
    this.marks(pen, dark);
    pen.within(undefined);
  }

  private steps(values: Float64Array, first: number, last: number, closed: boolean): number[] {
    const points: number[] = [];
    const { x } = this.is.series;
    if (first >= last) {
      return points;
    }
    const end = Math.max(this.toX(this.is.high), this.toX(x[last - 1]!));
    if (closed) {
      points.push(this.toX(x[first]!), this.toY(0));
    }
    for (let i = first; i < last; ++i) {
      const y = closed ? this.toY(values[i]!) : Math.round(this.toY(values[i]!)) + 0.5;
      points.push(this.toX(x[i]!), y, i + 1 < last ? this.toX(x[i + 1]!) : end, y);
    }
    if (closed) {
      points.push(end, this.toY(0));
    }
    return points;
  }

  private grid(pen: Pen, dark: boolean): void {
    const { is } = this;
    const colors = theme(dark);
    const step = niceStep(this.most / 5, true);
    for (let at = 0; at <= this.most; at += step) {
      pen.line([kLeft, Math.round(this.toY(at)) + 0.5, is.width - kRight, Math.round(this.toY(at)) + 0.5], colors.line, 1);
      pen.text(kLeft - 8, this.toY(at), axisSize(at), { color: colors.soft, align: "right" });
    }
    const width = is.high - is.low;
    const every = is.time ? niceStep(width / (this.inner / 110), false) : Math.max(1, niceStep(width / (this.inner / 110), false));
    for (let at = Math.ceil(Math.max(0, is.low) / every) * every; at <= is.high; at += every) {
      const x = Math.round(this.toX(at)) + 0.5;
      pen.line([x, kTop, x, is.height - kBottom + 3], colors.line, 1);
      const text = is.time ? axisTime(at, every) : count(Math.round(at));
      pen.text(Math.min(x, is.width - 3.3 * text.length), is.height - kBottom + 12, text, { color: colors.soft, align: "center" });
    }
    pen.text(0, is.height - kBottom + 12, is.time ? "time" : "event", { color: colors.soft });
  }

  private marks(pen: Pen, dark: boolean): void {
    const { is } = this;
    const colors = theme(dark);
    const bottom = is.height - kBottom;
    let free = -1;
    for (const mark of is.marks) {
      const x = this.toX(mark.x);
      if (x < kLeft || x > is.width) {
        continue;
      }
      pen.line([x, kTop - 4, x, bottom], colors.mark, 0.5, [2, 3]);
      const room = 120;
      if (x > free) {
        pen.text(x + 2, 7, mark.name, { color: colors.mark, room });
        free = x + Math.min(room, 9 + 6.4 * mark.name.length);
      }
    }
    for (const oom of is.ooms) {
      const x = this.toX(oom);
      pen.line([x, kTop, x, bottom], colors.alarm, 1.5, [6, 4]);
      pen.shape([x - 5, kTop - 8, x + 5, kTop - 8, x, kTop], colors.alarm);
    }
    if (is.brush !== undefined) {
      const [from, to] = is.brush.map((value) => this.toX(value)) as [number, number];
      pen.faint(0.18);
      pen.rect(Math.min(from, to), kTop, Math.abs(to - from), bottom - kTop, colors.ink);
      pen.faint(1);
    }
    if (is.pointer !== undefined) {
      pen.line([this.toX(is.pointer), kTop, this.toX(is.pointer), bottom], colors.soft, 1);
    }
    if (is.chosen !== undefined) {
      const x = this.toX(is.chosen);
      pen.line([x, kTop, x, bottom], colors.ink, 1.5);
      pen.shape([x - 4, bottom, x + 4, bottom, x, bottom - 6], colors.ink);
    }
  }
}
