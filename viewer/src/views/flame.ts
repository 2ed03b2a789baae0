// Flame graph: an icicle with the outermost frame on top; a click makes a frame the whole width.
import { asNumber, asText, type Row } from "../answers";
import type { Context, View } from "../context";
import { clear, h } from "../dom";
import { percent, size, visible } from "../format";
import { changeColor, frameColor, isDark } from "../palette";
import { place } from "./overview";

interface Node {
  row: Row;
  depth: number;
  bytes: number;
  change: number;
  begin: number; // bytes left of it
  parent: number;
}

const kHeight = 19;

function nodesOf(rows: Row[]): Node[] {
  const nodes: Node[] = [];
  const open: number[] = []; // by depth
  const used: number[] = []; // bytes of children so far, by node
  for (const row of rows) {
    const depth = asNumber(row["depth"]);
    const parent = depth > 0 ? open[depth - 1]! : -1;
    // What is gone keeps its room in a comparison.
    const bytes = Math.max(Math.abs(asNumber(row["bytes"])), Math.abs(asNumber(row["base_bytes"])));
    const begin = parent < 0 ? 0 : nodes[parent]!.begin + used[parent]!;
    open[depth] = nodes.length;
    used.push(0);
    if (parent >= 0) {
      used[parent] = used[parent]! + bytes;
    }
    nodes.push({ row, depth, bytes, begin, parent,
      change: asNumber(row["change"]) });
  }
  return nodes;
}

function nameOf(node: Node): string {
  return asText(node.row["name"]);
}

class Flame {
  private readonly canvas: HTMLCanvasElement;
  private readonly says = h("p", { class: "says", "aria-live": "polite" });
  private root = 0;
  private at = 0;
  private found: RegExp | undefined;
  private readonly deepest: number;
  private readonly mostChange: number;

  constructor(private readonly context: Context, private readonly nodes: Node[], into: HTMLElement,
    private readonly compared: boolean) {
    this.deepest = nodes.reduce((most, node) => Math.max(most, node.depth), 0);
    this.mostChange = nodes.reduce((most, node) => Math.max(most, Math.abs(node.change)), 1);
    this.canvas = h("canvas", { class: "flame", tabindex: 0, role: "img",
      "aria-label": "flame graph; arrow keys move, Enter zooms, Escape zooms out" });
    this.canvas.addEventListener("mousemove", (event) => this.hover(this.nodeAt(event)));
    this.canvas.addEventListener("click", (event) => this.zoom(this.nodeAt(event)));
    this.canvas.addEventListener("dblclick", (event) => this.pick(this.nodeAt(event)));
    this.canvas.addEventListener("keydown", (event) => this.key(event));
    into.append(this.says, this.canvas);
    new ResizeObserver(() => this.draw()).observe(into);
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
    return this.found !== undefined && this.found.test(`${asText(node.row["name"])} ${asText(node.row["file"])}`);
  }

  private scale(): number {
    return this.canvas.clientWidth / Math.max(1, this.nodes[this.root]!.bytes);
  }

  private box(node: Node): { x: number; y: number; width: number } {
    const top = this.nodes[this.root]!;
    if (node.depth <= top.depth) {
      return { x: 0, y: node.depth * kHeight, width: this.canvas.clientWidth };
    }
    return { x: (node.begin - top.begin) * this.scale(), y: node.depth * kHeight, width: node.bytes * this.scale() };
  }

  private inSight(node: Node): boolean {
    const top = this.nodes[this.root]!;
    if (node.depth < top.depth) {
      let above = this.root;
      while (this.nodes[above]!.depth > node.depth) {
        above = this.nodes[above]!.parent;
      }
      return this.nodes[above] === node;
    }
    return node.begin >= top.begin && node.begin + node.bytes <= top.begin + top.bytes &&
      (node.depth > top.depth || node === top);
  }

  draw(): void {
    const ratio = devicePixelRatio || 1;
    const width = this.canvas.parentElement!.clientWidth;
    const height = (this.deepest + 1) * kHeight;
    this.canvas.style.height = `${height}px`;
    this.canvas.width = width * ratio;
    this.canvas.height = height * ratio;
    const draw = this.canvas.getContext("2d")!;
    draw.scale(ratio, ratio);
    draw.font = "11.5px system-ui, sans-serif";
    draw.textBaseline = "middle";
    const dark = isDark();
    this.nodes.forEach((node, row) => {
      const { x, y, width: wide } = this.box(node);
      if (wide < 0.5 || !this.inSight(node)) {
        return;
      }
      const file = asText(node.row["file"]);
      draw.globalAlpha = this.found !== undefined && !this.matches(node) ? 0.35 : 1;
      draw.fillStyle = this.compared ? changeColor(node.change / this.mostChange, dark)
        : node.depth === 0 ? (dark ? "#3a3a40" : "#dcdce2") : frameColor(file || asText(node.row["name"]), dark);
      draw.fillRect(x, y, Math.max(0.5, wide - 0.7), kHeight - 1);
      if (row === this.at) {
        draw.strokeStyle = dark ? "#fff" : "#000";
        draw.strokeRect(x + 0.5, y + 0.5, Math.max(1, wide - 1.7), kHeight - 2);
      }
      if (wide > 34) {
        draw.fillStyle = dark ? "#eee" : "#16161a";
        const name = visible(nameOf(node));
        const most = Math.floor((wide - 8) / 6.1);
        draw.fillText(name.length <= most ? name : `${name.slice(0, Math.max(1, most - 1))}…`, x + 4, y + kHeight / 2);
      }
    });
  }

  private nodeAt(event: MouseEvent): number {
    const depth = Math.floor(event.offsetY / kHeight);
    for (let i = 0; i < this.nodes.length; ++i) {
      const node = this.nodes[i]!;
      if (node.depth === depth && this.inSight(node)) {
        const { x, width } = this.box(node);
        if (event.offsetX >= x && event.offsetX < x + width) {
          return i;
        }
      }
    }
    return -1;
  }

  private hover(row: number): void {
    if (row < 0) {
      return;
    }
    this.at = row;
    const node = this.nodes[row]!;
    clear(this.says,
      h("b", {}, nameOf(node)), `  ${place(node.row)}  `,
      `${size(node.bytes)} · ${percent(node.bytes, this.nodes[0]!.bytes)} of all · ${size(asNumber(node.row["self"]))} itself`,
      this.compared ? ` · ${size(node.change, true)}` : "");
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
      this.context.change({ view: "table", pick: asText(this.nodes[row]!.row["name"]) });
    }
  }

  private key(event: KeyboardEvent): void {
    const node = this.nodes[this.at]!;
    const near = (test: (other: Node, i: number) => boolean): number => this.nodes.findIndex(test);
    let next = -1;
    switch (event.key) {
      case "ArrowUp": next = node.parent; break;
      case "ArrowDown": next = near((other) => other.parent === this.at); break;
      case "ArrowRight":
        next = near((other, i) => i > this.at && other.parent === node.parent);
        break;
      case "ArrowLeft":
        for (let i = this.at - 1; i > node.parent && next < 0; --i) {
          next = this.nodes[i]!.parent === node.parent ? i : -1;
        }
        break;
      case "Enter": this.zoom(this.at); event.preventDefault(); return;
      case "Escape": this.root = 0; this.draw(); return;
      default: return;
    }
    event.preventDefault();
    this.hover(next);
  }
}

export const flame: View = {
  id: "flame",
  title: "Flame graph",
  shows: (context) => context.first.hasRows,
  async draw(context, into) {
    const answer = await context.json(["flame", ...context.baseWords, ...context.momentAndFilters, ...context.names]);
    const found = h("span", { class: "note" });
    const search = h("input", { type: "search", id: "search", placeholder: "search (regular expression)", size: 30 });
    const holder = h("div", { class: "chart" });
    clear(into, h("div", { class: "tools" }, search, found,
      h("span", { class: "note" }, "click zooms, double click opens the table, Escape shows all")), holder);
    const nodes = nodesOf(answer.rows);
    if (nodes.length === 0) {
      clear(holder, h("p", { class: "note" }, "nothing is held"));
      return;
    }
    const drawn = new Flame(context, nodes, holder, context.bases.length > 0);
    search.addEventListener("input", () => clear(found, drawn.search(search.value)));
  },
};
