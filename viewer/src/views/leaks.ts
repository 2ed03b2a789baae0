// Leaks: what keeps growing over a history or over several inputs.
import { asNumber, asText, type Answer, type Row } from "../core/answers";
import { CoreError } from "../core/core";
import { clear, h } from "../core/dom";
import { sentence } from "../core/words";
import { byChoice, byWords } from "../ui/by";
import type { View } from "../ui/context";
import { grid, kPlace, kWhere } from "../ui/grid";

const kBy = ["filefunction", "function", "line", "file", "module", "stack", "bucket", "label"];

// As the program draws it: each point against the row's largest.
function shape(row: Row): string {
  const series = ((row["series"] as unknown[] | undefined) ?? []).map(asNumber);
  const most = Math.max(1, ...series);
  return series.map((value) => "▁▂▃▄▅▆▇█"[Math.max(0, Math.min(7, Math.round((7 * value) / most)))]).join("");
}

export const leaks: View = {
  id: "leaks",
  title: "Leaks",
  shows: (context) => context.inputs.length > 1 || context.first.devices.some((device) => device.events > 1),
  async draw(context, into) {
    const tools = h("div", { class: "tools" }, byChoice(context, "rows are", kBy, context.first.defaultBy));
    let answer: Answer;
    try {
      answer = await context.json(["leaks", "-n", "0", ...byWords(context, kBy, context.first.defaultBy), ...context.filters, ...context.names]);
    } catch (error) {
      if (!(error instanceof CoreError)) {
        throw error;
      }
      clear(into, tools, h("p", { class: "note" }, sentence(error))); // such as too short a history
      return;
    }
    const verdict = ((answer["verdict"] as unknown[] | undefined) ?? []).map(asText);
    clear(into,
      tools,
      ...verdict.map((text, i) => h("p", { class: i === 0 ? "lead" : "note" }, text)),
      grid({
        columns: [
          { key: "slope", title: "Per step", kind: "change" },
          { key: "first", title: "First", kind: "size" },
          { key: "last", title: "Last", kind: "size" },
          { key: "grew", title: "Grew", kind: "count", text: (row) => `${asText(row["grew"])} of ${asText(row["steps"])}` },
          { key: "kind", title: "Kind", kind: "text", text: (row) => [asText(row["kind"]), asText(row["detail"])].filter((one) => one !== "").join(", ") },
          { key: "series", title: "Shape", kind: "shape", text: shape },
          kWhere,
          kPlace,
        ],
        rows: answer.rows,
        onPick: (row) => context.change({ view: "table", row: asText(row["name"]) }),
      }));
  },
};
