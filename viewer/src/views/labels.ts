// Labels: bytes by each value of each label.
import { asNumber, asText, type Row } from "../core/answers";
import { clear, h } from "../core/dom";
import { count } from "../core/format";
import type { View } from "../ui/context";
import { grid } from "../ui/grid";

const kCards = 40; // drawn at once; a file may have 100,000 labels

export const labels: View = {
  id: "labels",
  title: "Labels",
  shows: (context) => context.first.can("tags") && context.first.labels.length > 0,
  async draw(context, into) {
    const answer = await context.json(["tags", "-n", "0", ...context.momentAndFilters, ...context.names]);
    const byKey = new Map<string, Row[]>();
    for (const row of answer.rows) {
      const key = asText(row["key"]);
      const rows = byKey.get(key);
      if (rows === undefined) {
        byKey.set(key, [row]);
      } else {
        rows.push(row);
      }
    }
    const most = context.session.allLabels ? Infinity : kCards;
    clear(into, h("div", { class: "cards" }, ...[...byKey].slice(0, most).map(([key, rows]) =>
      h("section", { class: "card" }, h("h2", {}, key), grid({
        columns: [
          { key: "bytes", title: "Bytes", kind: "size" },
          { key: "bytes", title: "", kind: "percent", of: asNumber(answer.total) },
          { key: "bytes", title: "", kind: "bar", of: Math.max(1, ...rows.map((row) => Math.abs(asNumber(row["bytes"])))) },
          { key: "count", title: "Count", kind: "count" },
          { key: "value", title: "Value", kind: "text" },
        ],
        rows,
        most: 20,
        onPick: () => context.change({ view: "table", by: `label:${key}` }),
      })))),
    byKey.size > most && h("button", { type: "button", class: "more", click: () => { context.session.allLabels = true; context.change({}); } },
      `${count(byKey.size - most)} more labels`));
  },
};
