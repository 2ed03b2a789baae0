// Table: rows of top or, with a base, of diff; the callers and callees of the one that is picked.
import { asNumber, asText, type Row } from "../core/answers";
import { clear, h } from "../core/dom";
import { counted, size } from "../core/format";
import { sentence, shortName } from "../core/words";
import { byChoice, byWords, chosenBy } from "../ui/by";
import type { Context, View } from "../ui/context";
import { grid, kPlace, kWhere, type Column } from "../ui/grid";

const kBy = ["filefunction", "function", "line", "file", "module", "stack", "size", "bucket", "tag", "label", "input"];

// A name as a regular expression that matches it alone.
export function exactly(name: string): string {
  return `^${name.replace(/[\\^$.*+?()[\]{}|]/g, "\\$&")}$`;
}

// Rows that stand for functions have callers; files and modules can be kept alone.
const kFunctions = ["filefunction", "function", "line"];
const kNamed = [...kFunctions, "file", "module"];

async function neighbours(context: Context, name: string): Promise<HTMLElement> {
  const by = chosenBy(context, kBy, context.first.defaultBy);
  const only = kNamed.includes(by) && h("button", { type: "button", click: () => context.change({ focus: exactly(name) }) }, "only with this");
  const close = h("button", { type: "button", click: () => context.change({ row: "" }) }, "close");
  if (!kFunctions.includes(by)) {
    return h("aside", { class: "neighbours" }, h("h2", {}, name), h("p", {}, only, " ", close));
  }
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
            onPick: (row) => context.change({ row: asText(row["name"]) }),
          }));
  return h("aside", { class: "neighbours" },
    h("h2", {}, name), part("called by", of("caller")), part("calls", of("callee")),
    h("p", {}, h("button", { type: "button", click: () => context.change({ view: "graph" }) }, "call graph"), " ",
      only, " ", close));
}

const kSaves = "how much the whole run's peak would fall without the row"; // as the program says

// The whole run's peak, of all devices together.
function peakOf(context: Context): number {
  const { device } = context.state;
  return context.inputs.flatMap((input) => input.devices)
    .filter((one) => device === "" || one.name === device || String(one.device) === device).reduce((sum, one) => sum + one.peakBytes, 0);
}

function tableColumns(context: Context, answer: { total?: unknown; rows: Row[] }, compared: boolean, by: string): Column[] {
  const total = asNumber(answer.total);
  const names: Column[] = [
    ...(by === "line" ? [kPlace, kWhere] : [kWhere, kPlace]),
    ...(answer.rows.some((row) => asText(row["via"]) !== "") ? [{ key: "via", title: "Via", kind: "text", text: (row) => shortName(asText(row["via"])), whole: (row) => asText(row["via"]) } as Column] : []),
  ];
  const most = (key: string): number => Math.max(1, ...answer.rows.slice(0, 1000).map((row) => Math.abs(asNumber(row[key]))));
  const peak = peakOf(context);
  const without = (row: Row): number | undefined => (typeof row["peak_without"] === "number" ? peak - row["peak_without"] : undefined);
  return compared
    ? [
        { key: "delta", title: "Change", kind: "change" },
        { key: "base", title: "Base", kind: "size" },
        { key: "new", title: "New", kind: "size" },
        { key: "delta", title: "", kind: "bar", of: most("delta") },
        ...names,
      ]
    : [
        { key: "flat", title: "Flat", kind: "size", about: "what the row itself holds" },
        { key: "flat", title: "Flat%", kind: "percent", of: total },
        { key: "cum", title: "Cum", kind: "size", about: "what the row and everything that it calls hold" },
        { key: "cum", title: "Cum%", kind: "percent", of: total },
        ...(answer.rows.some((row) => without(row) !== undefined)
          ? [{ key: "saves", title: "Saves", kind: "size", about: kSaves, value: without } as Column] : []),
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
    const by = byWords(context, kBy, context.first.defaultBy);
    const compared = context.bases.length > 0;
    const answer = compared
      ? await context.json(["diff", "-n", "0", ...by, ...context.baseWords, ...context.momentAndFilters, ...context.names])
      : await context.json(["top", "-n", "0", ...by, ...context.momentAndFilters, ...context.names]);
    const listed = [...context.lines];
    const keep = (patch: { sort?: string; search?: string }): void =>
      context.refine(patch, async () => listed.forEach((words) => context.list(words)));
    const side = h("div", { class: "slot" });
    clear(into,
      h("div", { class: "tools" }, byChoice(context, "rows are", kBy, context.first.defaultBy),
        h("span", { class: "total", "data-total": asText(answer.total) },
          `${size(answer.total ?? 0)} in ${counted(answer.rows.length, "row")}`)),
      h("div", { class: "beside" }, h("div", { class: "slot" }, grid({
        columns: tableColumns(context, answer, compared, chosenBy(context, kBy, context.first.defaultBy)),
        rows: answer.rows,
        sort: { by: state.sort, set: (by) => keep({ sort: by }) },
        find: { id: "search", text: state.search, keep: (text) => keep({ search: text }),
          sum: (rows) => size(rows.reduce((all, row) => all + asNumber(row[compared ? "delta" : "flat"]), 0), compared) },
        picked: (row) => state.row !== "" && row["name"] === state.row,
        onPick: (row) => context.change({ row: asText(row["name"]) }),
      })), side));
    if (state.row !== "") {
      try {
        clear(side, await neighbours(context, state.row));
      } catch (error) {
        clear(side, h("p", { class: "note" }, sentence(error)));
      }
      listed.splice(0, listed.length, ...context.lines);
    }
  },
};
