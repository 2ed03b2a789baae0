// Out of memory: why a request failed, from a snapshot, from a log, or from a message that is pasted here.
import { asNumber, asText, type Answer, type Row } from "../core/answers";
import { clear, h } from "../core/dom";
import { sentence } from "../core/words";
import type { Context, View } from "../ui/context";
import { grid, kPlace, kWhere } from "../ui/grid";
import { failure } from "../ui/verdict";

const kPasted = "/own/pasted.log";

function one(context: Context, answer: Answer): HTMLElement {
  const holders = answer.rows.filter((row) => row["kind"] === "holder");
  const others = answer.rows.filter((row) => row["kind"] !== "part" && row["kind"] !== "holder");
  const bytes = (title: string, rows: Row[], lead: boolean): HTMLElement | false => rows.length > 0 && h("section", {}, h("h2", {}, title), grid({
    name: title,
    columns: [
      { key: "bytes", title: "Size", kind: "size" },
      { key: "bytes", title: "Share", kind: "percent", of: asNumber(answer.total) },
      { key: "bytes", title: "", kind: "bar", of: Math.max(1, ...rows.map((row) => asNumber(row["bytes"]))) },
      kWhere, kPlace,
    ],
    rows,
    ...(lead ? { onPick: (row: Row) => context.change({ view: "table", by: "", row: asText(row["name"]) }) } : {}),
  }));
  return h("div", {}, failure(answer, { offers: (view) => context.offers(view), go: (patch) => context.change(patch) }),
    bytes("Who holds what is live", holders, context.first.can("top")), bytes("What else is said", others, false));
}

function several(context: Context, answer: Answer): HTMLElement {
  return grid({
    name: "inputs that ran out of memory",
    columns: [
      { key: "input", title: "Input", kind: "text" }, { key: "device", title: "Device", kind: "text" },
      { key: "asked", title: "Asked", kind: "size" }, { key: "driver_free", title: "Driver free", kind: "size" },
      { key: "live", title: "Live", kind: "size" }, { key: "cached", title: "Cached", kind: "size" }, { key: "verdict", title: "Why", kind: "text" },
    ],
    rows: answer.rows,
    onPick: (row) => context.change({ input: asText(row["input"]) }),
  });
}

async function explain(context: Context, words: string[], into: HTMLElement): Promise<void> {
  try {
    const answer = await context.json(words);
    clear(into, answer["sentences"] === undefined
      ? h("div", {}, h("p", { class: "lead" }, (await context.quietText(words)).split("\n")[0]), several(context, answer)) : one(context, answer));
  } catch (error) {
    clear(into, h("p", { class: "error", role: "alert" }, sentence(error)));
  }
}

async function explainPasted(context: Context, into: HTMLElement): Promise<void> {
  if (context.session.pasted.trim() !== "") {
    await context.write(kPasted, context.session.pasted);
    await explain(context, ["oom", kPasted], into);
  }
}

function paste(context: Context, said: HTMLElement): HTMLElement {
  const text = h("textarea", { id: "pasted", rows: 6, spellcheck: "false", "aria-label": "an out-of-memory message" });
  text.value = context.session.pasted;
  const ask = (): void => {
    context.session.pasted = text.value;
    context.refine({}, async () => {
      context.list(["oom", ...context.names]);
      await explainPasted(context, said);
    });
  };
  return h("section", { class: "below" }, h("div", { class: "asks" }, h("h2", {}, "Another message"),
    h("p", { class: "note" }, "An out-of-memory message, or the part of a log around it. It is read here and goes nowhere."),
    text, h("p", {}, h("button", { type: "button", id: "explain", click: ask }, "explain it"))), said);
}

export const oom: View = {
  id: "oom",
  title: "OOM",
  // A log may have the message of a failure; one without says what was known when it ended.
  shows: (context) => context.first.can("oom") || context.first.format === "log",
  async draw(context, into) {
    const shown = h("div", { class: "slot" });
    const said = h("div", { class: "slot" });
    clear(into, shown, paste(context, said));
    await explain(context, ["oom", ...context.names], shown);
    await explainPasted(context, said);
  },
};
