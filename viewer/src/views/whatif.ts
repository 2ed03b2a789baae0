// What if: other settings of the allocator, another card, a changed program. A row that is chosen is shown as a
// timeline beside the recorded one.
import { asNumber, asText, type Answer, type Row } from "../core/answers";
import { clear, field, h } from "../core/dom";
import { count } from "../core/format";
import { filterWords } from "../core/state";
import { sentence } from "../core/words";
import type { Context, View } from "../ui/context";
import { grid, type Column } from "../ui/grid";
import { pair } from "../ui/pair";
import { said } from "../ui/said";

// Offered beside those that the program tries by itself.
const kSettings = ["expandable_segments:True", "max_split_size_mb:128", "max_split_size_mb:256", "max_split_size_mb:512",
  "roundup_power2_divisions:4", "roundup_power2_divisions:8"];
const kUsual = "today's settings";

// As PYTORCH_CUDA_ALLOC_CONF names them; all else is a change of the program.
const isSetting = (text: string): boolean =>
  /^(?:expandable_segments|max_split_size_mb|max_non_split_rounding_mb|roundup_|garbage_collection_threshold|large_segment_size_mb|per_process_memory_fraction|backend|pinned_|graph_)/.test(text);
const wordsOf = (text: string): string[] => [isSetting(text) ? "--conf" : "--change", text];

function fits(row: Row): string {
  return row["oom"] === true ? (row["oom_unsure"] === true ? "perhaps not" : "no") : row["oom_unsure"] === true ? "perhaps" : "yes";
}

function columns(answer: Answer, limited: boolean): Column[] {
  const most = Math.max(1, ...answer.rows.map((row) => asNumber(row["reserved_peak"])));
  return [
    ...(new Set(answer.rows.map((row) => row["device"])).size > 1 ? [{ key: "device", title: "Device", kind: "count" } as Column] : []),
    { key: "setting", title: "Setting", kind: "text", text: (row) => (row["own"] === true ? [kUsual, asText(row["setting"])].filter((one) => one !== "").join(": ") : asText(row["setting"])) },
    { key: "reserved_peak", title: "Reserved", kind: "size", about: "the peak without a limit" },
    { key: "reserved_peak", title: "", kind: "bar", of: most },
    { key: "saves", title: "Saves", kind: "size", about: "reserved with today's settings, minus reserved with these" },
    { key: "reserved_low", title: "Low", kind: "size" },
    { key: "reserved_peak_event", title: "At event", kind: "count",
      text: (row) => (asNumber(row["reserved_peak_event"]) < 0 ? "start" : count(asNumber(row["reserved_peak_event"]))) },
    { key: "live_at_peak", title: "Live then", kind: "size" },
    { key: "waste_peak", title: "Most waste", kind: "size" },
    ...(limited ? [{ key: "retries", title: "Retries", kind: "count" } as Column, { key: "oom", title: "Fits on the card", kind: "text", text: fits } as Column] : []),
  ];
}

// What is tried: the program's own choice until something is switched.
function switches(context: Context, answer: Answer | undefined): HTMLElement {
  const { conf, card } = context.state;
  const tried = conf !== "" ? conf.split("\n") : (answer?.rows ?? []).filter((row) => row["own"] !== true).map((row) => asText(row["setting"]));
  const set = (list: string[]): void => context.change({ conf: list.join("\n"), change: "" });
  const all = [...new Set([...kSettings, ...tried])];
  const add = field({ id: "try", value: "", size: 34, placeholder: "a setting, or a change such as accumulate=2" }, (text) => set([...new Set([...tried, text])]));
  const onCard = field({ id: "card", value: card, size: 16, placeholder: "24GiB, A100-40GB" }, (text) => context.change({ card: text }));
  return h("div", {},
    h("fieldset", { class: "switches" }, h("legend", {}, "tried, each by itself"), ...all.map((one) => {
      const box = h("input", { type: "checkbox", checked: tried.includes(one), "data-setting": one,
        change: () => set(box.checked ? [...tried, one] : tried.filter((other) => other !== one)) });
      return h("label", {}, box, ` ${one}`);
    })),
    h("div", { class: "tools" }, h("label", {}, "also try ", add), h("label", {}, "fits on ", onCard),
      conf !== "" && h("button", { type: "button", click: () => context.change({ conf: "", change: "" }) }, "as at first")));
}

export const whatif: View = {
  id: "whatif",
  title: "What if",
  shows: (context) => context.first.hasHistory && context.first.can("whatif") && context.first.can("segments"),
  async draw(context, into) {
    const { card, change, conf } = context.state;
    const words = ["whatif", "-n", "0", ...(conf === "" ? [] : conf.split("\n").flatMap(wordsOf)), ...(card === "" ? [] : ["--card", card]),
      ...filterWords(context.state, ["device"]), context.first.name];
    let answer: Answer;
    try {
      answer = await context.json(words);
    } catch (error) { // such as a setting that is none
      clear(into, switches(context, undefined), h("p", { class: "error", role: "alert" }, sentence(error)));
      return;
    }
    const { before, after } = said(answer);
    const limited = card !== "" || answer.rows.some((row) => row["oom"] === true || asNumber(row["retries"]) > 0);
    const below = h("div", { class: "below" });
    clear(into, context.alone(), ...before, answer.rows.length > 0 && switches(context, answer),
      answer.rows.length > 0 && grid({
        name: "settings", columns: columns(answer, limited), rows: answer.rows,
        onPick: (row) => context.change({ change: row["own"] === true ? "" : asText(row["setting"]) }),
        picked: (row) => change !== "" && asText(row["setting"]) === change,
      }),
      ...after, answer.rows.length > 0 && h("p", { class: "note" }, "A row that is chosen is shown as a timeline beside the recorded one."), below);
    if (change !== "" && answer.rows.some((row) => asText(row["setting"]) === change)) {
      below.append(await pair(context, change, wordsOf(change)));
    }
  },
};
