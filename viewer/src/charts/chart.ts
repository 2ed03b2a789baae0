// One device's plot with its minimap, legend and the line that says what is under the pointer.
// Wheel, drag and keys move it at once; what the range holds more exactly is asked for after that.
import { asNumber, type Answer, type Row } from "../core/answers";
import { clear, h } from "../core/dom";
import { count, size, visible } from "../core/format";
import type { DeviceFacts } from "../core/inputs";
import { parseEvent, type State } from "../core/state";
import { shortName } from "../core/words";
import { isDark, toShade, theme } from "./palette";
import { paint, type Picture } from "./pen";
import { kLeft, kRight, Plot } from "./plot";
import { pointAt, readSeries, type Colors, type Layer, type Mark, type Series } from "./series";

export interface ChartOptions {
  device: DeviceFacts;
  name: string;
  time: boolean;
  firstTime: number | undefined;
  colors: Colors;
  whole: Answer;
  height: number;
  state: () => State;
  range: (from: string, to: string) => void; // was chosen; empty = all
  choose: (event: number) => void;
  layer: (layer: Layer) => void;
}

const kMap = 44; // height of the minimap
const kRest = 220; // ms without a move before more is asked

export class Chart {
  readonly element: HTMLElement;
  readonly device: DeviceFacts;
  onMove: (() => void) | undefined; // the range has moved
  private readonly canvas = h("canvas", { class: "plot", tabindex: 0, role: "img",
    "aria-label": "live bytes; arrows move the moment, plus and minus zoom, Page Up and Page Down pan, Home shows all" });
  private readonly map = h("canvas", { class: "minimap", "aria-hidden": "true" });
  private readonly says = h("p", { class: "says", "aria-live": "polite" });
  private readonly legend = h("div", { class: "legend" });
  private whole: Series;
  private part: Series | undefined;
  private partAnswer: Answer | undefined;
  private firstTime: number | undefined;
  private plot: Plot | undefined;
  private low: number;
  private high: number;
  private readonly least: number;
  private readonly most: number;
  private chosen: number | undefined;
  private pointer: number | undefined;
  private lit: number | undefined;
  private brush: [number, number] | undefined;
  private frame = 0;
  private wait = 0;

  constructor(private readonly is: ChartOptions) {
    this.device = is.device;
    this.firstTime = is.firstTime;
    this.whole = this.series(is.whole);
    this.least = is.time ? 0 : -1;
    this.most = Math.max(this.least + 1e-6, is.time ? this.whole.x.at(-1)! : is.device.events - 1);
    this.low = this.least;
    this.high = this.most;
    this.element = h("section", { class: "chart" }, is.name !== "" && h("h2", {}, is.name), this.says, this.canvas, this.map, this.legend);
    this.listen();
    new ResizeObserver(() => this.draw()).observe(this.element);
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
    this.partAnswer = part;
    this.part = part === undefined ? undefined : this.series(part);
    const { from, to } = this.is.state();
    this.low = from === "" ? this.least : this.eventX(parseEvent(from)) ?? this.part?.x[0] ?? this.least;
    this.high = to === "" ? this.most : this.eventX(parseEvent(to)) ?? this.part?.x.at(-1) ?? this.most;
    if (this.high <= this.low) {
      this.high = this.low + (this.is.time ? 1e-6 : 1);
    }
    this.chosen = chosen === undefined ? undefined : this.eventX(chosen);
    this.fillLegend();
    this.say();
    this.draw();
  }

  // Where an event lies on the axis; on a time axis as near as the points allow.
  eventX(event: number | undefined): number | undefined {
    if (event === undefined) {
      return undefined;
    }
    if (!this.is.time) {
      return Math.max(this.least, Math.min(this.most, event));
    }
    const series = this.part ?? this.whole;
    return series.x[Math.max(0, pointAt(series.events, event))];
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
    return part !== undefined && part.x.length > 1 && part.x[0]! <= this.low + slack && part.x.at(-1)! >= this.high - slack * 4 &&
      (part.x.at(-1)! - part.x[0]!) < (this.high - this.low) * 4 ? part : this.coarse();
  }
  private coarse(): Series {
    const part = this.part;
    return part !== undefined && part.x.length > 1 && part.x[0]! <= this.low && part.x.at(-1)! >= this.high ? part : this.whole;
  }

  private make(width: number): Plot {
    const series = this.shown();
    const info = this.is.whole.inputs[0];
    const own = (one: Mark): boolean => one.device === undefined || one.device === null || one.device < 0 || one.device === this.is.device.device;
    const xOfTime = (us: unknown): number | undefined => {
      if (us === null || us === undefined || this.whole.seconds === undefined) {
        return undefined;
      }
      const seconds = (asNumber(us) - (this.firstTime ?? 0)) / 1e6;
      return this.is.time ? seconds : series.events[Math.max(0, pointAt(series.seconds!, seconds))];
    };
    const marks = ((info?.["marks"] as Mark[] | undefined) ?? []).filter(own)
      .map((mark) => ({ ...mark, x: xOfTime(mark.begin_us) }))
      .filter((mark): mark is Mark & { x: number } => mark.x !== undefined);
    const ooms = ((info?.["ooms"] as Mark[] | undefined) ?? []).filter((oom) => oom.device === this.is.device.device)
      .map((oom) => this.eventX(oom.event)!);
    return new Plot({ series, width, height: this.is.height, low: this.low, high: this.high, time: this.is.time,
      reserved: this.is.state().reserved !== "off", chosen: this.chosen,
      pointer: this.pointer, lit: this.lit, brush: this.brush, marks, ooms });
  }
  draw(): void {
    if (this.frame === 0) {
      this.frame = requestAnimationFrame(() => {
        this.frame = 0;
        this.drawNow();
      });
    }
  }
  private drawNow(): void {
    const width = this.element.clientWidth;
    if (width === 0) {
      return;
    }
    const plot = this.make(width);
    this.plot = plot;
    const dark = isDark();
    paint(this.canvas, { width, height: this.is.height, draw: (pen, night) => plot.draw(pen, night) }, dark);
    paint(this.map, this.overview(width), dark);
    this.onMove?.();
  }

  picture(): Picture {
    const width = Math.max(600, this.element.clientWidth);
    const plot = this.make(width);
    const { layers } = this.shown();
    const rows = Math.ceil(layers.length / 2);
    return { width, height: this.is.height + 10 + rows * 18, draw: (pen, dark) => {
      plot.draw(pen, dark);
      layers.forEach((layer, i) => {
        const x = kLeft + (i % 2) * (width - kLeft) / 2;
        const y = this.is.height + 12 + Math.trunc(i / 2) * 18;
        pen.rect(x, y - 5, 10, 10, layer.color);
        pen.text(x + 16, y, layerName(layer), { color: theme(dark).ink, room: (width - kLeft) / 2 - 30 });
      });
    } };
  }

  // The whole recording, with the part that is shown above it.
  private overview(width: number): Picture {
    return { width, height: kMap, draw: (pen, dark) => {
      const colors = theme(dark);
      const inner = width - kLeft - kRight;
      const live = this.whole.tops.at(-1)!;
      const most = live.reduce((high, value) => Math.max(high, value), 1);
      const toX = (x: number): number => kLeft + ((x - this.least) / (this.most - this.least)) * inner;
      const points = [toX(this.whole.x[0]!), kMap];
      this.whole.x.forEach((x, i) => {
        const y = kMap - 2 - ((kMap - 6) * live[i]!) / most;
        points.push(toX(x), y, i + 1 < this.whole.x.length ? toX(this.whole.x[i + 1]!) : kLeft + inner, y);
      });
      points.push(kLeft + inner, kMap);
      pen.rect(kLeft, 0, inner, kMap, colors.shade);
      pen.shape(points, dark ? "#4a5a70" : "#b9c6d8");
      const from = toX(this.low);
      const to = toX(this.high);
      pen.faint(0.55);
      pen.rect(kLeft, 0, Math.max(0, from - kLeft), kMap, colors.paper);
      pen.rect(to, 0, Math.max(0, kLeft + inner - to), kMap, colors.paper);
      pen.faint(1);
      pen.line([from, 0.5, Math.max(to, from + 3), 0.5, Math.max(to, from + 3), kMap - 0.5, from, kMap - 0.5, from, 0.5], colors.accent, 1.5);
      if (this.chosen !== undefined) {
        pen.line([toX(this.chosen), 0, toX(this.chosen), kMap], colors.ink, 1);
      }
    } };
  }

  private fillLegend(): void {
    const { layers } = this.shown();
    clear(this.legend, ...layers.map((layer, i) => {
      if (this.isEmpty(i)) {
        return false;
      }
      const swatch = h("span", { class: "swatch" });
      swatch.style.background = toShade(layer.color, isDark());
      return h("button", { type: "button", title: visible(layer.name.slice(0, 2000)),
        click: () => layer.name.startsWith("(") || this.is.layer(layer),
        mouseenter: () => this.light(i), mouseleave: () => this.light(undefined),
        focus: () => this.light(i), blur: () => this.light(undefined) },
        swatch, h("span", { class: "name" }, layerName(layer)), h("span", { class: "size" }));
    }));
    this.fillSizes();
  }
  private light(layer: number | undefined): void {
    this.lit = layer;
    this.draw();
  }

  private point(): number {
    const at = this.pointer ?? this.chosen;
    return at === undefined ? this.shown().x.length - 1 : Math.max(0, pointAt(this.shown().x, at));
  }
  private fillSizes(): void {
    const series = this.shown();
    const point = this.point();
    const cells = this.legend.querySelectorAll(".size");
    let cell = 0;
    series.tops.forEach((top, i) => {
      if (!this.isEmpty(i)) {
        const below = i > 0 ? series.tops[i - 1]![point]! : 0;
        cells[cell++]?.replaceChildren(size(top[point]! - below));
      }
    });
  }
  // Nothing was there before the recording, or all has a name.
  private isEmpty(layer: number): boolean {
    const { tops } = this.shown();
    return layer > 0 && tops[layer]!.every((value, i) => value === tops[layer - 1]![i]);
  }
  private say(): void {
    const series = this.shown();
    const point = this.point();
    const event = series.events[point]!;
    const seconds = series.seconds?.[point];
    const layer = this.lit === undefined || this.pointer === undefined ? undefined : series.layers[this.lit];
    const below = this.lit === undefined || this.lit === 0 ? 0 : series.tops[this.lit - 1]![point]!;
    clear(this.says,
      h("b", {}, event < 0 ? "at the start" : `event ${count(event)}`),
      seconds === undefined || event < 0 ? "" : ` · ${seconds.toFixed(6)} s`,
      ` · ${size(series.tops.at(-1)![point]!)} live`,
      series.reserved[point]! > 0 && ` · ${size(series.reserved[point]!)} reserved`,
      layer !== undefined && ` · ${layerName(layer)} ${size(series.tops[this.lit!]![point]! - below)}`);
    this.fillSizes();
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
      this.pointer = at;
      this.lit = pressed === undefined ? this.plot.layerAt(event.offsetX, event.offsetY) : undefined;
      this.brush = pressed !== undefined && Math.abs(event.offsetX - pressed.x) > 4 ? [pressed.at, at] : undefined;
      this.say();
      this.draw();
    });
    canvas.addEventListener("pointerup", (event) => {
      const brush = this.brush;
      this.brush = undefined;
      if (brush !== undefined) {
        this.show([Math.min(...brush), Math.max(...brush)]);
      } else if (pressed !== undefined && this.plot !== undefined) {
        const series = this.shown();
        const point = pointAt(series.x, this.plot.valueAt(event.offsetX));
        this.is.choose(series.events[Math.max(0, point)]!);
      }
      pressed = undefined;
    });
    canvas.addEventListener("pointerleave", () => {
      this.pointer = undefined;
      this.lit = undefined;
      this.say();
      this.draw();
    });
    canvas.addEventListener("dblclick", () => this.show(undefined));
    canvas.addEventListener("keydown", (event) => this.key(event));
    canvas.addEventListener("wheel", (event) => {
      event.preventDefault();
      if (Math.abs(event.deltaX) > Math.abs(event.deltaY) || event.shiftKey) {
        this.move(((event.deltaX || event.deltaY) / this.element.clientWidth) * (this.high - this.low));
      } else {
        this.zoomAt(event.deltaY > 0 ? 1.25 : 0.8, this.plot?.valueAt(event.offsetX));
      }
    }, { passive: false });
    const drag = (event: PointerEvent): void => {
      const x = this.least + ((event.offsetX - kLeft) / (this.element.clientWidth - kLeft - kRight)) * (this.most - this.least);
      this.move(x - (this.low + this.high) / 2);
    };
    this.map.addEventListener("pointerdown", (event) => (this.map.setPointerCapture(event.pointerId), drag(event)));
    this.map.addEventListener("pointermove", (event) => event.buttons === 1 && drag(event));
  }

  private key(event: KeyboardEvent): void {
    const steps: Record<string, () => void> = {
      "+": () => this.zoom(0.5), "=": () => this.zoom(0.5), "-": () => this.zoom(2),
      PageUp: () => this.pan(-0.5), PageDown: () => this.pan(0.5), Home: () => this.show(undefined),
      ArrowLeft: () => this.step(-1, event.shiftKey), ArrowRight: () => this.step(1, event.shiftKey),
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
    const room = this.most - this.least;
    const width = Math.min(room, wide);
    this.low = Math.max(this.least, Math.min(this.most - width, low));
    this.high = this.low + width;
    this.draw();
    clearTimeout(this.wait);
    this.wait = window.setTimeout(() => this.tell(), kRest);
  }
  show(range: [number, number] | undefined): void {
    [this.low, this.high] = range ?? [this.least, this.most];
    this.draw();
    clearTimeout(this.wait);
    this.tell();
  }
  private tell(): void {
    const all = this.low <= this.least && this.high >= this.most;
    this.is.range(all ? "" : `event:${Math.max(0, Math.floor(this.eventOfX(this.low)))}`,
      all ? "" : `event:${Math.ceil(this.eventOfX(this.high))}`);
  }

  // Of the layer that a row of another answer belongs to, where layers are functions or lines.
  layerColor(row: Row): string | undefined {
    return this.shown().layers.find((layer) => layer.name === row["name"] &&
      (layer.file === "" || layer.file === row["file"]) && (layer.line === null || layer.line === 0 || layer.line === row["line"]))?.color;
  }

  // For what is drawn below on the same axis.
  get span(): { low: number; high: number; from: number; to: number } {
    return { low: this.low, high: this.high, from: this.eventOfX(this.low), to: this.eventOfX(this.high) };
  }
}

function layerName(layer: Layer): string {
  const name = shortName(layer.name);
  return layer.file === "" ? name : `${name}  ${layer.file}${layer.line ? `:${layer.line}` : ""}`;
}
