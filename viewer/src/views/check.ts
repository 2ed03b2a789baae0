// Check: whether memory is within limits, or grew since a baseline: what a build server would say.
import { asNumber, asText, type Row } from "../core/answers";
import { clear, field, h } from "../core/dom";
import { sentence } from "../core/words";
import type { Context, View } from "../ui/context";
import { grid } from "../ui/grid";
import { said } from "../ui/said";

const kBudget = "/own/budget.yaml";
const kBaseline = "/own/baseline.json";
const kExample = "peak: 20GiB\nreserved: 24GiB\nbuckets:\n  Others: 1GiB\nfunctions:\n  'attention': 4GiB\n";

const kLimits: [string, string, string][] = [
  ["peak", "peak at most", "20GiB"], ["reserved", "reserved at most", "24GiB"], ["total", "live at the end at most", "16GiB"],
];

function readLimits(text: string): Map<string, string> {
  return new Map(text.split(",").map((one) => one.split("=")).filter((one) => one.length === 2) as [string, string][]);
}

function fields(context: Context): HTMLElement {
  const limits = readLimits(context.state.limits);
  const set = (name: string, value: string): void => {
    limits.set(name, value.replace(/[=,]/g, ""));
    context.change({ limits: [...limits].filter(([, one]) => one !== "").map((one) => one.join("=")).join(",") });
  };
  const one = (name: string, title: string, hint: string): HTMLElement =>
    h("label", {}, `${title} `, field({ id: `limit-${name}`, value: limits.get(name) ?? "", size: 9, placeholder: hint }, (value) => set(name, value)));
  const budget = h("textarea", { id: "budget", rows: 7, spellcheck: "false", placeholder: kExample, "aria-label": "limits, as YAML" });
  budget.value = context.session.budget;
  budget.addEventListener("change", () => {
    context.session.budget = budget.value;
    context.change({});
  });
  return h("div", {},
    h("div", { class: "tools" }, ...kLimits.map((limit) => one(...limit)),
      context.bases.length > 0 ? one("growth", `grown since ${context.bases[0]!} by at most`, "1%")
        : h("span", { class: "note" }, "“compare with…” opens an earlier run as a baseline")),
    h("details", { open: context.session.budget !== "" }, h("summary", {}, "a budget of devices, categories and functions, as YAML"), budget));
}

// The words that state the limits; none where there are none.
async function limitWords(context: Context): Promise<string[]> {
  const limits = readLimits(context.state.limits);
  const words = kLimits.flatMap(([name]) => (limits.has(name) ? [`--max-${name}`, limits.get(name)!] : []));
  if (context.session.budget.trim() !== "") {
    await context.write(kBudget, context.session.budget);
    words.push("--budget", kBudget);
  }
  if (context.bases.length > 0) {
    await context.text(["check", "--write-baseline", kBaseline, context.bases[0]!]);
    words.push("--baseline", kBaseline, ...(limits.has("growth") ? ["--max-growth", limits.get("growth")!] : []));
  }
  return words;
}

function because(row: Row): string {
  return ((row["because"] as Row[] | undefined) ?? []).map((one) => asText(one["name"])).join(", ");
}

const verdict = (row: Row): string => (row["ok"] === null ? "unknown" : row["ok"] === true ? "ok" : "FAILED");

export const check: View = {
  id: "check",
  title: "Check",
  shows: (context) => context.first.can("top"),
  async draw(context, into) {
    const shown = h("div", { class: "slot" });
    clear(into, fields(context), shown);
    try {
      const limits = await limitWords(context);
      if (limits.length === 0) {
        clear(shown, h("p", { class: "note" }, "Give a limit: the same line fails a build where memory is over it."));
        return;
      }
      const answer = await context.json(["check", "-n", "0", ...limits, ...context.names]);
      const { before, after } = said(answer);
      before[0]?.classList.toggle("alarm", asNumber(answer["broken"]) > 0);
      clear(shown, ...before, grid({
        name: "limits",
        columns: [
          { key: "ok", title: "Verdict", kind: "text", text: verdict },
          { key: "value", title: "Value", kind: "size" },
          { key: "limit", title: "Limit", kind: "size" },
          { key: "over", title: "Over", kind: "size", value: (row) => (row["over"] === 0 ? undefined : asNumber(row["over"])) },
          ...(answer.rows.some((row) => row["base"] !== null) ? [{ key: "base", title: "Baseline", kind: "size" as const }] : []),
          { key: "what", title: "What", kind: "text", text: (row) => [asText(row["what"]), asText(row["name"])].filter((one) => one !== "").join(" ") },
          ...(context.inputs.length > 1 ? [{ key: "input", title: "Input", kind: "text" as const }] : []),
          { key: "because", title: "Because", kind: "text", text: because },
        ],
        rows: answer.rows,
      }), ...after);
    } catch (error) {
      clear(shown, h("p", { class: "error", role: "alert" }, sentence(error)));
    }
  },
};
