// Table: rows of top or, with a base, of diff; the callers and callees of the one that is picked.
import { asNumber, asText, type Row } from "../core/answers";
import { clear, h } from "../core/dom";
import { count, size } from "../core/format";
import { place, sentence } from "../core/words";
import { byChoice, byWords } from "../ui/by";
import type { Context, View } from "../ui/context";
import { grid, kPlace, kWhere, type Column } from "../ui/grid";

const kBy = ["filefunction", "function", "line", "file", "module", "stack", "size", "bucket", "tag", "label", "input"];

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
              kWhere,
              kPlace,
            ],
            rows,
            onPick: (row) => context.change({ pick: asText(row["name"]) }),
          }));
  return h("aside", { class: "neighbours" },
    h("h2", {}, name), part("called by", of("caller")), part("calls", of("callee")),
    h("p", {}, h("button", { type: "button", click: () => context.change({ view: "graph" }) }, "call graph"), " ",
      h("button", { type: "button", click: () => context.change({ focus: exactly(name) }) }, "only with this"), " ",
      h("button", { type: "button", click: () => context.change({ pick: "" }) }, "close")));
}

function tableColumns(answer: { total?: unknown; rows: Row[] }, compared: boolean): Column[] {
  const total = asNumber(answer.total);
  const names: Column[] = [
    kWhere,
    kPlace,
    ...(answer.rows.some((row) => asText(row["via"]) !== "") ? [{ key: "via", title: "Via", kind: "text" } as Column] : []),
  ];
  const most = (key: string): number => Math.max(1, ...answer.rows.slice(0, 1000).map((row) => Math.abs(asNumber(row[key]))));
  return compared
    ? [
        { key: "delta", title: "Change", kind: "change" },
        { key: "base", title: "Base", kind: "size" },
        { key: "new", title: "New", kind: "size" },
        { key: "delta", title: "", kind: "bar", of: most("delta") },
        ...names,
      ]
    : [
        { key: "flat", title: "Flat", kind: "size" },
        { key: "flat", title: "Flat%", kind: "percent", of: total },
        { key: "cum", title: "Cum", kind: "size" },
        { key: "cum", title: "Cum%", kind: "percent", of: total },
        { key: "flat", title: "", kind: "bar", of: most("flat") },
        ...names,
      ];
}

export const table: View = {
  id: "table",
  title: "Table",
  shows: (context) => context.first.can("top"),
  async draw(context, into) {
    const { state } = context;
    const by = byWords(context, kBy, "filefunction");
    const compared = context.bases.length > 0;
    const answer = compared
      ? await context.json(["diff", "-n", "0", ...by, ...context.baseWords, ...context.momentAndFilters, ...context.names])
      : await context.json(["top", "-n", "0", ...by, ...context.momentAndFilters, ...context.names]);
    const columns = tableColumns(answer, compared);
    const shown = h("div", { class: "slot" });
    const found = h("span", { class: "note" });
    const find = h("input", { type: "search", id: "search", value: state.search, placeholder: "rows with…", size: 22 });
    const fill = (): void => {
      let wanted: RegExp | undefined;
      try {
        wanted = find.value === "" ? undefined : new RegExp(find.value, "i");
      } catch {
        clear(found, "not a regular expression");
        return;
      }
      const rows = wanted === undefined ? answer.rows
        : answer.rows.filter((row) => wanted.test(`${asText(row["name"])} ${place(row)}`));
      const sum = rows.reduce((all, row) => all + asNumber(row[compared ? "delta" : "flat"]), 0);
      clear(found, wanted === undefined ? "" : `${count(rows.length)} rows, ${size(sum, compared)}`);
      filled = false;
      clear(shown, grid({
        columns, rows,
        sort: { by: context.state.sort, set: keep },
        picked: (row) => state.pick !== "" && row["name"] === state.pick,
        onPick: (row) => context.change({ pick: asText(row["name"]) }),
      }));
      filled = true;
    };
    let filled = false;
    const keep = (key: string): void => {
      if (filled && key !== context.state.sort) {
        context.refine({ sort: key }, async () => relist());
      }
    };
    const listed = [...context.lines];
    const relist = (): void => listed.forEach((words) => context.list(words));
    find.addEventListener("input", fill);
    find.addEventListener("change", () => context.refine({ search: find.value }, async () => relist()));
    const side = h("div", { class: "slot" });
    clear(into,
      h("div", { class: "tools" }, byChoice(context, "rows are", kBy, "filefunction"), find, found,
        h("span", { class: "total", "data-total": asText(answer.total) },
          `${size(answer.total ?? 0)} in ${count(answer.rows.length)} rows`)),
      h("div", { class: "beside" }, shown, side));
    fill();
    if (state.pick !== "") {
      try {
        clear(side, await neighbours(context, state.pick));
      } catch (error) {
        clear(side, h("p", { class: "note" }, sentence(error)));
      }
      listed.splice(0, listed.length, ...context.lines);
    }
  },
};
