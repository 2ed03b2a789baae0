// Call graph: who calls the function that is looked at, and what it calls; a click moves on.
import { asNumber, asText, type Row } from "../answers";
import type { View } from "../context";
import { clear, h } from "../dom";
import { percent, size } from "../format";
import { place } from "./overview";
import { exactly } from "./table";

export const graph: View = {
  id: "graph",
  title: "Call graph",
  shows: (context) => context.first.hasRows,
  async draw(context, into) {
    let name = context.state.pick;
    if (name === "" || name.startsWith("0x")) {
      const top = await context.quietly(["top", "--cum", "-n", "1", ...context.momentAndFilters, ...context.names]);
      name = asText(top.rows[0]?.["name"]);
    }
    const answer = await context.json(["peek", exactly(name), ...context.momentAndFilters, ...context.names]);
    const total = asNumber(answer.total);
    const self = answer.rows.filter((row) => row["relation"] === "self");
    const box = (row: Row, bytes: number): HTMLElement => {
      const element = h("button", { type: "button", class: "node",
        click: () => context.change({ pick: asText(row["name"]) }) },
        h("b", {}, asText(row["name"])), h("span", {}, place(row)),
        h("span", { class: "size" }, `${size(bytes)} · ${percent(bytes, total)}`));
      element.style.setProperty("--share", String(Math.min(1, Math.abs(bytes) / Math.max(1, total))));
      return element;
    };
    const column = (title: string, nodes: HTMLElement[]): HTMLElement =>
      h("div", { class: "column" }, h("h3", {}, title), ...(nodes.length > 0 ? nodes : [h("p", { class: "note" }, "none")]));
    const neighbours = (relation: string): HTMLElement[] =>
      answer.rows.filter((row) => row["relation"] === relation).map((row) => box(row, asNumber(row["weight"])));
    clear(into, h("div", { class: "calls" },
      column("called by", neighbours("caller")),
      column("", self.map((row) => box(row, asNumber(row["cum"])))),
      column("calls", neighbours("callee"))));
  },
};
