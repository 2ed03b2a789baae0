// Flame graph: an icicle with the outermost frame on top, or turned over; a click makes a frame the
// whole width. With a base, widths are the larger side and colours say what grew and shrank.
import { changeColor, frameColor, isDark, theme } from "../charts/palette";
import { paint, type Pen, type Picture } from "../charts/pen";
import { fromLeaves, readNodes, type Node } from "../charts/tree";
import { asText } from "../core/answers";
import { clear, h } from "../core/dom";
import { percent, size } from "../core/format";
import { place } from "../core/words";
import { byChoice, byWords } from "../ui/by";
import type { Context, View } from "../ui/context";

const kHeight = 18;
const kBy = ["function", "filefunction", "line", "file", "module"];

class Flame {
  private readonly canvas: HTMLCanvasElement;
  private readonly says = h("p", { class: "says", "aria-live": "polite" });
  private root = 0;
  private at = 0;
  private found: RegExp | undefined;
  private readonly deepest: number;
  private readonly mostChange: number;
  private readonly byDepth: number[][] = [];
  private frame = 0;

  constructor(private readonly context: Context, private readonly nodes: Node[], private readonly into: HTMLElement,
    private readonly compared: boolean, private readonly upwards: boolean) {
    this.deepest = nodes.reduce((most, node) => Math.max(most, node.depth), 0);
    this.mostChange = nodes.reduce((most, node) => Math.max(most, Math.abs(node.change)), 1);
    nodes.forEach((node, i) => (this.byDepth[node.depth] ??= []).push(i));
    this.canvas = h("canvas", { class: "flame", tabindex: 0, role: "img",
      "aria-label": "flame graph; arrow keys move, Enter zooms, Escape zooms out, t opens the table" });
    this.canvas.addEventListener("mousemove", (event) => this.hover(this.nodeAt(event)));
    this.canvas.addEventListener("click", (event) => this.zoom(this.nodeAt(event)));
    this.canvas.addEventListener("dblclick", (event) => this.pick(this.nodeAt(event)));
    this.canvas.addEventListener("keydown", (event) => this.key(event));
    into.append(this.says, this.canvas);
    new ResizeObserver(() => this.draw()).observe(into);
    context.picture = () => this.picture(Math.max(800, into.clientWidth));
    this.hover(0);
  }

  search(text: string): string {
    this.found = undefined;
    try {
      this.found = text === "" ? undefined : new RegExp(text, "i");
    } catch {
      return "not a regular expression";
    }
    this.draw();
    if (this.found === undefined) {
      return "";
    }
    let bytes = 0;
    let until = -1; // end of the last match that is counted
    for (const node of this.nodes) {
      if (node.begin >= until && this.matches(node)) {
        bytes += node.bytes;
        until = node.begin + node.bytes;
      }
    }
    return `${size(bytes)} match, ${percent(bytes, this.nodes[0]!.bytes)}`;
  }

  private matches(node: Node): boolean {
    return this.found !== undefined && this.found.test(`${node.name} ${node.file}`);
  }

  private box(node: Node, width: number): { x: number; y: number; wide: number } {
    const top = this.nodes[this.root]!;
    const y = (this.upwards ? this.deepest - node.depth : node.depth) * kHeight;
    const scale = width / Math.max(1, top.bytes);
    return node.depth <= top.depth ? { x: 0, y, wide: width } : { x: (node.begin - top.begin) * scale, y, wide: node.bytes * scale };
  }

  private inSight(row: number): boolean {
    const node = this.nodes[row]!;
    const top = this.nodes[this.root]!;
    if (node.depth <= top.depth) {
      let above = this.root;
      while (this.nodes[above]!.depth > node.depth) {
        above = this.nodes[above]!.parent;
      }
      return above === row;
    }
    return node.begin >= top.begin && node.begin + node.bytes <= top.begin + top.bytes;
  }

  private picture(width: number): Picture {
    return { width, height: (this.deepest + 1) * kHeight, draw: (pen, dark) => this.drawWith(pen, dark, width) };
  }
  private drawWith(pen: Pen, dark: boolean, width: number): void {
    const colors = theme(dark);
    this.nodes.forEach((node, row) => {
      const { x, y, wide } = this.box(node, width);
      if (wide < 0.4 || !this.inSight(row)) {
        return;
      }
      pen.faint(this.found !== undefined && !this.matches(node) ? 0.3 : 1);
      const fill = this.compared ? changeColor(node.change / this.mostChange, dark)
        : node.depth === 0 ? colors.root : frameColor(node.file || node.name, node.name, dark);
      pen.rect(x, y, Math.max(0.5, wide - 0.7), kHeight - 1, fill, row === this.at && this.canvas.matches(":hover, :focus") ? colors.ink : undefined);
      if (wide > 24) {
        const change = this.compared && node.change !== 0 ? `  ${size(node.change, true)}` : "";
        pen.text(x + 4, y + kHeight / 2 - 0.5, `${node.name}${change}`, { color: colors.ink, room: wide - 8, bold: node.depth === 0 });
      }
    });
    pen.faint(1);
  }
  draw(): void {
    this.frame ||= requestAnimationFrame(() => {
      this.frame = 0;
      const width = this.into.clientWidth;
      if (width > 0) {
        paint(this.canvas, this.picture(width), isDark());
      }
    });
  }

  private nodeAt(event: MouseEvent): number {
    const row = Math.floor(event.offsetY / kHeight);
    const depth = this.upwards ? this.deepest - row : row;
    return this.byDepth[depth]?.find((i) => {
      const { x, wide } = this.box(this.nodes[i]!, this.canvas.clientWidth);
      return this.inSight(i) && event.offsetX >= x && event.offsetX < x + wide;
    }) ?? -1;
  }

  private hover(row: number): void {
    if (row < 0) {
      return;
    }
    this.at = row;
    const node = this.nodes[row]!;
    clear(this.says,
      h("b", {}, node.name), `  ${place(node.row)}  `,
      `${size(node.now)} · ${percent(node.now, this.nodes[0]!.now)} of all · ${size(node.self)} itself`,
      this.compared ? ` · ${size(node.change, true)} since the base` : "");
    this.draw();
  }

  private zoom(row: number): void {
    if (row >= 0) {
      this.root = this.root === row ? Math.max(0, this.nodes[row]!.parent) : row;
      this.hover(row);
    }
  }

  private pick(row: number): void {
    if (row > 0) {
      this.context.change({ view: "table", pick: this.nodes[row]!.name });
    }
  }

  private key(event: KeyboardEvent): void {
    const parent = this.nodes[this.at]!.parent;
    const [out, inwards] = this.upwards ? ["ArrowDown", "ArrowUp"] : ["ArrowUp", "ArrowDown"];
    const beside = this.nodes.map((node, i) => (node.parent === parent && i > 0 ? i : -1)).filter((i) => i >= 0);
    const next: Record<string, () => void> = {
      [out!]: () => this.hover(parent),
      [inwards!]: () => this.hover(this.nodes.findIndex((other) => other.parent === this.at)),
      ArrowRight: () => this.hover(beside[beside.indexOf(this.at) + 1] ?? -1),
      ArrowLeft: () => this.hover(beside[beside.indexOf(this.at) - 1] ?? -1),
      Enter: () => this.zoom(this.at),
      Escape: () => ((this.root = 0), this.draw()),
      t: () => this.pick(this.at),
    };
    if (next[event.key] !== undefined) {
      next[event.key]!();
      event.preventDefault();
    }
  }
}

function shapeChoice(context: Context): HTMLElement {
  const select = h("select", { id: "up", change: () => context.change({ up: select.value }) });
  for (const [value, title] of [["", "icicle"], ["flame", "flame"], ["leaves", "inverted"]]) {
    select.append(h("option", { value: value!, selected: value === context.state.up }, title!));
  }
  return h("label", {}, "shape ", select);
}

export const flame: View = {
  id: "flame",
  title: "Flame graph",
  shows: (context) => context.first.can("flame"),
  async draw(context, into) {
    const { state } = context;
    const answer = await context.json(["flame", ...byWords(context, kBy, "filefunction"), ...(state.up === "flame" ? ["--up"] : []),
      ...context.baseWords, ...context.momentAndFilters, ...context.names]);
    const found = h("span", { class: "note" });
    const search = h("input", { type: "search", id: "search", value: state.search, placeholder: "search (regular expression)", size: 22 });
    const holder = h("div", { class: "chart" });
    const compared = context.bases.length > 0;
    clear(into, h("div", { class: "tools" }, byChoice(context, "frames are", kBy, "filefunction"), shapeChoice(context), search, found,
      compared && h("span", { class: "key" }, h("i", { class: "grew" }), "grew ", h("i", { class: "shrank" }), "shrank"),
      h("span", { class: "note" }, "click zooms, double click: the table, Escape: all")), holder);
    const straight = readNodes(answer.rows);
    const nodes = state.up === "leaves" ? fromLeaves(straight) : straight;
    if (nodes.length === 0 || nodes[0]!.bytes === 0) {
      clear(holder, h("p", { class: "note" }, `nothing is held${asText(answer.total) === "0" ? "" : " that has a stack"}`));
      return;
    }
    const drawn = new Flame(context, nodes, holder, compared, state.up === "flame");
    const seek = (): void => clear(found, drawn.search(search.value));
    search.addEventListener("input", seek);
    search.addEventListener("change", () => context.refine({ search: search.value }, async () => {
      context.list(["flame", ...byWords(context, kBy, "filefunction"), ...context.baseWords, ...context.momentAndFilters, ...context.names]);
    }));
    if (state.search !== "") {
      seek();
    }
  },
};
