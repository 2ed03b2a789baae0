// A stacked plot over time, as a picture: layers from the largest up, or allocations as shapes, and what is
// reserved above them. What follows the pointer is drawn over it, apart.
import type { Row } from "../core/answers";
import { count, size } from "../core/format";
import type { Oom } from "./marks";
import { kRest, theme, toFill, type Fill, type Paint } from "./palette";
import { textWidth, type Pen } from "./pen";
import { pointAt, type Mark, type Series } from "./series";
import { outline, type Life, type Shape, type Shapes } from "./shapes";

export const kLeft = 76;
export const kBottom = 22;
export const kTop = 14;
export const kRight = 14;
const kNear = 1.6; // of what is shown
const kPatterned = 8; // pixels: in what is lower no pattern is seen, and drawing it takes its time

// An allocation, as `events` has it.
export interface Block extends Life {
  row: Row;
  color: string;
}

export interface PlotOptions {
  series: Series;
  width: number;
  height: number;
  ceiling?: number | undefined; // bytes that the axis reaches at least
  low: number; // the range that is shown
  high: number;
  end: number; // where the recording ends, which may be before
  time: boolean;
  reserved: boolean; // drawn, and with room for it
  lit: number | undefined; // a layer
  marks: (Mark & { x: number })[];
  ooms: Oom[];
  shapes: Shapes<Block> | undefined; // instead of layers
  capacity: number | undefined; // of the card
}

// What is drawn over the plot.
export interface Over {
  chosen: number | undefined; // x of the moment
  pointer: number | undefined;
  brush: [number, number] | undefined; // x of a range that is being drawn
  block: Shape<Block> | undefined; // below the pointer
  picked: { shape: Shape<Block> | undefined; from: number; to: number } | undefined; // and the x of its life
}

export function niceStep(wanted: number, bytes: boolean): number {
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
    let most = is.ceiling ?? 1;
    const first = Math.max(0, pointAt(series.x, low));
    for (let i = first; i < series.x.length && series.x[i]! <= high; ++i) {
      most = Math.max(most, live[i]!, is.reserved ? series.reserved[i]! : 0);
    }
    // A card that is not much larger is shown whole.
    const card = is.capacity !== undefined && is.capacity < most * kNear ? is.capacity : 0;
    this.most = Math.max(most, card) * 1.04;
  }
  toX(value: number): number {
    return kLeft + ((value - this.is.low) / Math.max(1e-9, this.is.high - this.is.low)) * this.inner;
  }
  valueAt(x: number): number {
    return this.is.low + ((x - kLeft) / this.inner) * (this.is.high - this.is.low);
  }
  bytesAt(y: number): number {
    return this.most * (1 - (y - kTop) / (this.is.height - kTop - kBottom));
  }
  toY(bytes: number): number {
    const room = this.is.height - kTop - kBottom;
    return kTop + room * (1 - bytes / this.most);
  }
  // What has been asked for reaches as far as what is shown.
  private get isAllShapes(): boolean {
    const { shapes, low, high } = this.is;
    return shapes !== undefined && shapes.low <= low && shapes.high >= high;
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
    this.labels = [];
    this.grid(pen, dark);
    pen.within([kLeft, 0, this.inner, is.height - kBottom]);
    const first = Math.max(0, pointAt(is.series.x, is.low));
    const last = Math.min(is.series.x.length, pointAt(is.series.x, is.high) + 2);
    if (!this.isAllShapes) {
      this.layers(pen, dark, first, last);
    }
    if (is.shapes !== undefined) {
      this.shapes(pen, dark, is.shapes, first, last);
    }
    pen.faint(1);
    if (is.reserved) {
      pen.line(this.steps(is.series.reserved, first, last, false), colors.ink, 1);
    }
    if (is.capacity !== undefined && is.capacity <= this.most) {
      const y = Math.round(this.toY(is.capacity)) + 0.5;
      pen.line([kLeft, y, is.width - kRight, y], colors.alarm, 1, [8, 4]);
      this.label(pen, dark, `the card has ${size(is.capacity)}`, kLeft, y, colors.alarm);
    } else if (is.capacity !== undefined) {
      this.label(pen, dark, `↑ the card has ${size(is.capacity)}`, kLeft, kTop + 14, colors.soft);
    }
    this.ooms(pen, dark);
    this.marks(pen, dark);
    this.names(pen, dark, first, last);
    pen.within(undefined);
  }

  private layers(pen: Pen, dark: boolean, first: number, last: number): void {
    const { series, lit } = this.is;
    const colors = theme(dark);
    for (let layer = series.tops.length - 1; layer >= 0; --layer) {
      pen.faint(lit === undefined || lit === layer ? 1 : 0.35);
      const top = this.steps(series.tops[layer]!, first, last, true);
      pen.shape(top, toFill(series.layers[layer]!.color, dark));
      pen.line(top.slice(2, -2), colors.paper, dark ? 0.4 : 0.6);
      // Covers the layers below, which the next turns of the loop draw.
      if (lit !== undefined && layer > 0) {
        pen.faint(1);
        pen.shape(this.steps(series.tops[layer - 1]!, first, last, true), colors.paper);
      }
    }
    pen.faint(1);
    if (series.lowest !== undefined) {
      this.band(pen, dark, series.lowest, first, last);
    }
  }

  // What comes and goes within a point is fainter than what stays.
  private band(pen: Pen, dark: boolean, lowest: Float64Array, first: number, last: number): void {
    const colors = theme(dark);
    const low = this.steps(lowest, first, last, false);
    const high = this.steps(this.is.series.tops.at(-1)!, first, last, false);
    for (let i = high.length - 2; i >= 0; i -= 2) {
      low.push(high[i]!, high[i + 1]!);
    }
    pen.faint(0.5);
    pen.shape(low, colors.paper);
    pen.faint(1);
    pen.line(low.slice(0, high.length), colors.soft, 0.7);
  }

  // All that is live in grey, and the shapes upon it.
  private shapes(pen: Pen, dark: boolean, shapes: Shapes<Block>, first: number, last: number): void {
    const { is } = this;
    const colors = theme(dark);
    const left = Math.max(kLeft, this.toX(shapes.low));
    const right = Math.min(is.width - kRight, this.toX(shapes.high));
    pen.within([left, 0, Math.max(0, right - left), is.height - kBottom]);
    if (!this.isAllShapes) {
      pen.rect(left, kTop, right - left, is.height - kTop - kBottom, colors.paper);
      this.grid(pen, dark);
    }
    pen.faint(0.6);
    pen.shape(this.steps(is.series.tops.at(-1)!, first, last, true), toFill(kRest, dark));
    pen.faint(1);
    const toX = (x: number): number => this.toX(x);
    const toY = (bytes: number): number => this.toY(bytes);
    const under: number[] = [toX(shapes.low), toY(0)];
    shapes.x.forEach((x, i) => {
      const y = toY(shapes.sum[i]!);
      under.push(toX(x), y, toX(shapes.x[i + 1] ?? shapes.high), y);
    });
    under.push(toX(shapes.high), toY(0));
    pen.shape(under, colors.paper);
    const points: number[] = [];
    const fills = new Map<string, Fill>();
    const fillOf = (color: string, tall: number): Paint => {
      const fill = fills.get(color) ?? toFill(color, dark);
      fills.set(color, fill);
      return tall < kPatterned ? fill.color : fill;
    };
    const litColor = is.lit === undefined ? undefined : is.series.layers[is.lit]!.color;
    for (const shape of shapes.shapes) {
      if (shape.end < is.low || shape.x[0]! > is.high) {
        continue;
      }
      // A gap tells neighbours apart, where they are not all gap.
      const gap = Math.min(0.7, 0.2 * (toY(0) - toY(shape.life.bytes)));
      outline(shape, toX, toY, points);
      for (let i = points.length / 2 + 1; i < points.length; i += 2) {
        points[i] = points[i]! + gap;
      }
      if (litColor !== undefined) {
        pen.faint(litColor === shape.life.color ? 1 : 0.3);
      }
      pen.shape(points, fillOf(shape.life.color, toY(0) - toY(shape.life.bytes)));
    }
    pen.faint(1);
    this.rest(pen, dark, shapes, first, last);
    pen.within([kLeft, 0, this.inner, is.height - kBottom]);
  }

  // Names what is live and no shape, where most of it is.
  private rest(pen: Pen, dark: boolean, shapes: Shapes<Block>, first: number, last: number): void {
    const { series, low, high, width } = this.is;
    const live = series.tops.at(-1)!;
    let most = 0;
    let at = first;
    for (let i = first; i < last; ++i) {
      const x = series.x[i]!;
      const bytes = x >= low && x >= shapes.low && x <= Math.min(high, shapes.high) ? live[i]! - shapes.sumAt(x) : 0;
      [most, at] = bytes > most ? [bytes, i] : [most, at];
    }
    const top = this.toY(live[at]!);
    const bottom = this.toY(live[at]! - most);
    if (bottom - top > 18) {
      const text = `smaller and earlier ones, at most ${size(most)}`;
      const half = textWidth(text) / 2 + 4;
      const x = Math.max(kLeft + half, Math.min(width - kRight - half, this.toX(series.x[at]!)));
      this.labels.push([x - half, x + half, (top + bottom) / 2]);
      pen.text(x, (top + bottom) / 2, text, { color: theme(dark).ink, align: "center" });
    }
  }

  // What follows the pointer, and what is chosen.
  over(pen: Pen, dark: boolean, over: Over): void {
    const { is } = this;
    const colors = theme(dark);
    const bottom = is.height - kBottom;
    const around = (shape: Shape<Block>, width: number): void => {
      const points: number[] = [];
      outline(shape, (x) => this.toX(x), (bytes) => this.toY(bytes), points);
      points.push(points[0]!, points[1]!);
      pen.line(points, colors.ink, width);
    };
    pen.within([kLeft, 0, this.inner, is.height]);
    if (over.block !== undefined) {
      around(over.block, 1);
    }
    if (over.picked !== undefined) {
      if (over.picked.shape !== undefined) {
        around(over.picked.shape, 2);
      }
      const [from, to] = [this.toX(over.picked.from), Math.min(is.width, this.toX(over.picked.to))];
      pen.rect(from, bottom - 1.5, Math.max(3, to - from), 3, colors.ink);
    }
    if (over.brush !== undefined) {
      const [from, to] = over.brush.map((value) => this.toX(value)) as [number, number];
      pen.faint(0.18);
      pen.rect(Math.min(from, to), kTop, Math.abs(to - from), bottom - kTop, colors.ink);
      pen.faint(1);
    }
    if (over.pointer !== undefined) {
      pen.line([this.toX(over.pointer), kTop, this.toX(over.pointer), bottom], colors.soft, 1);
    }
    if (over.chosen !== undefined) {
      const x = this.toX(over.chosen);
      pen.rect(Math.round(x - 0.75), kTop, 1.5, bottom - kTop, colors.ink); // sharp wherever it is
      pen.shape([x - 4, bottom, x + 4, bottom, x, bottom - 6], colors.ink);
    }
    pen.within(undefined);
  }

  // The peak of what is shown and its size, and which line is what is reserved.
  private names(pen: Pen, dark: boolean, first: number, last: number): void {
    const { is } = this;
    const colors = theme(dark);
    const live = is.series.tops.at(-1)!;
    let peak = first;
    for (let i = first; i < last; ++i) {
      peak = live[i]! > live[peak]! ? i : peak;
    }
    if (first < last && live[peak]! > 0) {
      const x = Math.max(kLeft, this.toX(is.series.x[peak]!));
      const y = this.toY(live[peak]!);
      pen.shape([x - 3, y, x, y - 3, x + 3, y, x, y + 3], colors.ink);
      this.label(pen, dark, `peak ${size(live[peak]!)}`, x, y, colors.ink);
    }
    const reserved = is.reserved && first < last ? is.series.reserved[last - 1]! : 0;
    if (reserved > 0) {
      this.label(pen, dark, `reserved ${size(reserved)}`, Math.min(is.width - kRight, this.toX(is.end)), this.toY(reserved), colors.ink);
    }
  }

  private labels: [number, number, number][] = []; // from, to and height of those that are written

  // Beside a place, where there is room: above it, or further and further below.
  private label(pen: Pen, dark: boolean, text: string, x: number, y: number, color: string): void {
    const wide = textWidth(text);
    const from = x + 6 + wide < this.is.width - kRight ? x + 6 : x - 6 - wide;
    const isFree = (at: number): boolean => at > 4 &&
      this.labels.every(([left, right, other]) => Math.abs(other - at) >= 13 || right < from || left > from + wide);
    const at = [-8, 9, 24, 39, 54].map((by) => y + by).find(isFree);
    if (at !== undefined) {
      this.labels.push([from, from + wide, at]);
      pen.faint(0.75);
      pen.rect(from - 2, at - 7, wide + 4, 14, theme(dark).paper);
      pen.faint(1);
      pen.text(from, at, text, { color });
    }
  }

  private steps(values: Float64Array, first: number, last: number, closed: boolean): number[] {
    const points: number[] = [];
    const { x } = this.is.series;
    if (first >= last) {
      return points;
    }
    const end = Math.max(this.toX(Math.min(this.is.high, this.is.end)), this.toX(x[last - 1]!));
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
    const step = niceStep(this.most / Math.max(1, Math.min(5, is.height / 36)), true);
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
    let drawn = -Infinity;
    const least = Math.max(1, is.marks.length > this.inner / 4 ? 6 : 1); // pixels: many lines are a hatch
    for (const mark of is.marks) {
      const x = this.toX(mark.x);
      if (x < kLeft || x > is.width || x - drawn < least) {
        continue;
      }
      drawn = x;
      pen.line([x, kTop - 4, x, bottom], colors.mark, 0.5, [2, 3]);
      const room = 120;
      if (x > free) {
        const beyond = x + 2 + Math.min(room, textWidth(mark.name)) > is.width - kRight && x - room > free;
        pen.text(beyond ? x - 2 : x + 2, 7, mark.name, { color: colors.mark, room, align: beyond ? "right" : "left" });
        free = x + Math.min(room, 9 + 6.4 * mark.name.length);
        this.labels.push([beyond ? x - room : x, beyond ? x : free, 7]);
      }
    }
  }

  // With the word, where there is room for it.
  private ooms(pen: Pen, dark: boolean): void {
    const { is } = this;
    const { alarm } = theme(dark);
    let drawn = -Infinity;
    for (const oom of is.ooms) {
      const x = this.toX(oom.x);
      if (x < kLeft - 1 || x > is.width - kRight + 1 || x - drawn < 2) {
        continue;
      }
      drawn = x;
      pen.line([x, kTop, x, is.height - kBottom], alarm, 1.5, [6, 4]);
      pen.shape([x - 5, kTop - 8, x + 5, kTop - 8, x, kTop], alarm);
      this.label(pen, dark, oom.asked > 0 ? `out of memory, asked for ${size(oom.asked)}` : "out of memory", x, kTop + 14, alarm);
    }
  }
}
