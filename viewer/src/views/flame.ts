// Flame graph: an icicle with the outermost frame on top, or turned over, or from the innermost; or one function between
// its callers and callees. A click makes a frame the whole width. With a base, widths are the larger side and frames are
// filled as far as they changed. Of a range also what was allocated in it.
import type { Look } from "../charts/flame";
import { byBucket, byChange, byFile, byOwn, bySelf, type Colors } from "../charts/flame_colors";
import { isDark } from "../charts/palette";
import type { Picture } from "../charts/pen";
import { around, findPath, fromLeaves, fromStacks, pathKeys, readNodes, type Node } from "../charts/tree";
import { asNumber, asText, type Answer, type Row } from "../core/answers";
import { append, clear, h } from "../core/dom";
import { count, percent, size, visible } from "../core/format";
import { filterWords, type State } from "../core/state";
import { place } from "../core/words";
import { byChoice, byWords } from "../ui/by";
import type { Context, View } from "../ui/context";
import { FlamePlot } from "../ui/flame_plot";
import { framePanel, holdings } from "./flame_panel";

const kBy = ["function", "filefunction", "line", "file", "module"];
const kLargest = 1000; // allocations of a range

type Of = "" | "allocated" | "kept" | "largest";
const kOf: Record<Of, string> = {
  "": "live at the moment", allocated: "allocated in the range", kept: "allocated in it and kept",
  largest: `its ${count(kLargest)} largest allocations`,
};

function ofWhat(context: Context): Of {
  const { from, to, of } = context.state;
  return (from !== "" || to !== "") && context.first.can("events") && of in kOf ? of as Of : "";
}

// Of a frame that stands for several, turned over or in the middle, no category is known.
function colorOf(context: Context, state: State): string {
  return state.color === "bucket" && (!context.first.can("buckets") || state.up === "leaves" || state.up === "around") ? "" : state.color;
}

function wordsOf(context: Context, of: Of, state: State = context.state): string[] {
  const filters = filterWords(state);
  const range = [...(state.from === "" ? [] : ["--from", state.from]), ...(state.to === "" ? [] : ["--to", state.to])];
  return of === "" ? ["flame", ...byWords(context, kBy, "filefunction"), ...(state.up === "flame" ? ["--up"] : []),
    ...(state.up === "around" ? ["--min-share", "0"] : []), ...(colorOf(context, state) === "bucket" ? ["--buckets"] : []), ...context.baseWords, ...context.moment, ...filters, ...context.names]
    : of === "largest" ? ["events", "--largest", String(kLargest), "--stacks", ...range, ...filters, context.first.name]
    : ["events", "--summary", "--by", "stack", "-n", "0", ...range, ...filters, context.first.name];
}

function nodesOf(context: Context, of: Of, answer: Answer): Node[] {
  return of === "" ? readNodes(answer.rows)
    : fromStacks(answer.rows.map((row) => {
      const frames = [...((row["frames"] as Row[] | undefined) ?? [])].reverse();
      return { frames: frames.length > 0 ? frames : [row], bytes: asNumber(row[of === "largest" ? "size" : of === "kept" ? "kept_bytes" : "bytes"]) };
    }), context.state.by === "line");
}

// The function in the middle: the frame that the link names, or all of the name that is looked at.
function inTheMiddle(context: Context, nodes: Node[], keys: string[]): ((node: Node) => boolean) | undefined {
  const { state } = context;
  const one = nodes[findPath(keys, state.node)];
  if (one === undefined) {
    return state.row === "" ? undefined : (node) => node.name === state.row;
  }
  const line = asText(one.row["line"]);
  return (node) => node.name === one.name && (state.by === "function" || node.file === one.file) &&
    (state.by !== "line" || asText(node.row["line"]) === line);
}

interface Part {
  title: string;
  nodes: Node[];
  upwards: boolean;
  from: number;
}

class Flames {
  readonly element: HTMLElement;
  private readonly says = h("p", { class: "says", "aria-live": "polite" });
  private readonly panel = h("div", { class: "slot" });
  private readonly held = h("div", { class: "slot" });
  private plots: FlamePlot[] = [];
  private found: { rows: Uint8Array[] } | undefined;
  private readonly looks = new Map<boolean, Colors>();

  constructor(private readonly context: Context, private readonly parts: Part[], private readonly keys: string[],
    private readonly of: Of, private readonly all: number, private readonly colors: (dark: boolean) => Colors,
    private readonly relist: () => void) {
    const { state } = context;
    const zoomed = this.together ? 0 : Math.max(0, this.rowOf(state.node));
    this.plots = parts.map((part, i) => new FlamePlot({ ...part, name: part.title, zoomed, look: (dark) => this.look(i, dark) }, {
      point: (row) => this.say(part, row),
      move: (row) => (this.say(part, row), this.tell(part, row)),
      choose: (row) => this.choose(i, row),
      open: (row) => context.change({ view: "table", by: "", row: part.nodes[row]!.name }),
      leave: () => this.choose(0, 0),
    }));
    const drawn = parts.flatMap((part, i) => [this.together && h("h3", {}, part.title), this.plots[i]!.element,
      this.plots[i]!.shape.height === 0 && h("p", { class: "note" }, "nothing that holds memory")]);
    this.element = h("div", { class: this.together ? "flamed two" : "flamed" },
      h("div", { class: "chart" }, this.says, ...drawn), h("aside", {}, this.panel, this.held));
    context.picture = () => this.picture();
    this.say(parts[0]!, zoomed);
    this.tell(parts[0]!, zoomed);
  }

  // Around one function: frames lead to another middle.
  private get together(): boolean {
    return this.parts.length > 1;
  }
  private get compared(): boolean {
    return this.of === "" && this.context.bases.length > 0;
  }
  private get inverted(): boolean {
    return this.context.state.up === "leaves";
  }
  private rowOf(node: string): number {
    return findPath(this.keys, node);
  }

  private look(part: number, dark: boolean): Look {
    let colors = this.looks.get(dark);
    if (colors === undefined) {
      colors = this.colors(dark);
      this.looks.set(dark, colors);
    }
    const rows = this.found?.rows[part];
    const lit = rows === undefined ? undefined : (row: number): boolean => rows[row] === 1;
    return { paint: colors.paint, lit, marked: -1, changes: this.compared };
  }

  private say(part: Part, row: number): void {
    const node = part.nodes[row]!;
    clear(this.says, h("b", {}, node.name.slice(0, 500)), `  ${place(node.row)}  `,
      `${size(node.now)} · ${percent(node.now, part.nodes[0]!.now)} of ${this.together ? "this function" : "all"} · ${size(node.self)} itself`,
      this.compared ? ` · ${size(node.change, true)} since the base` : "");
  }
  private tell(part: Part, row: number): void {
    const upper = this.together && part.upwards;
    clear(this.panel, framePanel({ context: this.context, nodes: part.nodes, row, all: this.all, live: this.of === "",
      compared: this.compared, straight: !this.inverted && !upper, choose: (other) => this.choose(this.parts.indexOf(part), other) }));
  }

  private choose(index: number, row: number): void {
    const part = this.parts[index]!;
    const node = part.nodes[row]!;
    if (this.together) {
      if (row > 0) {
        this.context.change({ node: this.keys[node.of] ?? "", row: node.name });
      }
      return;
    }
    const patch = row > 0 ? { node: this.keys[row]!, row: node.name } : { node: "" };
    this.plots[index]!.zoom(row);
    this.say(part, row);
    this.tell(part, row);
    this.context.refine(patch, () => this.hold(row > 0 ? node.name : ""));
  }

  // What other commands say of the frame that is looked at.
  async hold(name: string): Promise<void> {
    this.relist();
    clear(this.held);
    if (this.of === "" && name !== "") {
      await holdings(this.context, name, this.held);
    }
  }
  // After the picture is there.
  begin(): void {
    const row = this.together ? 0 : this.rowOf(this.context.state.node);
    if (this.of === "" && (row > 0 || this.together)) {
      setTimeout(() => this.context.refine({}, () => this.hold(this.parts[0]!.nodes[row]!.name)));
    }
  }

  search(text: string): string {
    this.found = undefined;
    let wanted: RegExp | undefined;
    try {
      wanted = text === "" ? undefined : new RegExp(text, "i");
    } catch {
      return "not a regular expression";
    }
    if (wanted !== undefined) {
      const known = new Map<string, number>();
      const matches = (node: Node): number => {
        const whole = `${node.name} ${node.file}`;
        const seen = known.get(whole) ?? (wanted!.test(whole) ? 1 : 0);
        known.set(whole, seen);
        return seen;
      };
      this.found = { rows: this.parts.map((part) => Uint8Array.from(part.nodes, matches)) };
    }
    this.plots.forEach((plot) => plot.draw());
    if (this.found === undefined || this.together) {
      return "";
    }
    let bytes = 0;
    let until = -1; // end of the last match that is counted
    const { nodes } = this.parts[0]!;
    nodes.forEach((node, i) => {
      if (node.begin >= until && this.found!.rows[0]![i] === 1) {
        bytes += node.bytes;
        until = node.begin + node.bytes;
      }
    });
    return `${size(bytes)} match, ${percent(bytes, nodes[0]!.bytes)}`;
  }

  private picture(): Picture {
    const width = Math.max(800, this.plots[0]!.element.clientWidth);
    const heights = this.plots.map((plot) => plot.shape.height);
    return { width, height: heights.reduce((sum, one) => sum + one, 0), draw: (pen, dark) => {
      let y = 0;
      this.plots.forEach((plot, i) => {
        plot.drawWith(pen, dark, width, 0, heights[i]! - 1, y);
        y += heights[i]!;
      });
    } };
  }
}

function choice(context: Context, key: "up" | "of" | "color", title: string, values: [string, string][],
  patch?: (value: string) => Partial<State>): HTMLElement {
  const select = h("select", { id: key, change: () => context.change(patch?.(select.value) ?? { [key]: select.value }) });
  for (const [value, text] of values) {
    select.append(h("option", { value, selected: value === context.state[key] }, text));
  }
  return h("label", {}, `${title} `, select);
}

// Frames that "your code" keeps, where others are shown, too.
async function keptFrames(context: Context): Promise<(node: Node) => boolean> {
  const { rows } = await context.quietly([...wordsOf(context, "", { ...context.state, frames: "", up: "" }), "--min-share", "0"]);
  const kept = new Set(rows.map((row) => `${asText(row["name"])}\0${asText(row["file"])}`));
  return (node) => !/^\(.*\)$/.test(node.name) && kept.has(`${node.name}\0${node.file}`);
}

async function colorsOf(context: Context, of: Of, nodes: Node[]): Promise<(dark: boolean) => Colors> {
  const compared = of === "" && context.bases.length > 0;
  const color = colorOf(context, context.state);
  if (color === "bucket" && of === "") {
    return (dark) => byBucket(nodes, dark);
  }
  if (color === "own") {
    const kept = await keptFrames(context);
    return (dark) => byOwn(kept, dark);
  }
  return color === "self" ? (dark) => bySelf(nodes, dark)
    : compared && color !== "file" ? (dark) => byChange(dark) : (dark) => byFile(nodes, dark);
}

function keyOf(colors: Colors): HTMLElement {
  return h("p", { class: "key" }, ...colors.key.map(({ color, text, whole, grows }) => {
    const swatch = h("i", { class: grows ?? "" });
    swatch.style.background = color;
    return h("span", { title: visible(whole ?? text) }, swatch, text);
  }));
}

function emptiness(context: Context, answer: Answer): string {
  const { state } = context;
  return state.hide !== "" || state.show !== "" || state["show-from"] !== ""
    ? "nothing is left of the stacks: a filter of frames above can be removed" : `nothing is held${asText(answer.total) === "0" ? "" : " that has a stack"}`;
}

function partsOf(context: Context, nodes: Node[], keys: string[]): Part[] | undefined {
  const { up } = context.state;
  if (up !== "around") {
    const turned = up === "leaves" ? fromLeaves(nodes) : nodes;
    return [{ title: "flame graph", nodes: turned, upwards: up === "flame", from: 0 }];
  }
  const is = inTheMiddle(context, nodes, keys);
  const both = is && around(nodes, is);
  return both && [{ title: "its callers", nodes: both.callers, upwards: true, from: 0 },
    { title: "what it calls", nodes: both.callees, upwards: false, from: 1 }];
}

export const flame: View = {
  id: "flame",
  title: "Flame graph",
  shows: (context) => context.first.can("flame") && context.first.nests,
  async draw(context, into) {
    const { state } = context;
    const of = ofWhat(context);
    const words = wordsOf(context, of);
    const answer = await context.json(words);
    const found = h("span", { class: "note" });
    const search = h("input", { type: "search", id: "search", value: state.search, placeholder: "search (regular expression)", size: 22 });
    const compared = of === "" && context.bases.length > 0;
    const ranged = (state.from !== "" || state.to !== "") && context.first.can("events");
    const tools = h("div", { class: "tools" },
      ranged && choice(context, "of", "of", Object.entries(kOf) as [string, string][]),
      (of === "" || of === "largest") && byChoice(context, "frames are", of === "" ? kBy : ["filefunction", "line"], "filefunction"),
      choice(context, "up", "shape", [["", "icicle"], ["flame", "flame"], ["leaves", "inverted"], ["around", "callers and callees"]]),
      choice(context, "color", "colours", [["", compared ? "what changed" : "files"], ...(compared ? [["file", "files"] as [string, string]] : []),
        ["self", "held by itself"], ["own", "your code"], ...(of === "" && colorOf(context, { ...state, color: "bucket" }) !== "" ? [["bucket", "categories"] as [string, string]] : [])],
      (color) => ({ color, ...(color === "own" && state.frames === "" ? { frames: "all" } : {}) })),
      search, found);
    const straight = nodesOf(context, of, answer);
    clear(into, tools);
    if (straight.length === 0 || straight[0]!.bytes === 0) {
      into.append(h("p", { class: "note" }, emptiness(context, answer)));
      return;
    }
    const straightKeys = pathKeys(straight);
    const parts = partsOf(context, straight, straightKeys);
    if (parts === undefined) {
      into.append(h("p", { class: "note" }, state.row === "" ? "choose a function: a click on a frame of another shape, or a row of the table"
        : `no frame here is ${state.row.slice(0, 500)}`));
      return;
    }
    const colors = await colorsOf(context, of, straight);
    const keys = state.up === "leaves" ? pathKeys(parts[0]!.nodes) : straightKeys;
    const drawn = new Flames(context, parts, keys, of, straight[0]!.now, colors, () => context.list(words));
    append(into, [keyOf(colors(isDark())), of !== "" && context.alone(), drawn.element,
      h("p", { class: "note" }, ...notes(context, of, answer, straight, parts))]);
    const seek = (): void => clear(found, drawn.search(search.value));
    search.addEventListener("input", seek);
    search.addEventListener("change", () => context.refine({ search: search.value }, async () => context.list(words)));
    if (state.search !== "") {
      seek();
    }
    drawn.begin();
  },
};

function notes(context: Context, of: Of, answer: Answer, nodes: Node[], parts: Part[]): string[] {
  const { state } = context;
  const left = asNumber(answer["frames_left_out"]);
  const said: string[] = [];
  if (of === "" && left > 0) {
    said.push(`${count(left)} frames are too small and stand as (smaller)`);
  }
  if (of === "allocated" || of === "kept") {
    said.push("stacks of the same names are one, with the lines of the first");
  }
  if (of === "largest") {
    said.push(`${count(answer.rows.length)} allocations that live in the range, the largest`);
  }
  if (parts.length > 1 && (state.by === "" || state.by === "filefunction" || state.by === "function")) {
    const { name, file } = parts[0]!.nodes[0]!;
    const lines = new Set(nodes.filter((node) => node.name === name && node.file === file).map((node) => asText(node.row["line"])));
    if (lines.size > 1) {
      said.push(`frames of this name are at ${lines.size} lines here, together: “frames are: line” tells them apart`);
    }
  }
  return said.length === 0 ? [] : [`${said.join(" · ")}.`];
}
