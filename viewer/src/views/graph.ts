// Call graph: all of it, or one function with who calls it and what it calls; a click moves on. Lines are as thick as
// what passes through them.
import { isDark, theme } from "../charts/palette";
import { paint, type Pen } from "../charts/pen";
import { asNumber, asText, type Answer, type Row } from "../core/answers";
import { CoreError } from "../core/core";
import { clear, h } from "../core/dom";
import { count, percent, size, visible } from "../core/format";
import { sentence, shortName, shortPlace } from "../core/words";
import type { View } from "../ui/context";
import { exactly } from "./table";
import { wholeGraph } from "./whole_graph";

const kMaxNeighbours = 12; // callers, callees: those with the most bytes

interface Box {
  element: HTMLElement;
  row: Row;
  bytes: number;
  side: "caller" | "self" | "callee";
  group: number; // of several functions of the name, each has its callers and callees
}

// Rows come as callers, the function, callees, and so on for the next of the name.
function groupRows(rows: Row[]): Map<Row, number> {
  const groups = new Map<Row, number>();
  let group = 0;
  let named = false;
  for (const row of rows) {
    if (named && row["relation"] !== "callee") {
      group += 1;
      named = false;
    }
    named ||= row["relation"] === "self";
    groups.set(row, group);
  }
  return groups;
}

function drawBoxes(pen: Pen, dark: boolean, boxes: Box[], within: DOMRect, total: number, words: boolean): void {
  const colors = theme(dark);
  const places = boxes.map(({ element }) => element.getBoundingClientRect());
  const thick = (box: Box): number => Math.max(1, 34 * Math.min(1, Math.abs(box.bytes) / Math.max(1, total)));
  for (const [middle, self] of boxes.filter((box) => box.side === "self").map((box) => [places[boxes.indexOf(box)]!, box] as const)) {
    for (const side of ["caller", "callee"] as const) {
      // Beside each other where they meet.
      const ends = boxes.filter((box) => box.side === side && box.group === self.group);
      let y = middle.top + middle.height / 2 - within.top - ends.reduce((sum, box) => sum + thick(box), 0) / 2;
      for (const box of ends) {
        const at = places[boxes.indexOf(box)]!;
        const inner = y + thick(box) / 2;
        const outer = at.top + at.height / 2 - within.top;
        y += thick(box);
        pen.faint(0.45);
        pen.curve(side === "caller"
          ? [at.right - within.left, outer, middle.left - within.left, inner]
          : [middle.right - within.left, inner, at.left - within.left, outer], colors.live, thick(box));
        pen.faint(1);
      }
    }
  }
  if (!words) {
    return;
  }
  boxes.forEach((box, i) => {
    const at = places[i]!;
    const [x, y] = [at.left - within.left, at.top - within.top];
    pen.rect(x, y, at.width, at.height, colors.shade, colors.line);
    pen.rect(x, y, 3 + 14 * Math.min(1, Math.abs(box.bytes) / Math.max(1, total)), at.height, colors.live);
    const room = at.width - 30;
    pen.text(x + 24, y + 13, shortName(asText(box.row["name"])), { color: colors.ink, bold: true, room });
    pen.text(x + 24, y + 29, shortPlace(box.row), { color: colors.soft, room });
    pen.text(x + 24, y + 45, `${size(box.bytes)} · ${percent(box.bytes, total)}`, { color: colors.soft, room });
  });
}

export const graph: View = {
  id: "graph",
  title: "Call graph",
  shows: (context) => context.first.can("peek") && context.first.nests,
  async draw(context, into) {
    const name = context.state.row;
    if (name === "") {
      await wholeGraph(context, into);
      return;
    }
    let answer: Answer;
    try {
      answer = await context.json(["peek", exactly(name), ...context.momentAndFilters, ...context.names]);
    } catch (error) {
      if (!(error instanceof CoreError)) {
        throw error;
      }
      context.lines.length = 0; // what is looked at is no function, or is filtered out
      await wholeGraph(context, into);
      into.prepend(h("p", { class: "note" }, sentence(error)));
      return;
    }
    const total = asNumber(answer.total);
    const boxes: Box[] = [];
    const groups = groupRows(answer.rows);
    const box = (row: Row, bytes: number, side: Box["side"]): HTMLElement => {
      const element = h("button", { type: "button", class: "node",
        title: visible(asText(row["name"]).slice(0, 2000)),
        click: () => context.change(side === "self" ? { view: "table", row: asText(row["name"]) } : { row: asText(row["name"]) }) },
        h("b", {}, shortName(asText(row["name"]))), h("span", {}, shortPlace(row)),
        h("span", { class: "size" }, `${size(bytes)} · ${percent(bytes, total)}`,
          side === "self" && ` · ${size(asNumber(row["flat"]))} itself`));
      element.style.setProperty("--share", String(Math.min(1, Math.abs(bytes) / Math.max(1, total))));
      boxes.push({ element, row, bytes, side, group: groups.get(row) ?? 0 });
      return element;
    };
    const column = (title: string, nodes: HTMLElement[]): HTMLElement =>
      h("div", { class: "column" }, h("h2", {}, title), ...(nodes.length > 0 ? nodes : [h("p", { class: "note" }, "none")]));
    const of = (relation: string): Row[] => answer.rows.filter((row) => row["relation"] === relation);
    const neighbours = (relation: "caller" | "callee"): HTMLElement[] => {
      const rows = of(relation);
      const rest = rows.length - kMaxNeighbours;
      return [...rows.slice(0, kMaxNeighbours).map((row) => box(row, asNumber(row["weight"]), relation)),
        ...(rest > 0 ? [h("button", { type: "button", title: "all of them, in the table",
          click: () => context.change({ view: "table", row: name }) }, `${count(rest)} more`)] : [])];
    };
    const canvas = h("canvas", { class: "edges", "aria-hidden": "true" });
    const calls = h("div", { class: "calls" }, canvas,
      column("called by", neighbours("caller")),
      column("", of("self").map((row) => box(row, asNumber(row["cum"]), "self"))),
      column("calls", neighbours("callee")));
    clear(into, h("div", { class: "tools" }, h("button", { type: "button", id: "whole-graph", click: () => context.change({ row: "" }) }, "the whole graph"),
      h("span", { class: "note" },
      "a click or Enter looks at a caller or callee; lines are as thick as the bytes that pass")), calls);
    const draw = (): void => {
      const within = calls.getBoundingClientRect();
      if (within.width > 0) {
        paint(canvas, { width: within.width, height: within.height,
          draw: (pen, dark) => drawBoxes(pen, dark, boxes, within, total, false) }, isDark());
      }
    };
    context.picture = () => {
      const within = calls.getBoundingClientRect();
      return { width: within.width, height: within.height, draw: (pen, dark) => drawBoxes(pen, dark, boxes, within, total, true) };
    };
    new ResizeObserver(draw).observe(calls);
  },
};
