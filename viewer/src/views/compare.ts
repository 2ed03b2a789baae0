// Compare: two runs side by side: what grew, both histories on one axis, and step by step.
import { ascending, LinesPlot, mapped, type Line } from "../charts/lines";
import { isDark, kOnPaper } from "../charts/palette";
import { paint } from "../charts/pen";
import { asNumber, asText, type Answer, type Row } from "../core/answers";
import { clear, h } from "../core/dom";
import { count, percent, size } from "../core/format";
import { readInputs, type DeviceFacts, type InputFacts } from "../core/inputs";
import { sentence } from "../core/words";
import type { Context, View } from "../ui/context";
import { grid, kPlace, kWhere, type Column } from "../ui/grid";
import { firstDevice } from "../ui/moment";

const kHeight = 260;

const kChanges: Column[] = [
  { key: "delta", title: "Change", kind: "change" },
  { key: "base", title: "Base", kind: "size" },
  { key: "new", title: "New", kind: "size" },
];

async function changes(context: Context): Promise<HTMLElement> {
  const answer = await context.json(["diff", "-n", "12", ...context.baseWords, ...context.momentAndFilters, ...context.names]);
  const [before, now] = [asNumber(answer["base_total"]), asNumber(answer["new_total"])];
  const most = Math.max(1, ...answer.rows.map((row) => Math.abs(asNumber(row["delta"]))));
  return h("section", {},
    h("p", { class: "lead" }, h("b", {}, size(answer.total ?? 0, true)), `: ${size(before)} before, ${size(now)} now`,
      before > 0 && ` (${now < before ? "" : "+"}${percent(now - before, before)})`),
    grid({ columns: [...kChanges, { key: "delta", title: "", kind: "bar", of: most }, kWhere, kPlace], rows: answer.rows,
      onPick: (row) => context.change({ view: "table", row: asText(row["name"]) }) }));
}

async function categories(context: Context): Promise<HTMLElement> {
  const answer = await context.json(["diff", "--by", "bucket", ...context.baseWords, ...context.momentAndFilters, ...context.names]);
  return h("section", {}, h("h2", {}, "By category"),
    grid({ columns: [...kChanges, { key: "name", title: "Category", kind: "text" }], rows: answer.rows.filter((row) => asNumber(row["delta"]) !== 0),
      onPick: () => context.change({ view: "buckets" }) }));
}

interface Side {
  input: InputFacts;
  device: DeviceFacts;
  answer: Answer;
}

async function history(context: Context, input: InputFacts, device: DeviceFacts): Promise<Side> {
  const only = input.devices.length > 1 ? ["--device", device.name] : [];
  return { input, device, answer: await context.json(["timeline", "--points", "1200", ...only, input.name]) };
}

function column({ answer, device }: Side, key: string): Float64Array {
  return Float64Array.from(answer.rows.filter((row) => asNumber(row["device"]) === device.device), (row) => asNumber(row[key]));
}

// The base's events at the places of the new run's: where both have their peak in each step that they share.
function anchorsOf(aligned: Answer | undefined, base: Side, now: Side): [number, number][] {
  const pairs = ((aligned?.["steps"] as Row[] | undefined) ?? []).map((step): [number, number] => {
    const peak = step["peak"] as Row;
    return [asNumber(peak["base_event"]), asNumber(peak["new_event"])];
  });
  const others: [number, number][] = pairs.length > 0 ? pairs : [[base.device.peakEvent, now.device.peakEvent]];
  return ascending(others, [-1, -1], [base.device.events, now.device.events]);
}

function linesOf(context: Context, base: Side, now: Side, aligned: Answer | undefined): Line[] {
  const stretch = context.state.axis !== "own";
  return [now, base].map((side): Line => {
    const events = column(side, "event");
    const x = side === base && stretch ? mapped(events, anchorsOf(aligned, base, now)) : events;
    return { name: side.input.name, x, y: column(side, "allocated"), events };
  });
}

function twoTimelines(context: Context, lines: Line[], aligned: boolean): HTMLElement {
  const canvas = h("canvas", { class: "plot lines", role: "img", "aria-label": `live bytes of ${lines.map((line) => line.name).join(" and ")} on one axis` });
  const says = h("p", { class: "says", "aria-live": "polite" }, "\u00a0");
  const key = h("p", { class: "key" }, ...lines.map((line, i) => {
    const stroke = h("i", { class: i === 0 ? "stroke" : "stroke dashed" });
    stroke.style.borderColor = kOnPaper[i]![isDark() ? 1 : 0];
    return h("span", {}, stroke, `${line.name} (${i === 0 ? "new" : "base"}), peak ${size(line.y.reduce((most, value) => Math.max(most, value), 0))}`);
  }));
  const axis = h("select", { id: "axis", change: () => context.change({ axis: axis.value }) },
    h("option", { value: "", selected: context.state.axis !== "own" }, aligned ? "steps that they share" : "their peaks"),
    h("option", { value: "own", selected: context.state.axis === "own" }, "their own events"));
  const section = h("section", { class: "chart" },
    h("div", { class: "tools" }, h("h2", {}, "live bytes of both"), h("label", {}, "aligned by ", axis), key), says, canvas);
  let plot: LinesPlot | undefined;
  const draw = (pointer?: number): void => {
    const width = section.clientWidth;
    if (width > 0) {
      plot = new LinesPlot(lines, width, kHeight);
      paint(canvas, plot.picture(pointer), isDark());
    }
  };
  canvas.addEventListener("pointermove", (event) => {
    draw(event.offsetX);
    const points = plot?.pointsAt(event.offsetX) ?? [];
    clear(says, lines.map((line, i) => (points[i]! < 0 ? `${line.name}: not begun`
      : `${line.name}: event ${count(line.events[points[i]!]!)}, ${size(line.y[points[i]!]!)}`)).join(" · "));
  });
  canvas.addEventListener("pointerleave", () => { draw(); clear(says, "\u00a0"); });
  new ResizeObserver(() => draw()).observe(section);
  context.picture = () => new LinesPlot(lines, Math.max(600, section.clientWidth), kHeight).picture();
  return section;
}

// Steps that both have, by their peaks, and what made them differ.
function stepByStep(answer: Answer): HTMLElement {
  const steps = ((answer["steps"] as Row[] | undefined) ?? []).map((step): Row => ({ ...(step["peak"] as Row), ...step, peak: undefined }));
  return h("section", {}, h("h2", {}, "step by step, at their peaks"),
    h("p", { class: "note" }, `${percent(asNumber(answer["partner_share"]), 1)} of allocations have a partner in the other run; ` +
      `rows below are of step ${asText(answer["new_step"])}, ${size(asNumber(answer["unchanged"]))} of it unchanged`),
    steps.length > 0 && grid({
      columns: [{ key: "new_step", title: "Step", kind: "count" }, { key: "base", title: "Base", kind: "size" }, { key: "new", title: "New", kind: "size" },
        { key: "delta", title: "Change", kind: "change" }, { key: "matched", title: "Matched", kind: "count" }, { key: "added", title: "Added", kind: "count" },
        { key: "removed", title: "Removed", kind: "count" }],
      rows: steps }),
    grid({
      columns: [...kChanges, { key: "added", title: "Added", kind: "change" }, { key: "removed", title: "Removed", kind: "change" },
        { key: "held", title: "Held", kind: "change" }, kWhere, kPlace],
      rows: answer.rows }));
}

async function histories(context: Context): Promise<HTMLElement | undefined> {
  const base = context.bases.length === 1 ? readInputs(await context.quietly(["info", context.bases[0]!]))[0] : undefined;
  const now = firstDevice(context);
  const then = base?.devices.find((one) => one.events > 0 && (one.name === now?.name || base.devices.length === 1));
  if (base === undefined || now === undefined || then === undefined) {
    return undefined;
  }
  const sides = [await history(context, base, then), await history(context, context.first, now)] as const;
  let aligned: Answer | undefined;
  let why = "";
  try {
    aligned = await context.json(["diff", "--align", "-n", "0", ...context.baseWords, context.first.name]);
  } catch (error) { // such as of runs without steps
    why = sentence(error);
  }
  return h("div", {}, twoTimelines(context, linesOf(context, sides[0], sides[1], aligned), ((aligned?.["steps"] as Row[] | undefined) ?? []).length > 0),
    aligned === undefined ? h("p", { class: "note" }, why) : stepByStep(aligned));
}

export const compare: View = {
  id: "compare",
  title: "Compare",
  shows: (context) => context.bases.length > 0,
  async draw(context, into) {
    const places = [changes, categories, histories].map((part) => ({ part, at: h("div", { class: "slot" }) }));
    clear(into, ...places.map(({ at }) => at));
    for (const { part, at } of places) {
      try {
        clear(at, (await part(context)) ?? "");
      } catch (error) {
        clear(at, h("p", { class: "note" }, sentence(error)));
      }
    }
  },
};
