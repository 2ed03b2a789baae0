// One device's plot with its minimap, legend and the line that says what is under the pointer.
// Wheel, drag and keys move it at once; what the range holds more exactly is asked for after that.
import { asNumber, asText, type Answer, type Row } from "../core/answers";
import { clear, h } from "../core/dom";
import { count, size } from "../core/format";
import type { DeviceFacts } from "../core/inputs";
import { parseEvent, type State } from "../core/state";
import { lifetime, shortName, shortPlace } from "../core/words";
import type { Band } from "./bands";
import { layerBytes, layerName, Legend, legendPicture } from "./legend";
import { placeMarks, type Marks } from "./marks";
import { minimap } from "./minimap";
import { isDark, kBefore, kRest, theme } from "./palette";
import { paint, stacked, type Picture } from "./pen";
import { kLeft, kRight, Plot, type Block, type Over } from "./plot";
import { Colors, pointAt, readSeries, type Layer, type Series } from "./series";
import { Shapes, type Shape } from "./shapes";
import { Strip } from "./strip";

export interface ChartOptions {
  device: DeviceFacts;
  name: string;
  time: boolean;
  firstTime: number | undefined;
  colors: Colors;
  whole: Answer;
  height: number;
  ceiling?: number | undefined; // bytes that the axis reaches at least
  extent?: number | undefined; // where the axis ends, if not with this recording
  mapped?: boolean; // with a minimap
  state: () => State;
  range: (from: string, to: string, chosen: boolean) => void; // empty = all; not chosen: moved there
  choose: (event: number, block?: Row) => void;
  layer: (layer: Layer) => void;
  moved?: () => void; // at once
  pointed?: (x: number | undefined) => void;
}

const kRestMs = 220; // without a move, before more is asked
const kSeen = 0.4; // pixels: what is narrower is left to the grey band

export class Chart {
  readonly element: HTMLElement;
  readonly device: DeviceFacts;
  private readonly ground = h("canvas", { class: "ground", "aria-hidden": "true" });
  private readonly canvas = h("canvas", { class: "plot", tabindex: 0, role: "img",
    "aria-label": "live bytes; left and right move the moment, up and down choose a block there, plus and minus zoom, Page Up and Page Down pan, Home shows all" });
  private readonly map = h("canvas", { class: "minimap", "aria-hidden": "true" });
  private readonly says = h("p", { class: "says", "aria-live": "polite" });
  private readonly legend: Legend;
  private readonly strip: Strip;
  private whole: Series;
  private part: Series | undefined;
  private partAnswer: Answer | undefined;
  private firstTime: number | undefined;
  private exact: Series | undefined; // of the chosen moment alone
  private shapes: Shapes<Block> | undefined;
  private picked: { from: number; to: number; id: string } | undefined;
  private capacity: number | undefined;
  private placed: { series: Series; marks: Marks } | undefined;
  private plot: Plot | undefined;
  private low: number;
  private high: number;
  private readonly least: number;
  private readonly most: number;
  private chosen: number | undefined;
  private pointer: number | undefined;
  private lit: number | undefined;
  private block: Shape<Block> | undefined; // below the pointer
  private brush: [number, number] | undefined;
  private frame = 0;
  private isStale = true; // the ground: all but what follows the pointer and the moment
  private mapped: number | undefined; // the moment on the minimap
  private wait = 0;

  constructor(private readonly is: ChartOptions) {
    this.device = is.device;
    this.firstTime = is.firstTime;
    this.whole = this.series(is.whole);
    this.least = is.time ? 0 : -1;
    this.most = is.extent ?? this.end;
    this.low = this.least;
    this.high = this.most;
    this.legend = new Legend(is.layer, (layer) => this.light(layer));
    this.strip = new Strip({ toX: (event) => this.plot?.toX(this.eventX(event)!) ?? 0, say: (text) => this.say(text),
      pick: (from, to) => this.show([this.eventX(from)!, this.eventX(to)!]) });
    this.element = h("section", { class: "chart" }, is.name !== "" && h("h2", {}, is.name), this.says, this.strip.element,
      h("div", { class: "layered" }, this.ground, this.canvas), is.mapped !== false && this.map, this.legend.element);
    this.listen();
    new ResizeObserver(() => this.draw()).observe(this.element);
  }

  // Where this recording ends on the axis.
  get end(): number {
    return Math.max(1e-6, this.is.time ? this.whole.x.at(-1)! : this.is.device.events); // what the last event leaves has a width
  }

  private series(answer: Answer): Series {
    return readSeries(answer, this.is.device.device, this.is.time, this.firstTime, this.is.colors);
  }

  // When the recording began, in µs: times and marks can be drawn.
  know(firstTime: number | undefined): void {
    this.firstTime = firstTime;
    this.whole = this.series(this.is.whole);
    this.part = this.partAnswer === undefined ? undefined : this.series(this.partAnswer);
    this.say();
    this.draw();
  }

  // `part`: the range of the state, more exactly; none when all is shown.
  refine(part: Answer | undefined, chosen: number | undefined): void {
    const before = [this.partAnswer, this.low, this.high];
    this.partAnswer = part;
    this.part = part === undefined || !part.rows.some((row) => asNumber(row["device"]) === this.device.device) ? undefined : this.series(part);
    const { from, to } = this.is.state();
    this.low = from === "" ? this.least : this.momentX(from) ?? this.part?.x[0] ?? this.least;
    this.high = to === "" ? this.most : this.momentX(to) ?? this.part?.x.at(-1) ?? this.most;
    if (this.high <= this.low) {
      this.high = this.low + (this.is.time ? 1e-6 : 1);
    }
    this.chosen = chosen === undefined ? undefined : this.eventX(chosen);
    this.legend.fill(this.shown());
    this.say();
    this.isStale ||= [this.partAnswer, this.low, this.high].some((one, i) => one !== before[i]);
    this.drawOver();
  }

  // The chosen moment exactly, where the points of the plot may be far from it: its one row, with
  // the largest layers there. Of others it is not known how large they are.
  moment(answer: Answer | undefined): void {
    this.exact = answer === undefined ? undefined
      : readSeries(answer, this.is.device.device, this.is.time, this.firstTime, new Colors());
    this.chosen = this.is.time && this.chosen !== undefined ? this.exact?.x.at(-1) ?? this.chosen : this.chosen;
    this.say();
    this.drawOver();
  }

  // Allocations of a part of the axis; none: layers are drawn.
  allocations(rows: Row[] | undefined, low = this.low, high = this.high): void {
    const pixel = (this.high - this.low) / this.inner;
    this.shapes = rows === undefined ? undefined
      : new Shapes(rows.map((row) => this.blockOf(row)).filter((one) => one.to - one.from >= pixel * kSeen), low, high, pixel * kSeen);
    this.block = undefined;
    this.say();
    this.draw();
  }
  // A block that is outlined over its life: its allocation.
  pick(row: Row | undefined): void {
    this.picked = row === undefined ? undefined : { ...this.blockOf(row), id: asText(row["id"]) };
    this.drawOver();
  }
  private blockOf(row: Row): Block {
    const born = asNumber(row["event"]);
    const seconds = row["time_us"] === null ? this.eventX(born)! : (asNumber(row["time_us"]) - (this.firstTime ?? 0)) / 1e6;
    const isFreed = row["partner"] !== null && row["partner"] !== undefined;
    const from = this.is.time ? seconds : born;
    return { row, born, from, bytes: asNumber(row["size"]), color: this.layerColor(row) ?? (this.namesAllocations ? kRest : kBefore),
      to: !isFreed ? Infinity : this.is.time ? from + asNumber(row["lived_us"]) / 1e6 : asNumber(row["partner"]) };
  }
  bands(bands: Band[], rows: number[], coarse = false): void {
    this.strip.set(bands, rows, coarse);
    this.draw();
  }
  card(capacity: number | undefined): void {
    this.capacity = capacity;
    this.draw();
  }

  // Where an event lies on the axis; on a time axis as near as the points allow.
  private eventX(event: number | undefined): number | undefined {
    if (event === undefined) {
      return undefined;
    }
    if (!this.is.time) {
      return Math.max(this.least, Math.min(this.most, event));
    }
    const series = this.part ?? this.whole;
    return series.x[Math.max(0, pointAt(series.events, event))];
  }
  private momentX(moment: string): number | undefined {
    const seconds = /^time:([\d.]+)$/.exec(moment);
    return seconds !== null && this.is.time ? Number(seconds[1]) : this.eventX(parseEvent(moment));
  }
  private eventOfX(x: number): number {
    if (!this.is.time) {
      return Math.round(x);
    }
    const series = this.shown();
    return series.events[Math.max(0, pointAt(series.x, x))]!;
  }

  // The exact one where it reaches.
  private shown(): Series {
    const part = this.part;
    const slack = (this.high - this.low) * 0.01 + (this.is.time ? 0 : 1);
    const high = Math.min(this.high, this.end);
    return part !== undefined && part.x.length > 1 && part.x[0]! <= this.low + slack && part.x.at(-1)! >= high - slack * 4 &&
      (part.x.at(-1)! - part.x[0]!) < (this.high - this.low) * 4 ? part : this.coarse();
  }
  private coarse(): Series {
    const part = this.part;
    return part !== undefined && part.x.length > 1 && part.x[0]! <= this.low && part.x.at(-1)! >= this.high ? part : this.whole;
  }

  // Marks and failures on the axis.
  private marks(series: Series): Marks {
    if (this.placed?.series !== series) {
      this.placed = { series, marks: placeMarks(this.is.whole, this.device.device, this.is.time, this.firstTime ?? 0, [series, this.whole], (event) => this.eventX(event)!) };
    }
    return this.placed.marks;
  }

  private make(width: number): Plot {
    const series = this.shown();
    return new Plot({ series, width, height: this.is.height, ceiling: this.is.ceiling, low: this.low, high: this.high, end: this.end, time: this.is.time,
      reserved: this.is.state().reserved !== "off", lit: this.lit, shapes: this.shapes, capacity: this.capacity, ...this.marks(series) });
  }
  private over(): Over {
    const { picked } = this;
    const shape = picked === undefined ? undefined : this.shapes?.shapes.find((one) => asText(one.life.row["id"]) === picked.id);
    return { chosen: this.chosen, pointer: this.pointer, brush: this.brush, block: this.block,
      picked: picked === undefined ? undefined : { ...picked, shape } };
  }
  draw(): void {
    this.isStale = true;
    this.drawOver();
  }
  // What follows the pointer alone.
  private drawOver(): void {
    if (this.frame === 0) {
      this.frame = requestAnimationFrame(() => {
        this.frame = 0;
        this.drawNow();
      });
    }
  }
  private get inner(): number {
    return Math.max(1, this.element.clientWidth - kLeft - kRight);
  }
  private drawNow(): void {
    const width = this.element.clientWidth;
    if (width === 0) {
      return;
    }
    const { height } = this.is;
    const dark = isDark();
    if (this.isStale || this.plot === undefined) {
      this.isStale = false;
      const plot = this.plot = this.make(width);
      paint(this.ground, { width, height, draw: (pen, night) => plot.draw(pen, night) }, dark);
      this.mapped = undefined;
      this.strip.draw(width);
    }
    if (this.is.mapped !== false && this.mapped !== this.chosen) {
      this.mapped = this.chosen;
      paint(this.map, minimap({ series: this.whole, width, least: this.least, most: this.most, end: this.end, low: this.low, high: this.high, chosen: this.chosen }), dark);
    }
    const plot = this.plot;
    paint(this.canvas, { width, height, draw: (pen, night) => plot.over(pen, night, this.over()) }, dark);
  }

  picture(): Picture {
    const width = Math.max(600, this.element.clientWidth);
    const plot = this.make(width);
    const { height, name } = this.is;
    const title: Picture = { width, height: 20, draw: (pen, dark) => pen.text(0, 10, name, { color: theme(dark).ink, bold: true, room: width }) };
    return stacked([
      ...(name === "" ? [] : [title]),
      this.strip.picture(width, (event) => plot.toX(this.eventX(event)!)),
      { width, height, draw: (pen, dark) => { plot.draw(pen, dark); plot.over(pen, dark, this.over()); } },
      legendPicture(this.shown().layers, width),
    ]);
  }

  private light(layer: number | undefined): void {
    if (layer !== this.lit) {
      this.lit = layer;
      this.draw();
    }
  }

  private point(): number {
    const at = this.pointer ?? this.chosen;
    return at === undefined ? this.shown().x.length - 1 : Math.max(0, pointAt(this.shown().x, at));
  }
  // What is spoken of: the pointer's point, or the chosen moment.
  private said(): { series: Series; point: number } {
    const exact = this.pointer === undefined && this.chosen !== undefined ? this.exact : undefined;
    return exact === undefined || exact.x.length === 0 ? { series: this.shown(), point: this.point() }
      : { series: exact, point: exact.x.length - 1 };
  }
  // `other`: what a part of the chart has to say of itself.
  private say(other?: string): void {
    const { series, point } = this.said();
    this.legend.sizes(this.shown().layers, series, point);
    if (other !== undefined) {
      clear(this.says, other);
      return;
    }
    const event = series.events[point]!;
    const seconds = series.seconds?.[point];
    const live = series.tops.at(-1)![point]!;
    const lowest = this.pointer === undefined || this.shapes !== undefined ? undefined : series.lowest?.[point];
    clear(this.says,
      h("b", {}, event < 0 ? "at the start" : `event ${count(event)}`),
      seconds === undefined || event < 0 ? "" : ` · ${seconds.toFixed(6)} s`,
      ` · ${size(live)} live`,
      series.reserved[point]! > 0 && ` · ${size(series.reserved[point]!)} reserved`,
      lowest !== undefined && lowest < live && ` · at least ${size(lowest)} nearby`,
      this.below(series, point));
    this.says.title = this.says.textContent ?? "";
  }
  // The block, the layer or the rest under the pointer.
  private below(series: Series, point: number): string {
    if (this.pointer === undefined) {
      return "";
    }
    if (this.block !== undefined) {
      const { row } = this.block.life;
      return ` · block of ${size(asNumber(row["size"]))}: ${shortName(asText(row["name"])) || "(stack unknown)"}  ${shortPlace(row)}, lived ${lifetime(row)}`;
    }
    if (this.pointer > this.end + 1e-9) {
      return " · the recording has ended";
    }
    if (this.shapes !== undefined) {
      return ` · smaller and earlier ones ${size(Math.max(0, series.tops.at(-1)![point]! - this.shapes.sumAt(series.x[point]!)))}`;
    }
    const layer = this.lit === undefined ? undefined : series.layers[this.lit];
    return layer === undefined ? "" : ` · ${layerName(layer)} ${size(layerBytes(series, layer, point) ?? 0)}`;
  }

  // What another chart of the same axis points at.
  follow(x: number | undefined): void {
    this.pointer = x;
    this.block = undefined;
    this.say();
    this.drawOver();
  }
  private aim(x: number | undefined, y = 0): void {
    const { plot } = this;
    this.pointer = x;
    this.block = x === undefined || plot === undefined ? undefined : this.shapes?.at(x, plot.bytesAt(y));
    this.light(x === undefined || plot === undefined || this.brush !== undefined || this.shapes !== undefined ? undefined : plot.layerAt(plot.toX(x), y));
    this.say();
    this.drawOver();
    this.is.pointed?.(x);
  }

  private listen(): void {
    const { canvas } = this;
    let pressed: { x: number; at: number } | undefined;
    canvas.addEventListener("pointerdown", (event) => {
      canvas.setPointerCapture(event.pointerId);
      pressed = { x: event.offsetX, at: this.plot?.valueAt(event.offsetX) ?? 0 };
    });
    canvas.addEventListener("pointermove", (event) => {
      if (this.plot === undefined) {
        return;
      }
      const at = Math.max(this.low, Math.min(this.high, this.plot.valueAt(event.offsetX)));
      this.brush = pressed !== undefined && Math.abs(event.offsetX - pressed.x) > 4 ? [pressed.at, at] : undefined;
      this.aim(at, event.offsetY);
    });
    canvas.addEventListener("pointerup", (event) => {
      const brush = this.brush;
      this.brush = undefined;
      if (brush !== undefined) {
        this.show([Math.min(...brush), Math.max(...brush)]);
      } else if (pressed !== undefined && this.plot !== undefined) {
        this.click(this.plot.valueAt(event.offsetX), this.plot.bytesAt(event.offsetY));
      }
      pressed = undefined;
    });
    canvas.addEventListener("pointerleave", () => this.aim(undefined));
    canvas.addEventListener("dblclick", () => this.show(undefined));
    canvas.addEventListener("keydown", (event) => this.key(event));
    canvas.addEventListener("wheel", (event) => {
      const sideways = Math.abs(event.deltaX) > Math.abs(event.deltaY) || event.shiftKey;
      if (!sideways && !event.ctrlKey && !event.metaKey && document.activeElement !== canvas) {
        return; // the page scrolls
      }
      event.preventDefault();
      if (sideways) {
        this.move(((event.deltaX || event.deltaY) / this.element.clientWidth) * (this.high - this.low));
      } else {
        this.zoomAt(event.deltaY > 0 ? 1.25 : 0.8, this.plot?.valueAt(event.offsetX));
      }
    }, { passive: false });
    const drag = (event: PointerEvent): void => {
      const x = this.least + ((event.offsetX - kLeft) / this.inner) * (this.most - this.least);
      this.move(x - (this.low + this.high) / 2);
    };
    this.map.addEventListener("pointerdown", (event) => (this.map.setPointerCapture(event.pointerId), drag(event)));
    this.map.addEventListener("pointermove", (event) => event.buttons === 1 && drag(event));
  }
  private click(x: number, bytes: number): void {
    const series = this.shown();
    const point = pointAt(series.x, x);
    this.is.choose(series.events[Math.max(0, point)]!, this.shapes?.at(x, bytes)?.life.row);
  }

  private key(event: KeyboardEvent): void {
    const steps: Record<string, () => void> = {
      "+": () => this.zoom(0.5), "=": () => this.zoom(0.5), "-": () => this.zoom(2),
      PageUp: () => this.pan(-0.5), PageDown: () => this.pan(0.5), Home: () => this.show(undefined),
      ArrowLeft: () => this.step(-1, event.shiftKey), ArrowRight: () => this.step(1, event.shiftKey),
      ...(this.shapes === undefined ? {} : { ArrowUp: () => this.climb(1), ArrowDown: () => this.climb(-1) }),
    };
    if (steps[event.key] !== undefined && !event.ctrlKey && !event.metaKey && !event.altKey) {
      steps[event.key]!();
      event.preventDefault();
    }
  }
  // To the next point that is drawn, or with Shift to the next event.
  private step(by: number, one: boolean): void {
    const series = this.shown();
    const point = Math.max(0, Math.min(series.x.length - 1, this.point() + by));
    const event = one ? this.eventOfX(this.chosen ?? this.most) + by : series.events[point]!;
    this.is.choose(Math.max(-1, Math.min(this.is.device.events - 1, event)));
  }
  // To the block above or below, at the chosen moment.
  private climb(by: number): void {
    const x = Math.max(this.low, Math.min(this.high, this.chosen ?? this.low));
    const stack = this.shapes!.stackAt(x);
    const at = stack.findIndex((shape) => asText(shape.life.row["id"]) === this.picked?.id);
    const next = stack[at < 0 && by < 0 ? stack.length - 1 : at + by];
    if (next !== undefined) {
      this.is.choose(this.eventOfX(x), next.life.row);
    }
  }

  zoom(factor: number): void {
    this.zoomAt(factor, this.chosen !== undefined && this.chosen > this.low && this.chosen < this.high ? this.chosen : undefined);
  }
  private zoomAt(factor: number, around = (this.low + this.high) / 2): void {
    const narrowest = this.is.time ? 1e-6 : 4;
    const wide = Math.max(narrowest, (this.high - this.low) * factor);
    const part = (around - this.low) / (this.high - this.low);
    this.place(around - part * wide, wide);
  }
  pan(part: number): void {
    this.move(part * (this.high - this.low));
  }
  private move(by: number): void {
    this.place(this.low + by, this.high - this.low);
  }
  private place(low: number, wide: number): void {
    const width = Math.min(this.most - this.least, wide);
    const from = Math.max(this.least, Math.min(this.most - width, low));
    this.at(from, from + width);
    this.is.moved?.();
    clearTimeout(this.wait);
    this.wait = window.setTimeout(() => this.tell(false), kRestMs);
  }
  // Shows a part of the axis, and tells nobody.
  at(low: number, high: number): void {
    [this.low, this.high] = [low, high];
    this.draw();
  }
  show(range: [number, number] | undefined): void {
    this.at(...range ?? [this.least, this.most]);
    clearTimeout(this.wait);
    this.tell(range !== undefined);
  }
  private tell(chosen: boolean): void {
    const all = this.low <= this.least && this.high >= this.most;
    const moment = (x: number, round: (x: number) => number): string =>
      this.is.time ? `time:${Math.max(0, round(x * 1e6) / 1e6)}` : `event:${Math.max(0, Math.min(this.most - 1, round(x)))}`;
    this.is.range(all ? "" : moment(this.low, Math.floor), all ? "" : moment(this.high, Math.ceil), chosen);
  }

  // Whether an allocation tells its layer.
  private get namesAllocations(): boolean {
    return ["", "function", "filefunction", "line", "file"].includes(this.is.state().by);
  }
  // Of the layer that a row of another answer belongs to, where layers are functions, lines or files.
  layerColor(row: Row): string | undefined {
    return this.shown().layers.find((layer) => (layer.name === row["name"] || (layer.name === row["file"] && layer.file === "")) &&
      (layer.file === "" || layer.file === row["file"]) && (layer.line === null || layer.line === 0 || layer.line === row["line"]))?.color;
  }

  // What is shown: places on the axis, the events there, and how many pixels and bytes that is.
  get span(): { low: number; high: number; from: number; to: number; height: number; most: number } {
    return { low: this.low, high: this.high, from: this.eventOfX(this.low), to: this.eventOfX(this.high),
      height: this.is.height, most: (this.plot ?? this.make(Math.max(300, this.element.clientWidth))).most };
  }
}
