// Steps: what each step of the run came to, and what repeats inside them. A step leads to its part of the timeline.
import { asNumber, asText, type Row } from "../core/answers";
import { clear, h } from "../core/dom";
import { filterWords, type State } from "../core/state";
import { loopsOf, loopText } from "../core/words";
import type { Context, View } from "../ui/context";
import { grid, kPlace, type Column } from "../ui/grid";
import { deviceColumn } from "../ui/moment";
import { said } from "../ui/said";

// The device and the input that a row is of, where there are several.
function whose(context: Context, row: Row): Partial<State> {
  const input = context.job.find((one) => one.name === asText(row["input"])) ?? context.first;
  const device = input.devices.length > 1 ? input.devices.find((one) => one.device === asNumber(row["device"])) : undefined;
  return {
    ...(context.inputs.length > 1 ? { input: input.name } : {}),
    ...(device === undefined ? {} : { device: device.name }),
  };
}

function timelineOf(context: Context, row: Row, at: unknown): Partial<State> {
  const event = (value: unknown): string => `event:${asText(value)}`;
  return { view: "timeline", ...whose(context, row), from: event(row["begin"]), to: event(row["end"]), at: event(at) };
}

const both = (context: Context): Column[] => [
  ...(context.first.devices.length > 1 ? [deviceColumn(context)] : []),
  ...(context.inputs.length > 1 ? [{ key: "input", title: "Input", kind: "text" } as Column] : []),
];

function loops(context: Context, rows: Row[], steps: Row[]): HTMLElement {
  // Its part of the timeline is its step's, at the event where it begins.
  const stepOf = (loop: Row): Row | undefined =>
    steps.find((step) => step["step"] === loop["step"] && step["device"] === loop["device"] && step["input"] === loop["input"]);
  return grid({
    name: "what repeats inside of steps",
    columns: [
      { key: "bytes", title: "Kept", kind: "size" },
      { key: "allocated", title: "Allocated", kind: "size" },
      { key: "repetitions", title: "Times", kind: "count" },
      { key: "period", title: "Allocations", kind: "count" },
      { key: "step", title: "Step", kind: "count" },
      { key: "begin", title: "From event", kind: "count" },
      { key: "phase", title: "What", kind: "text", text: loopText },
      ...both(context),
    ],
    rows,
    onPick: (row) => {
      const step = stepOf(row);
      context.change(step === undefined ? { view: "timeline", ...whose(context, row), at: `event:${asText(row["begin"])}` }
        : timelineOf(context, step, row["begin"]));
    },
  });
}

function keepers(context: Context, rows: Row[]): HTMLElement {
  return grid({
    name: "kept for the backward",
    columns: [
      { key: "bytes", title: "Kept", kind: "size" },
      { key: "calls", title: "Calls", kind: "count" },
      { key: "bytes", title: "", kind: "bar", of: Math.max(1, ...rows.map((row) => asNumber(row["bytes"]))) },
      { key: "function", title: "Function", kind: "text" },
      { ...kPlace, title: "Called at" },
      ...both(context),
    ],
    rows,
    onPick: (row) => context.change({ view: "table", by: "", row: asText(row["function"]) }),
  });
}

export const steps: View = {
  id: "steps",
  title: "Steps",
  shows: (context) => context.first.can("steps") && context.first.devices.some((device) => device.events > 2),
  async draw(context, into) {
    const answer = await context.json(["steps", "-n", "0", ...filterWords(context.state, ["device"]), ...context.names]);
    const rowsOf = (key: string): Row[] => (answer[key] as Row[] | undefined) ?? [];
    const [repeated, kept] = [loopsOf(answer), rowsOf("keepers")];
    const most = Math.max(1, ...answer.rows.map((row) => asNumber(row["peak"])));
    const { before, after } = said(answer);
    clear(into, ...before,
      answer.rows.length > 0 && grid({
        name: "steps",
        columns: [
          { key: "step", title: "Step", kind: "count" },
          { key: "peak", title: "Peak", kind: "size" },
          { key: "peak", title: "", kind: "bar", of: most },
          { key: "peak_event", title: "At event", kind: "count" },
          { key: "live_at_end", title: "At its end", kind: "size" },
          { key: "allocated", title: "Allocated", kind: "size" },
          { key: "allocations", title: "Allocations", kind: "count" },
          { key: "begin", title: "Begin", kind: "count" },
          { key: "end", title: "End", kind: "count" },
          { key: "from", title: "From", kind: "text", text: (row) => `${asText(row["from"])}${row["complete"] === false ? ", not complete" : ""}` },
          ...both(context),
        ],
        rows: answer.rows,
        onPick: (row) => context.change(timelineOf(context, row, row["peak_event"])),
      }),
      answer.rows.length > 0 && h("p", { class: "note" }, "A step that is chosen is shown in the timeline, at its peak."),
      h("div", { class: "cards below" },
        repeated.length > 0 && h("section", { class: "card" }, h("h2", {}, "What repeats inside of steps"), loops(context, repeated, answer.rows)),
        kept.length > 0 && h("section", { class: "card" }, h("h2", {}, "Kept for the backward"),
          keepers(context, kept))),
      ...after);
  },
};
