// Buckets: bytes by category; the words can be edited here, and Others shrinks.
import { asNumber, asText } from "../answers";
import type { Context, View } from "../context";
import { clear, h } from "../dom";
import { save } from "../save";
import { size } from "../format";
import { grid } from "../grid";

const kOwn = "/own/SETME.yaml";
let edited = "";

function builtin(format: string): string {
  return format.startsWith("mxnet") ? "builtin:mxnet" : format.startsWith("torch") || format === "kineto" ? "builtin:pytorch"
    : format === "capture_log" ? "builtin:driver" : "builtin:jax";
}

async function rows(context: Context, into: HTMLElement): Promise<void> {
  const own = edited === "" ? [] : ["--keywords", kOwn];
  try {
    const answer = await context.json(["buckets", ...own, ...context.momentAndFilters, ...context.names]);
    const total = asNumber(answer.total);
    const most = Math.max(...answer.rows.map((row) => asNumber(row["bytes"])), 1);
    clear(into, h("p", { class: "lead", "data-total": asText(answer.total) }, `${size(answer.total ?? 0)} in all`),
      grid({
        columns: [
          { key: "bytes", title: "Bytes", kind: "size" },
          { key: "bytes", title: "%", kind: "percent", of: total },
          { key: "bytes", title: "", kind: "bar", of: most },
          { key: "count", title: "Count", kind: "count" },
          { key: "bucket", title: "Category", kind: "text" },
        ],
        rows: answer.rows,
      }));
  } catch (error) {
    clear(into, h("p", { class: "note" }, error instanceof Error ? error.message : String(error)));
  }
}

export const buckets: View = {
  id: "buckets",
  title: "Buckets",
  shows: (context) => context.first.hasRows,
  async draw(context, into) {
    const shown = h("div", { class: "slot" });
    const words = h("textarea", { id: "keywords", spellcheck: "false", rows: 24, "aria-label": "keywords, as YAML" });
    words.value = edited === ""
      ? await context.text(["buckets", "--print-keywords", builtin(context.first.format)]) : edited;
    let wait = 0;
    words.addEventListener("input", () => {
      clearTimeout(wait);
      wait = window.setTimeout(() => {
        edited = words.value;
        void context.write(kOwn, edited).then(() => rows(context, shown));
      }, 250);
    });
    clear(into, h("div", { class: "beside" }, shown,
      h("aside", {}, h("div", { class: "tools" }, h("h2", {}, "Keywords"),
        h("button", { type: "button", click: () => save("SETME.yaml", words.value, "text/yaml") }, "save as YAML"),
        h("button", { type: "button", click: () => { edited = ""; context.change({}); } }, "built-in")), words)));
    if (edited !== "") {
      await context.write(kOwn, edited);
    }
    await rows(context, shown);
  },
};
