// Buckets: bytes by category; the words can be edited here, and Others shrinks.
import { asNumber, asText } from "../answers";
import type { Context, View } from "../context";
import { clear, h } from "../dom";
import { save } from "../save";
import { percent, size } from "../format";
import { grid, type Column } from "../grid";
import { sentence } from "../words";

const kOwn = "/own/SETME.yaml";
let edited = "";

function builtin(format: string): string {
  return format.startsWith("mxnet") ? "builtin:mxnet" : format.startsWith("torch") || format === "kineto" ? "builtin:pytorch"
    : format === "capture_log" ? "builtin:driver" : "builtin:jax";
}

const kWhole: Column[] = [
  { key: "count", title: "Count", kind: "count" },
  { key: "bucket", title: "Category", kind: "text" },
];

async function fill(context: Context, into: HTMLElement): Promise<void> {
  const own = edited === "" ? [] : ["--keywords", kOwn];
  const compared = context.bases.length > 0;
  try {
    const answer = await context.json(compared
      ? ["diff", "--by", "bucket", ...own, ...context.baseWords, ...context.momentAndFilters, ...context.names]
      : ["buckets", ...own, ...context.momentAndFilters, ...context.names]);
    const key = compared ? "delta" : "bytes";
    const most = Math.max(...answer.rows.map((row) => Math.abs(asNumber(row[key]))), 1);
    const axes = [...new Set(answer.rows.map((row) => asText(row["axis"])))];
    const columns: Column[] = compared
      ? [{ key, title: "Change", kind: "change" }, { key: "base", title: "Base", kind: "size" }, { key: "new", title: "New", kind: "size" },
          { key, title: "", kind: "bar", of: most }, { key: "name", title: "Category", kind: "text" }]
      : [{ key, title: "Bytes", kind: "size" }, { key, title: "%", kind: "percent", of: asNumber(answer.total) },
          { key, title: "", kind: "bar", of: most }, ...kWhole];
    const others = answer.rows.find((row) => row["bucket"] === "Others");
    clear(into, h("p", { class: "lead", "data-total": asText(answer.total) },
      compared ? `${size(answer.total ?? 0, true)} since the base` : `${size(answer.total ?? 0)} in all`,
      others !== undefined && ` · Others ${size(asNumber(others["bytes"]))} (${percent(asNumber(others["bytes"]), asNumber(answer.total))})`),
    ...axes.flatMap((axis) => [axis !== "" && h("h3", {}, axis), grid({
      columns,
      rows: answer.rows.filter((row) => asText(row["axis"]) === axis),
      onPick: () => context.change({ view: "table", by: axis === "" ? "bucket" : `bucket:${axis}` }),
    })]));
  } catch (error) {
    clear(into, h("p", { class: "note" }, sentence(error)));
  }
}

export const buckets: View = {
  id: "buckets",
  title: "Buckets",
  shows: (context) => context.first.hasRows,
  async draw(context, into) {
    const shown = h("div", { class: "slot" });
    const words = h("textarea", { id: "keywords", spellcheck: "false", rows: 26, "aria-label": "keywords, as YAML" });
    words.value = edited === ""
      ? await context.text(["buckets", "--print-keywords", builtin(context.first.format)]) : edited;
    let wait = 0;
    words.addEventListener("input", () => {
      clearTimeout(wait);
      wait = window.setTimeout(() => {
        edited = words.value;
        context.refine({}, async () => {
          await context.write(kOwn, edited);
          await fill(context, shown);
        });
      }, 250);
    });
    clear(into, h("div", { class: "beside" }, shown,
      h("aside", {}, h("div", { class: "tools" }, h("h2", {}, "Keywords"),
        h("button", { type: "button", click: () => save("SETME.yaml", words.value, "text/yaml") }, "save as YAML"),
        h("button", { type: "button", click: () => { edited = ""; context.change({}); } }, "built-in")), words)));
    if (edited !== "") {
      await context.write(kOwn, edited);
    }
    await fill(context, shown);
  },
};
