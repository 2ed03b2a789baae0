// Advise: which change of the program makes it fit. A row that is chosen shows the recording of the
// changed program beside that of the program as it was.
import { asNumber, asText, type Answer, type Row } from "../core/answers";
import { clear, field, h } from "../core/dom";
import { size } from "../core/format";
import { sentence } from "../core/words";
import type { View } from "../ui/context";
import { grid } from "../ui/grid";
import { pair } from "../ui/pair";
import { said } from "../ui/said";

function reserved(row: Row): string {
  const [low, high] = [size(asNumber(row["reserved_low"])), size(asNumber(row["reserved_high"]))];
  return low === high ? high : `${low} to ${high}`;
}

function evidence(row: Row): string {
  const error = asNumber(row["error"]);
  return `${asText(row["evidence"])}${error > 0 ? ` ±${(100 * error).toFixed(1)}%` : ""}`.replaceAll(" ", "\u00a0");
}

function where(row: Row): string {
  const file = asText(row["file"]).split("/").at(-1) ?? "";
  return file === "" ? "" : `${asText(row["function"])}, called at ${file}:${asText(row["line"])}`;
}

export const advise: View = {
  id: "advise",
  title: "Advise",
  shows: (context) => context.first.hasHistory && context.first.can("segments"),
  async draw(context, into) {
    const { card, change } = context.state;
    const onCard = field({ id: "card", value: card, size: 16, placeholder: "24GiB, A100-40GB" }, (text) => context.change({ card: text }));
    const tools = h("div", { class: "tools" }, h("label", {}, "fits on ", onCard));
    let answer: Answer;
    try {
      answer = await context.json(["advise", "-n", "0", ...(card === "" ? [] : ["--card", card]), context.first.name]);
    } catch (error) {  // such as a card that is not known
      clear(into, tools, h("p", { class: "error", role: "alert" }, sentence(error)));
      return;
    }
    const { before, after } = said(answer);
    const words = ((answer["costs"] as unknown[] | undefined) ?? []).map(asText);
    const costs = new Map(answer.rows.map((row, i) => [row, words[i]]));
    const below = h("div");
    const picked = answer.rows.find((row) => asText(row["change"]) === change);
    const limited = answer.rows.some((row) => row["fits"] !== null);
    clear(into, tools, context.alone(),
      ...before,
      answer.rows.length === 0 ? "" : grid({
        columns: [
          { key: "change", title: "Change", kind: "text" },
          { key: "live_peak", title: "Live", kind: "size" },
          { key: "reserved_high", title: "Reserved", kind: "size", text: reserved },
          { key: "saves", title: "Saves", kind: "size" },
          { key: "evidence", title: "Evidence", kind: "text", text: evidence },
          ...(limited ? [{ key: "fits", title: "Fits", kind: "text" as const, text: (row: Row) => (row["fits"] === true ? "yes" : "no") }] : []),
          { key: "cost", title: "Costs", kind: "text", text: (row) => costs.get(row) ?? "" },
          { key: "file", title: "Where", kind: "text", text: where },
        ],
        rows: answer.rows,
        onPick: (row) => context.change({ change: asText(row["change"]) }),
        picked: (row) => asText(row["change"]) === change,
      }),
      ...after, answer.rows.length > 0 && h("p", { class: "note" }, "A row that is chosen is shown as a timeline beside the recorded one."),
      below);
    if (picked !== undefined) {
      below.append(await pair(context, change, ["--change", change]));
    }
  },
};
