// Ranks: a job's processes side by side: how much each holds, which differ, who ran out of memory first.
import { asNumber, asText, type Answer, type Row } from "../core/answers";
import { clear, h } from "../core/dom";
import { count, size } from "../core/format";
import type { Context, View } from "../ui/context";
import { grid, type Column } from "../ui/grid";
import { said } from "../ui/said";

const kCells = 4096; // drawn at once

// 0-7, 9
export function runs(numbers: number[]): string {
  const parts: [number, number][] = [];
  for (const number of numbers) {
    const last = parts.at(-1);
    if (last !== undefined && last[1] + 1 === number) {
      last[1] = number;
    } else {
      parts.push([number, number]);
    }
  }
  return parts.map(([from, to]) => (from === to ? String(from) : `${from}-${to}`)).join(", ");
}

// What is to be said of a rank beside its size.
function remark(row: Row, first: number | undefined): string {
  const parts = [];
  if (row["oom"] !== null && row["oom"] !== undefined) {
    parts.push(asNumber(row["rank"]) === first ? "out of memory first" : "out of memory");
  }
  if (asNumber(row["outlier"]) !== 0) {
    parts.push(`${size(Math.abs(asNumber(row["outlier"])))} ${asNumber(row["outlier"]) > 0 ? "above" : "below"} its class`);
  }
  if (asText(row["problem"]) !== "") {
    parts.push("cannot be read");
  }
  return parts.join(", ");
}

function open(context: Context, row: Row): (() => void) | undefined {
  const input = context.job.find((one) => one.name === asText(row["path"]));
  return input === undefined || input.only !== undefined ? undefined : () => context.change({ view: "overview", input: input.name });
}

function map(context: Context, answer: Answer): HTMLElement {
  const rows = new Map(answer.rows.filter((row) => row["rank"] !== null).map((row) => [asNumber(row["rank"]), row]));
  const missing = new Set(((answer["missing"] as unknown[] | undefined) ?? []).map(asNumber));
  const first = answer["first_oom"] === null ? undefined : asNumber((answer["first_oom"] as Row)["rank"]);
  const most = Math.max(1, ...answer.rows.map((row) => asNumber(row["peak"])));
  const cells = [...new Set([...rows.keys(), ...missing])].sort((a, b) => a - b).slice(0, kCells).map((rank) => {
    const row = rows.get(rank);
    const told = row === undefined ? "no file" : remark(row, first);
    const press = row === undefined ? undefined : open(context, row);
    const holds = row === undefined || asText(row["problem"]) !== "" ? "" : size(asNumber(row["peak"]));
    const cell = h(press === undefined ? "span" : "button", {
      ...(press === undefined ? {} : { type: "button", click: press, "aria-pressed": String(asText(row!["path"]) === context.state.input) }),
      class: `rank${told === "" ? "" : " told"}${row?.["oom"] ? " oom" : ""}${holds === "" ? " none" : ""}`,
      title: row === undefined ? "no file" : asText(row["problem"]) || asText(row["path"]),
    }, h("b", {}, `rank ${rank}`), " ", h("span", {}, holds), " ", told !== "" && h("em", {}, told));
    cell.style.setProperty("--share", row === undefined ? "0" : String(asNumber(row["peak"]) / most));
    return cell;
  });
  const block = asNumber((answer["structure"] as Row | undefined)?.["block"]);
  const element = h("div", { class: "ranks-map", role: "group", "aria-label": "ranks, by what each holds at its peak" }, ...cells);
  element.style.setProperty("--columns", String(block >= 2 && block <= 16 ? block : 8));
  return element;
}

function classes(answer: Answer): HTMLElement {
  const rows = (answer["classes"] as Row[] | undefined) ?? [];
  const differs = (row: Row): string =>
    ((row["differs"] as Row[] | undefined) ?? []).map((one) => `${size(asNumber(one["bytes"]), true)} ${asText(one["name"])} ${asText(one["file"]).split("/").at(-1)!}`).join(", ");
  return h("section", { class: "below" }, h("h2", {}, "Classes of ranks that hold the same"), grid({
    name: "classes",
    columns: [
      { key: "class", title: "Class", kind: "count" },
      { key: "ranks", title: "Ranks", kind: "text", text: (row) => runs((row["ranks"] as unknown[]).map(asNumber)) },
      { key: "peak", title: "Median peak", kind: "size" },
      { key: "least", title: "Least", kind: "size" },
      { key: "most", title: "Most", kind: "size" },
      { key: "count", title: "Count", kind: "count", value: (row) => (row["ranks"] as unknown[]).length },
      { key: "looks_like", title: "Looks like", kind: "text" },
      { key: "differs", title: "Differs by", kind: "text", text: differs },
    ],
    rows,
  }));
}

function because(row: Row): string {
  return ((row["because"] as Row[] | undefined) ?? []).map((one) => `${size(asNumber(one["bytes"]), true)} ${asText(one["name"])}`).join(", ");
}

function rowColumns(answer: Answer, first: number | undefined): Column[] {
  const some = (key: string): boolean => answer.rows.some((row) => row[key] !== null && row[key] !== 0);
  return [
    { key: "rank", title: "Rank", kind: "count" },
    { key: "peak", title: "Peak", kind: "size" },
    { key: "peak", title: "", kind: "bar", of: Math.max(1, ...answer.rows.map((row) => asNumber(row["peak"]))) },
    { key: "end", title: "End", kind: "size" },
    { key: "reserved_peak", title: "Reserved", kind: "size" },
    ...(some("headroom") ? [{ key: "headroom", title: "Headroom", kind: "size" } as Column] : []),
    { key: "class", title: "Class", kind: "count" },
    ...(some("outlier") ? [{ key: "outlier", title: "Outlier", kind: "change", value: (row: Row) => (row["outlier"] === 0 ? undefined : asNumber(row["outlier"])) } as Column] : []),
    { key: "what", title: "What", kind: "text", text: (row) => [remark(row, first), because(row), asText(row["problem"])].filter((one) => one !== "").join(": ") },
    { key: "path", title: "File", kind: "text", text: (row) => asText(row["path"]).split("/").at(-1)!, whole: (row) => asText(row["path"]) },
  ];
}

export const ranks: View = {
  id: "ranks",
  title: "Ranks",
  shows: (context) => context.first.only === "ranks" || (context.job.length > 1 && context.job.every((one) => one.hasHistory)),
  async draw(context, into) {
    const answer = await context.json(["ranks", "--all", "-n", "0", ...context.job.map((one) => one.name), ...context.session.leftOut]);
    const { before, after } = said(answer);
    if (answer.rows.length === 0) {
      clear(into, ...before, ...after);
      return;
    }
    const first = answer["first_oom"] === null ? undefined : asNumber((answer["first_oom"] as Row)["rank"]);
    before.filter((line) => line.textContent!.startsWith("OUT OF MEMORY")).forEach((line) => line.classList.add("alarm"));
    clear(into, ...before, map(context, answer), answer.rows.length > kCells && h("p", { class: "note" }, `the first ${count(kCells)} ranks; all are in the table below`),
      classes(answer),
      h("section", { class: "below" }, h("h2", {}, "Each rank"), grid({
        name: "ranks", columns: rowColumns(answer, first), rows: answer.rows, onPick: (row) => open(context, row)?.(),
        picked: (row) => context.state.input !== "" && asText(row["path"]) === context.state.input,
      })), ...after);
  },
};
