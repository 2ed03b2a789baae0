// Table: rows of top or, with a base, of diff; the callers and callees of the one that is picked.
import { asNumber, asText, type Row } from "../answers";
import type { Context, View } from "../context";
import { clear, h } from "../dom";
import { grid, type Column } from "../grid";
import { size } from "../format";
import { place } from "./overview";

const kBy = ["filefunction", "function", "line", "file", "module"];

function byChoice(context: Context): HTMLElement {
  const chosen = context.state.by === "" ? "filefunction" : context.state.by;
  const select = h("select", {
    id: "by",
    change: () => context.change({ by: select.value === "filefunction" ? "" : select.value }),
  });
  for (const by of kBy) {
    select.append(h("option", { value: by, selected: by === chosen }, by));
  }
  return h("label", {}, "rows ", select);
}

// A name as a regular expression that matches it alone.
export function exactly(name: string): string {
  return `^${name.replace(/[\\^$.*+?()[\]{}|]/g, "\\$&")}$`;
}

async function neighbours(context: Context, name: string): Promise<HTMLElement> {
  const answer = await context.json([
    "peek", exactly(name), ...context.momentAndFilters, ...context.names,
  ]);
  const of = (relation: string): Row[] => answer.rows.filter((row) => row["relation"] === relation);
  const part = (title: string, rows: Row[]): HTMLElement =>
    h("section", {}, h("h3", {}, title),
      rows.length === 0
        ? h("p", { class: "note" }, "none")
        : grid({
            columns: [
              { key: "weight", title: "Bytes", kind: "size" },
              { key: "name", title: "Where", kind: "text" },
              { key: "file", title: "Place", kind: "text", text: place },
            ],
            rows,
            onPick: (row) => context.change({ pick: asText(row["name"]) }),
          }));
  return h("aside", { class: "neighbours" },
    h("h2", {}, name), part("called by", of("caller")), part("calls", of("callee")));
}

export const table: View = {
  id: "table",
  title: "Table",
  shows: (context) => context.first.hasRows,
  async draw(context, into) {
    const { state } = context;
    const by = state.by === "" ? [] : ["--by", state.by];
    const compared = context.bases.length > 0;
    const answer = compared
      ? await context.json(["diff", "-n", "0", ...by, ...context.momentAndFilters, context.bases[0]!, ...context.names])
      : await context.json(["top", "-n", "0", ...by, ...context.momentAndFilters, ...context.names]);
    const total = asNumber(answer.total);
    const names: Column[] = [
      { key: "name", title: "Where", kind: "text" },
      { key: "file", title: "Place", kind: "text", text: place },
    ];
    const columns: Column[] = compared
      ? [
          { key: "delta", title: "Change", kind: "change" },
          { key: "base", title: "Base", kind: "size" },
          { key: "new", title: "New", kind: "size" },
          ...names,
        ]
      : [
          { key: "flat", title: "Flat", kind: "size" },
          { key: "flat", title: "Flat%", kind: "percent", of: total },
          { key: "cum", title: "Cum", kind: "size" },
          { key: "cum", title: "Cum%", kind: "percent", of: total },
          ...names,
        ];
    const rows = grid({
      columns,
      rows: answer.rows,
      picked: (row) => state.pick !== "" && row["name"] === state.pick,
      onPick: (row) => context.change({ pick: asText(row["name"]) }),
    });
    const side = h("div", { class: "slot" });
    clear(into,
      h("div", { class: "tools" }, byChoice(context),
        h("span", { class: "total", "data-total": asText(answer.total) }, `${size(answer.total ?? 0)} in ${answer.rows.length} rows`)),
      h("div", { class: "beside" }, rows, side));
    if (state.pick !== "") {
      try {
        clear(side, await neighbours(context, state.pick));
      } catch (error) {
        clear(side, h("p", { class: "note" }, error instanceof Error ? error.message : String(error)));
      }
    }
  },
};
