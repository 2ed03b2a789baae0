// The whole call graph: the functions that hold most and the calls between them, to pan, zoom and search.
import { boxAt, drawCalls, readCalls, type Calls, type Sight } from "../charts/call_graph";
import { kBox, layOut, type Layout } from "../charts/layers";
import { isDark } from "../charts/palette";
import { paint, type Pen, type Picture } from "../charts/pen";
import { asNumber, asText } from "../core/answers";
import { clear, h } from "../core/dom";
import { count, counted, percent, size, visible } from "../core/format";
import { readZoom, writeZoom } from "../core/state";
import { place, shortName } from "../core/words";
import type { Context } from "../ui/context";
import { Rest } from "../ui/rest";
import { exactly } from "./table";

const kNodes = 80; // as `dot` has it
const kMany = 3000; // functions
const kMargin = 16;
const kFit = "all"; // in a link
const kZoom = { least: 0.08, most: 2.5 };

interface End {
  other: number; // of a call
  weight: number;
}

class Graph {
  readonly element: HTMLElement;
  private readonly canvas: HTMLCanvasElement;
  private readonly says = h("p", { class: "says", "aria-live": "polite" });
  private readonly list = h("div", { class: "slot" });
  private readonly layout: Layout;
  private sight: Sight = { scale: 1, x: 0, y: 0 };
  private chosen: number;
  private pointed = -1;
  private found: RegExp | undefined;
  private frame = 0;
  private fitted = false;
  private readonly rest: Rest;

  constructor(private readonly context: Context, private readonly calls: Calls, private readonly relist: () => void) {
    this.layout = layOut(calls.nodes.length, calls.links);
    this.rest = new Rest(context);
    this.chosen = calls.nodes.findIndex((node) => node.key === context.state.node);
    this.canvas = h("canvas", { class: "graph", tabindex: 0, role: "img",
      "aria-label": "call graph; arrow keys move along calls, Enter shows a function alone, + and − zoom, 0 fits, t opens the table" });
    this.element = h("div", { class: "flamed" }, h("div", { class: "chart" }, this.says, this.canvas), h("aside", {}, this.list));
    this.listen();
    new ResizeObserver(() => this.resized()).observe(this.canvas);
    context.picture = () => this.picture();
    this.tell();
  }

  private get width(): number {
    return this.canvas.clientWidth;
  }
  private get height(): number {
    return Math.max(360, Math.min(this.layout.height + 2 * kMargin, 0.68 * innerHeight));
  }

  // All of it, as it is at first.
  all(): void {
    this.fit();
    this.rest.later(kFit);
  }
  private fit(): void {
    const scale = Math.min(1, (this.width - 2 * kMargin) / this.layout.width, (this.height - 2 * kMargin) / this.layout.height);
    this.sight = { scale: Math.max(kZoom.least, scale), x: 0, y: kMargin };
    this.sight.x = (this.width - this.layout.width * this.sight.scale) / 2;
    this.draw();
  }
  zoom(by: number, x = this.width / 2, y = this.height / 2): void {
    this.scaleBy(by, x, y);
    this.moved();
  }
  private scaleBy(by: number, x = this.width / 2, y = this.height / 2): void {
    const scale = Math.min(kZoom.most, Math.max(kZoom.least, this.sight.scale * by));
    const real = scale / this.sight.scale;
    this.sight = { scale, x: x - (x - this.sight.x) * real, y: y - (y - this.sight.y) * real };
    this.draw();
  }
  // The middle of what is in sight, which no width changes.
  private moved(): void {
    const { scale, x, y } = this.sight;
    this.rest.later(writeZoom(scale, [this.width / 2 - x, this.height / 2 - y].map((one) => Math.round(one / scale)).join()));
  }
  private restore(): boolean {
    const zoom = readZoom(this.context.state.zoom);
    const [x, y] = zoom?.place.split(",").map(Number) ?? [];
    if (zoom === undefined || !Number.isFinite(x) || !Number.isFinite(y)) {
      return this.context.state.zoom === kFit;
    }
    const scale = Math.min(kZoom.most, Math.max(kZoom.least, zoom.scale));
    this.sight = { scale, x: this.width / 2 - x! * scale, y: this.height / 2 - y! * scale };
    return true;
  }
  // Large graphs begin where names can be read, at the outermost function.
  private resized(): void {
    if (this.width > 0 && !this.fitted) {
      this.fitted = true;
      this.fit();
      if (!this.restore() && this.sight.scale < 0.6) {
        this.scaleBy(0.6 / this.sight.scale);
        const first = this.layout.y.indexOf(Math.min(...this.layout.y)); // of the outermost functions the one with most
        this.centre(this.chosen >= 0 ? this.chosen : first);
        this.sight.y = this.chosen >= 0 ? this.sight.y : kMargin;
      }
    }
    this.draw();
  }
  private centre(node: number): void {
    this.sight.x = this.width / 2 - this.layout.x[node]! * this.sight.scale;
    this.sight.y = this.height / 2 - this.layout.y[node]! * this.sight.scale;
    this.draw();
  }
  // Into sight, where it is not.
  private reveal(node: number): void {
    const { scale, x, y } = this.sight;
    const [atX, atY] = [x + this.layout.x[node]! * scale, y + this.layout.y[node]! * scale];
    const [besideX, besideY] = [kBox.width / 3, kBox.height / 2];
    if (atX < besideX || atX > this.width - besideX || atY < besideY || atY > this.height - besideY) {
      this.centre(node);
    }
  }

  search(text: string): string {
    this.found = undefined;
    try {
      this.found = text === "" ? undefined : new RegExp(text, "i");
    } catch {
      return "not a regular expression";
    }
    const hits = this.found === undefined ? [] : [...this.calls.nodes.keys()].filter((i) => this.matches(i));
    if (hits.length > 0) {
      this.reveal(hits[0]!);
    }
    this.draw();
    return this.found === undefined ? "" : `${counted(hits.length, "function")} found`;
  }
  private matches(i: number): boolean {
    const { row } = this.calls.nodes[i]!;
    return this.found!.test(`${asText(row["name"])} ${asText(row["file"])}`);
  }

  private draw(): void {
    this.frame ||= requestAnimationFrame(() => {
      this.frame = 0;
      const { width, height } = this;
      if (width > 0) {
        paint(this.canvas, { width, height, draw: (pen, dark) => this.drawWith(pen, dark, this.sight, width, height) }, isDark());
      }
    });
  }
  private drawWith(pen: Pen, dark: boolean, sight: Sight, width: number, height: number): void {
    const { found } = this;
    drawCalls(pen, dark, this.calls, this.layout, sight, { chosen: this.chosen, pointed: this.pointed,
      lit: found === undefined ? undefined : (node) => this.matches(this.calls.nodes.indexOf(node)) }, width, height);
  }
  private picture(): Picture {
    const [width, height] = [this.layout.width + 2 * kMargin, this.layout.height + 2 * kMargin];
    return { width, height, draw: (pen, dark) => this.drawWith(pen, dark, { scale: 1, x: kMargin, y: kMargin }, width, height) };
  }

  private tell(): void {
    const i = this.pointed >= 0 ? this.pointed : this.chosen;
    const node = this.calls.nodes[i];
    if (node === undefined) {
      clear(this.says, "lines: the bytes that pass, dashed where they run back up; bars: dark what a function holds itself, blue what it calls holds");
    } else {
      clear(this.says, h("b", {}, asText(node.row["name"]).slice(0, 500)), `  ${place(node.row)}  `,
        `${size(node.cum)} · ${percent(node.cum, this.calls.total)} of all · ${size(node.flat)} itself`);
    }
    if (this.pointed < 0) {
      clear(this.list, this.about());
    }
  }
  private callers(node: number): End[] {
    return this.calls.links.filter((link) => link.to === node).map((link) => ({ other: link.from, weight: link.weight }));
  }
  private callees(node: number): End[] {
    return this.calls.links.filter((link) => link.from === node).map((link) => ({ other: link.to, weight: link.weight }));
  }
  private about(): HTMLElement {
    const { context, calls, chosen } = this;
    const node = calls.nodes[chosen];
    const end = ({ other, weight }: End): HTMLElement => {
      const { row } = calls.nodes[other]!;
      const title = visible(`${asText(row["name"])}  ${place(row)}`.slice(0, 2000));
      return h("li", {}, h("button", { type: "button", class: "link", title, click: () => this.choose(other) },
        shortName(asText(row["name"])).slice(0, 200)), h("span", { class: "note" }, ` ${size(weight)}`));
    };
    const ends = (rows: End[]): HTMLElement => h("ul", { class: "family" }, ...rows.sort((a, b) => b.weight - a.weight).map(end));
    if (node === undefined) {
      return h("div", {}, h("h2", {}, "functions"), ends(calls.nodes.slice(0, 12).map(({ cum }, other) => ({ other, weight: cum }))));
    }
    const name = asText(node.row["name"]);
    const [callers, callees] = [this.callers(chosen), this.callees(chosen)];
    return h("div", {}, h("h2", { class: "long" }, name.slice(0, 4000)), h("p", { class: "note long" }, place(node.row)),
      h("p", { class: "acts" },
        h("button", { type: "button", click: () => this.alone(chosen) }, "only its neighbours"),
        h("button", { type: "button", click: () => context.change({ view: "table", by: "", row: name }) }, "its row"),
        h("button", { type: "button", click: () => context.change({ view: "flame", up: "around", row: name }) }, "flame graphs around it")),
      callers.length > 0 && h("h2", {}, "called by"), callers.length > 0 && ends(callers),
      callees.length > 0 && h("h2", {}, "calls"), callees.length > 0 && ends(callees));
  }

  private choose(node: number): void {
    this.rest.now();
    this.chosen = node;
    this.pointed = -1;
    if (node >= 0) {
      this.reveal(node);
    }
    this.tell();
    this.draw();
    this.context.refine({ node: this.calls.nodes[node]?.key ?? "" }, async () => this.relist());
  }
  private alone(node: number): void {
    const found = this.calls.nodes[node];
    if (found !== undefined) {
      this.context.change({ row: asText(found.row["name"]), node: "" });
    }
  }

  private listen(): void {
    const { canvas } = this;
    let drag: { x: number; y: number; moved: boolean } | undefined;
    canvas.addEventListener("pointerdown", (event) => {
      drag = { x: event.clientX, y: event.clientY, moved: false };
      canvas.setPointerCapture(event.pointerId);
    });
    canvas.addEventListener("pointermove", (event) => {
      if (drag !== undefined) {
        const [dx, dy] = [event.clientX - drag.x, event.clientY - drag.y];
        if (drag.moved || Math.abs(dx) + Math.abs(dy) > 3) {
          drag = { x: event.clientX, y: event.clientY, moved: true };
          this.sight = { ...this.sight, x: this.sight.x + dx, y: this.sight.y + dy };
          this.draw();
        }
        return;
      }
      const node = boxAt(this.layout, this.sight, event.offsetX, event.offsetY);
      if (node !== this.pointed) {
        this.pointed = node;
        this.tell();
        this.draw();
      }
    });
    canvas.addEventListener("pointerup", (event) => {
      if (drag !== undefined && !drag.moved) {
        const node = boxAt(this.layout, this.sight, event.offsetX, event.offsetY);
        if (node !== this.chosen) {
          this.choose(node);
        }
      } else if (drag !== undefined) {
        this.moved();
      }
      drag = undefined;
    });
    canvas.addEventListener("dblclick", (event) => this.alone(boxAt(this.layout, this.sight, event.offsetX, event.offsetY)));
    canvas.addEventListener("wheel", (event) => {
      if (event.ctrlKey || event.metaKey || document.activeElement === canvas) { // else the page scrolls
        event.preventDefault();
        this.zoom(event.deltaY > 0 ? 0.8 : 1.25, event.offsetX, event.offsetY);
      }
    }, { passive: false });
    canvas.addEventListener("keydown", (event) => this.key(event));
  }

  // Along the calls: up and down the heaviest, left and right in the layer.
  private next(key: string): number {
    const { chosen } = this;
    if (chosen < 0) {
      return 0;
    }
    if (key === "ArrowUp" || key === "ArrowDown") {
      const ends = (key === "ArrowUp" ? this.callers(chosen) : this.callees(chosen)).filter((end) => end.other !== chosen);
      return ends.sort((a, b) => b.weight - a.weight)[0]?.other ?? -1;
    }
    const { x, y } = this.layout;
    const layer = [...this.calls.nodes.keys()].filter((i) => y[i] === y[chosen]).sort((a, b) => x[a]! - x[b]!);
    return layer[layer.indexOf(chosen) + (key === "ArrowRight" ? 1 : -1)] ?? -1;
  }
  private key(event: KeyboardEvent): void {
    if (event.ctrlKey || event.metaKey || event.altKey) {
      return;
    }
    const move = (): void => {
      const node = this.next(event.key);
      if (node >= 0) {
        this.choose(node);
      }
    };
    const keys: Record<string, () => void> = {
      ArrowUp: move, ArrowDown: move, ArrowLeft: move, ArrowRight: move,
      Enter: () => this.alone(this.chosen), Escape: () => this.choose(-1), "0": () => this.all(),
      "+": () => this.zoom(1.25), "=": () => this.zoom(1.25), "-": () => this.zoom(0.8),
      t: () => this.chosen >= 0 && this.context.change({ view: "table", by: "", row: asText(this.calls.nodes[this.chosen]!.row["name"]) }),
    };
    if (keys[event.key] !== undefined) {
      keys[event.key]!();
      event.preventDefault();
      event.stopPropagation();
    }
  }
}

// Of very many functions only those that can be drawn are asked for.
async function wanted(context: Context): Promise<string> {
  if (context.info.inputs.reduce((sum, input) => sum + asNumber(input["functions"]), 0) <= kMany) {
    return ".";
  }
  const top = await context.quietly(["top", "--by", "function", "--cum", "-n", String(kNodes), ...context.momentAndFilters, ...context.names]);
  return top.rows.length === 0 ? "." : [...new Set(top.rows.map((row) => exactly(asText(row["name"]))))].join("|");
}

export async function wholeGraph(context: Context, into: HTMLElement): Promise<void> {
  const words = ["peek", "--cum", await wanted(context), ...context.momentAndFilters, ...context.names];
  const answer = await context.json(words);
  const calls = readCalls(answer.rows, asNumber(answer.total), kNodes);
  if (calls.nodes.length === 0) {
    clear(into, h("p", { class: "note" }, "nothing is held that has a stack"));
    return;
  }
  const relist = (): void => context.list(words);
  const graph = new Graph(context, calls, relist);
  const found = h("span", { class: "note" });
  const search = h("input", { type: "search", id: "search", value: context.state.search, size: 22,
    placeholder: "search (regular expression)" });
  const seek = (): void => clear(found, graph.search(search.value));
  search.addEventListener("input", seek);
  search.addEventListener("change", () => context.refine({ search: search.value }, async () => relist()));
  const all = asNumber(answer["nodes"]);
  clear(into, h("div", { class: "tools" },
    h("span", { class: "group" },
      h("button", { type: "button", "aria-label": "larger", click: () => graph.zoom(1.25) }, "+"),
      h("button", { type: "button", "aria-label": "smaller", click: () => graph.zoom(0.8) }, "−"),
      h("button", { type: "button", click: () => graph.all() }, "fit")),
    search, found,
    h("span", { class: "note" }, calls.nodes.length < all
      ? `${count(calls.nodes.length)} of ${count(all)} functions: those with most` : counted(all, "function"))),
  graph.element);
  if (context.state.search !== "") {
    seek();
  }
}
