// What is to be said of one frame of a flame graph, and what can be done with it.
import { asNumber, asText, type Answer } from "../core/answers";
import type { Node } from "../charts/tree";
import { CoreError } from "../core/core";
import { clear, h } from "../core/dom";
import { count, percent, size, visible } from "../core/format";
import { filterWords } from "../core/state";
import { place, shortName } from "../core/words";
import { withFilter } from "../ui/chips";
import { Outdated, type Context } from "../ui/context";
import { exactly } from "./table";

const kMostLetters = 4000; // of a name
const kListed = 6; // callers, callees

export interface Shown {
  context: Context;
  nodes: Node[];
  row: number;
  all: number; // bytes, that percents are of
  live: boolean; // at the moment: what the other commands answer, too
  compared: boolean;
  straight: boolean; // parents are callers
  choose: (row: number) => void;
}

function actions({ context, nodes, row, live }: Shown): HTMLElement | false {
  const { name } = nodes[row]!;
  const act = (text: string, title: string, patch: Parameters<Context["change"]>[0]): HTMLElement =>
    h("button", { type: "button", title, click: () => context.change(patch) }, text);
  return !/^\(.*\)$/.test(name) && h("p", { class: "acts" },
    act("its row", "this function in the table (t, or a double click)", { view: "table", by: "", row: name }),
    context.first.can("peek") && act("call graph", "who calls it and what it calls", { view: "graph", row: name }),
    live && context.state.up !== "around" && act("callers and callees", "flame graphs of both, around this function", { up: "around", row: name }),
    act("only with this", "--focus: only what has this function in its stack", { focus: exactly(name) }),
    act("hide this frame", "--hide: take it out of stacks", withFilter(context.state, "hide", exactly(name))),
    act("start here", "--show-from: without its callers", { "show-from": exactly(name), node: "" }),
    act("end here", "--prune-from: without what it calls", { "prune-from": exactly(name) }));
}

function family(shown: Shown): (HTMLElement | false)[] {
  const { nodes, row, straight } = shown;
  const link = (i: number): HTMLElement => h("li", {},
    h("button", { type: "button", class: "link", title: visible(`${nodes[i]!.name}  ${place(nodes[i]!.row)}`.slice(0, 2000)),
      click: () => shown.choose(i) }, shortName(nodes[i]!.name).slice(0, 200)), h("span", { class: "note" }, ` ${size(nodes[i]!.now)}`));
  const above: number[] = [];
  for (let i = nodes[row]!.parent; i > 0 && above.length < kListed; i = nodes[i]!.parent) {
    above.push(i);
  }
  const below: number[] = []; // the largest first
  for (let i = row + 1; i < nodes.length && nodes[i]!.depth > nodes[row]!.depth; ++i) {
    if (nodes[i]!.parent === row) {
      below.push(i);
    }
  }
  below.sort((a, b) => nodes[b]!.now - nodes[a]!.now || a - b).splice(kListed);
  const part = (title: string, rows: number[]): (HTMLElement | false)[] =>
    rows.length === 0 ? [] : [h("h3", {}, title), h("ul", { class: "family" }, ...rows.map(link))];
  return straight ? [...part("called by", above), ...part("calls", below)] : [...part("calls", above), ...part("called by", below)];
}

const signOf = (change: number): string => (change > 0 ? "▲ " : change < 0 ? "▼ " : "");

export function framePanel(shown: Shown): HTMLElement {
  const { nodes, row, all } = shown;
  const node = nodes[row]!;
  const name = node.name.length <= kMostLetters ? node.name
    : `${node.name.slice(0, kMostLetters)}… (${count(node.name.length)} letters)`;
  const fact = (title: string, bytes: number): HTMLElement[] =>
    [h("dt", {}, title), h("dd", {}, h("b", {}, size(bytes)), ` · ${percent(bytes, all)}`)];
  return h("div", {},
    h("h2", { class: "long" }, name),
    place(node.row) !== "" && h("p", { class: "note long" }, place(node.row)),
    h("dl", { class: "facts" }, ...fact("total", node.now), ...fact("itself", node.self),
      ...(shown.compared ? [h("dt", {}, "change"), h("dd", {}, `${signOf(node.change)}${size(node.change, true)}`)] : [])),
    actions(shown), ...family(shown));
}

async function optional(context: Context, words: string[]): Promise<Answer | undefined> {
  try {
    return await context.json(words);
  } catch (error) {
    if (error instanceof CoreError) {
      return undefined; // of inputs without counts, or without categories
    }
    throw error;
  }
}

// How many allocations, and of which categories, of all that has a function of the name in its stack.
export async function holdings(context: Context, name: string, into: HTMLElement): Promise<void> {
  const { state, turn } = context;
  if (state.focus !== "" || /^\(.*\)$/.test(name)) {
    return;
  }
  const words = [...context.moment, ...filterWords({ ...state, focus: exactly(name) }), ...context.names];
  const counted = await optional(context, ["top", "-n", "1", "--sample-index", "allocations", ...words]);
  if (context.turn !== turn) {
    throw new Outdated(); // another frame is looked at by now
  }
  const kinds = context.first.can("buckets") ? await optional(context, ["buckets", ...words]) : undefined;
  if (context.turn !== turn) {
    throw new Outdated();
  }
  const rows = (kinds?.rows ?? []).filter((row) => asNumber(row["bytes"]) > 0).slice(0, kListed);
  clear(into,
    counted !== undefined && h("p", { class: "note" }, `${count(asNumber(counted.total))} allocations with a function of this name, wherever it is`),
    rows.length > 0 && h("h3", {}, "categories of these"),
    rows.length > 0 && h("dl", { class: "facts" }, ...rows.flatMap((row) =>
      [h("dt", {}, asText(row["bucket"])),
        h("dd", {}, `${size(asNumber(row["bytes"]))} · ${percent(asNumber(row["bytes"]), asNumber(kinds!.total))}`)])));
}
