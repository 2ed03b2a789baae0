// Buckets: bytes by category; the words can be edited here, and Others shrinks.
import { asNumber, asText, type Row } from "../core/answers";
import { CoreError } from "../core/core";
import { clear, h } from "../core/dom";
import { percent, size } from "../core/format";
import { sentence } from "../core/words";
import type { Context, View } from "../ui/context";
import { grid, type Column } from "../ui/grid";
import { kRest } from "../ui/rest";
import { save } from "../ui/save";

const kOwn = "/own/SETME.yaml";

const bucketsLine = (context: Context, own: string[] = []): string[] =>
  ["buckets", ...own, ...context.momentAndFilters, ...context.names];

// The dictionary that the program takes for these inputs. Where it has none that fits, one shows
// what dictionaries look like.
async function builtin(context: Context): Promise<string> {
  try {
    return asText((await context.quietly(bucketsLine(context)))["dictionary"]) || "builtin:jax";
  } catch (error) {
    if (error instanceof CoreError) {
      return "builtin:jax";
    }
    throw error;
  }
}

const kWhole: Column[] = [
  { key: "count", title: "Count", kind: "count" },
  { key: "bucket", title: "Category", kind: "text" },
];

// The rows of one category, and the words that put them there.
const kWord = 26; // letters of a rule, before its whole is a title
const keyOf = (row: Row): string => `${asText(row["axis"])}:${asText(row["bucket"])}`;

async function inside(context: Context, own: string[], chosen: Row): Promise<HTMLElement> {
  const bucket = asText(chosen["bucket"]);
  const answer = await context.json(["buckets", "--explain", bucket, "-n", "0", ...own, ...context.momentAndFilters, ...context.names]);
  const rows = answer.rows.filter((row) => keyOf(row) === keyOf(chosen));
  const some = (key: string): boolean => rows.some((row) => asText(row[key]) !== "");
  const short = (word: string): string => (word.length > kWord ? `${word.slice(0, kWord)}…` : word);
  const text = (key: string, title: string, cut = (one: string): string => one): Column[] =>
    (some(key) ? [{ key, title, kind: "text", text: (row) => cut(asText(row[key])), whole: (row) => asText(row[key]) }] : []);
  return h("section", { class: "below" }, h("div", { class: "tools" }, h("h2", {}, `In ${bucket}`),
    h("button", { type: "button", click: () => context.change({ bucket: "" }) }, "close")),
  rows.length === 0 ? h("p", { class: "note" }, "nothing") : grid({
    name: `In ${bucket}`,
    columns: [{ key: "bytes", title: "Bytes", kind: "size" }, { key: "count", title: "Count", kind: "count" },
      { key: "bytes", title: "", kind: "bar", of: Math.max(1, ...rows.slice(0, 1000).map((row) => asNumber(row["bytes"]))) },
      ...text("entry", "Row"), ...text("matched", "Found in"), ...text("word", "Word", short), ...text("also", "Also in")],
    rows,
    onPick: (row) => context.change({ view: "table", by: "", row: asText(row["entry"]) || asText(row["matched"]) }),
  }));
}

async function fill(context: Context, into: HTMLElement): Promise<void> {
  const own = context.session.keywords === "" ? [] : ["--keywords", kOwn];
  const compared = context.bases.length > 0;
  const { state } = context;
  try {
    const answer = await context.json(compared
      ? ["diff", "--by", "bucket", ...own, ...context.baseWords, ...context.momentAndFilters, ...context.names]
      : bucketsLine(context, own));
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
      onPick: (row) => (compared ? context.change({ view: "table", by: axis === "" ? "bucket" : `bucket:${axis}` })
        : context.change({ bucket: keyOf(row) })),
      picked: (row) => !compared && state.bucket === keyOf(row),
    })]));
    const chosen = compared ? undefined : answer.rows.find((row) => keyOf(row) === state.bucket);
    if (chosen !== undefined) {
      into.append(await inside(context, own, chosen));
    }
  } catch (error) {
    clear(into, h("p", { class: "note" }, sentence(error)));
  }
}

export const buckets: View = {
  id: "buckets",
  title: "Buckets",
  shows: (context) => context.first.can("buckets"),
  async draw(context, into) {
    const shown = h("div", { class: "slot" });
    const words = h("textarea", { id: "keywords", spellcheck: "false", rows: 26, "aria-label": "keywords, as YAML" });
    words.value = context.session.keywords === ""
      ? await context.text(["buckets", "--print-keywords", await builtin(context)]) : context.session.keywords;
    let wait = 0;
    words.addEventListener("input", () => {
      clearTimeout(wait);
      wait = window.setTimeout(() => {
        context.session.keywords = words.value;
        context.refine({}, async () => {
          await context.write(kOwn, context.session.keywords);
          await fill(context, shown);
        });
      }, kRest);
    });
    clear(into, h("div", { class: "beside" }, shown,
      h("aside", {}, h("div", { class: "tools" }, h("h2", {}, "Keywords"),
        h("button", { type: "button", click: () => save("SETME.yaml", words.value, "text/yaml") }, "save as YAML"),
        h("button", { type: "button", click: () => { context.session.keywords = ""; context.change({}); } }, "built-in")), words)));
    if (context.session.keywords !== "") {
      await context.write(kOwn, context.session.keywords);
    }
    await fill(context, shown);
  },
};
