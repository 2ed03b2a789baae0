// Fit: what memory comes to at another batch size or sequence length, from two recordings or more; and of a
// server's log, how long a context fits.
import { curvePicture, type CurvePoint } from "../charts/curve";
import { isDark } from "../charts/palette";
import { paint } from "../charts/pen";
import { asNumber, asText, type Answer, type Row } from "../core/answers";
import { clear, field, h } from "../core/dom";
import { percent, size } from "../core/format";
import { guessParameter, readParameter, writeParameter, type Parameter } from "../core/guess";
import { filterWords } from "../core/state";
import { sentence } from "../core/words";
import type { Context, View } from "../ui/context";
import { grid, kPlace, kWhere } from "../ui/grid";
import { said } from "../ui/said";

const kFarthest = 8; // times the largest value that was recorded
const kCurvePoints = 12;

const isLog = (context: Context): boolean => context.inputs.length === 1 && context.first.format === "log";
const cardWords = (context: Context): string[] => (context.state.card === "" ? [] : ["--card", context.state.card]);

function onCard(context: Context): HTMLElement {
  return h("label", {}, "fits on ", field({ id: "card", value: context.state.card, size: 16, placeholder: "24GiB, A100-40GB" }, (text) => context.change({ card: text })));
}

function contextRows(answer: Answer): HTMLElement {
  return grid({
    name: "contexts that fit",
    columns: [
      { key: "tokens", title: "Tokens each", kind: "count" },
      { key: "sequences", title: "Sequences", kind: "count" },
      { key: "kv_bytes", title: "KV cache", kind: "size" },
      { key: "kv_bytes", title: "", kind: "bar", of: Math.max(1, ...answer.rows.map((row) => asNumber(row["kv_bytes"]))) },
      { key: "own", title: "", kind: "text", text: (row) => [asNumber(row["longest"]) === 1 && "the longest that fits", asNumber(row["own"]) === 1 && "the longest that the server takes"].filter(Boolean).join(", ") },
    ],
    rows: answer.rows,
  });
}

// What the inputs differ in: a name, and a value for each.
function differ(context: Context, parameter: Parameter): HTMLElement {
  const set = (patch: Partial<Parameter>): void => context.change({ x: writeParameter({ ...parameter, ...patch }) });
  return h("fieldset", { class: "switches" }, h("legend", {}, "what the inputs differ in"),
    h("label", {}, "name ", field({ id: "x-name", value: parameter.name, size: 8, placeholder: "batch" }, (name) => set({ name: name.replace(/[=,@]/g, "") }))),
    ...context.names.map((name, i) => h("label", { title: name }, `${name.length > 40 ? `…${name.slice(-38)}` : name} `,
      field({ id: `x-${i}`, value: parameter.values[i] ?? "", size: 6, inputmode: "numeric" }, (value) => {
        const values = context.names.map((_name, j) => (j === i ? value : parameter.values[j] ?? ""));
        set({ values });
      }))));
}

function slider(context: Context, parameter: Parameter): HTMLElement {
  const values = parameter.values.map(Number);
  const [least, most] = [Math.min(...values), kFarthest * Math.max(...values)];
  const set = (at: string): void => context.change({ x: writeParameter({ ...parameter, at }) });
  const shown = h("output", {}, parameter.at);
  const range = h("input", { type: "range", id: "at-x", min: least, max: most, step: least < 16 ? 1 : 2 ** Math.floor(Math.log2(least / 8)), value: parameter.at,
    "aria-label": `${parameter.name || "value"} to predict` });
  range.addEventListener("input", () => clear(shown, range.value));
  range.addEventListener("change", () => set(range.value));
  return h("div", { class: "tools" }, h("label", {}, `predict ${parameter.name || "at"} `, range, " ", shown),
    h("label", {}, "or ", field({ id: "at-x-exact", value: parameter.at, size: 7, inputmode: "numeric" }, (at) => Number(at) > 0 && set(at))), onCard(context));
}

async function curve(context: Context, words: string[], parameter: Parameter, limit: number | undefined): Promise<HTMLElement> {
  const values = parameter.values.map(Number);
  const [least, most] = [Math.min(...values), Math.max(kFarthest * Math.max(...values), Number(parameter.at))];
  const at = Array.from({ length: kCurvePoints }, (_one, i) => Math.round(least + ((most - least) * (i + 1)) / kCurvePoints));
  const { rows } = await context.quietly([...words, "--at-x", [...new Set(at)].join(), ...context.names]);
  const setting = asText(rows[0]?.["setting"]);
  const points = rows.filter((row) => asText(row["setting"]) === setting).map((row): CurvePoint => ({
    x: asNumber(row["x"]), live: asNumber(row["live_peak"]), reserved: asNumber(row["reserved_peak"]),
    recorded: row["recorded_reserved"] === null ? undefined : asNumber(row["recorded_reserved"]) })).sort((a, b) => a.x - b.x);
  const canvas = h("canvas", { role: "img", "aria-label": `reserved and live over ${parameter.name}, from ${size(points[0]!.reserved)} to ${size(points.at(-1)!.reserved)}` });
  const element = h("div", { class: "curve" }, canvas, h("p", { class: "note" }, "squares: recorded · lines: what the fit says"));
  const picture = (width: number) => curvePicture({ name: parameter.name, points, at: Number(parameter.at), limit }, width, 300);
  context.picture = () => picture(element.clientWidth || 900);
  new ResizeObserver(() => element.clientWidth > 0 && paint(canvas, picture(element.clientWidth), isDark())).observe(element);
  return element;
}

function rowsOf(answer: Answer, name: string): HTMLElement {
  const given = (key: string): boolean => answer.rows.some((row) => row[key] !== null);
  return grid({
    name: "predicted",
    columns: [
      { key: "x", title: name === "" ? "x" : name, kind: "count" },
      { key: "live_peak", title: "Live peak", kind: "size" },
      { key: "reserved_peak", title: "Reserved peak", kind: "size" },
      { key: "reserved_peak", title: "", kind: "bar", of: Math.max(1, ...answer.rows.map((row) => asNumber(row["reserved_peak"]))) },
      { key: "recorded_reserved", title: "Recorded", kind: "size" },
      ...(given("error") ? [{ key: "error", title: "Off by", kind: "text" as const, text: (row: Row) => (row["error"] === null ? "" : percent(asNumber(row["error"]), 1)) }] : []),
      ...(given("passes") ? [{ key: "passes", title: "Fits", kind: "text" as const, text: (row: Row) => (row["passes"] === null ? "" : row["passes"] === true ? "yes" : "no") }] : []),
      { key: "setting", title: "Setting", kind: "text", text: (row) => asText(row["setting"]) || "PyTorch's defaults" },
    ],
    rows: answer.rows,
  });
}

function laws(context: Context, answer: Answer, name: string): HTMLElement | false {
  const rows = (answer["laws"] as Row[] | undefined) ?? [];
  return rows.length > 0 && h("section", { class: "below" }, h("h2", {}, `Live at the peak of ${name || "x"} ${asText(answer["laws_at"])}, by how it grows`), grid({
    name: "how rows grow",
    columns: [
      { key: "bytes", title: "Bytes", kind: "size" },
      { key: "share", title: "Share", kind: "percent", of: 1 },
      { key: "share", title: "", kind: "bar", of: 1 },
      { key: "recorded", title: "Recorded", kind: "size" },
      { key: "law", title: "Grows", kind: "text" },
      kWhere, kPlace,
    ],
    rows,
    onPick: (row) => context.change({ view: "table", by: "", row: asText(row["name"]) }),
  }));
}

async function predicted(context: Context, into: HTMLElement): Promise<void> {
  const parameter = readParameter(context.state.x === "" ? guessParameter(context.names) : context.state.x);
  const known = context.names.map((_name, i) => parameter.values[i] ?? "");
  const usable = known.every((one) => Number(one) > 0) && new Set(known.map(Number)).size === known.length;
  const fields = differ(context, parameter);
  if (!usable) {
    clear(into, fields, h("p", { class: "note" }, "Say what differs between the inputs, and its value in each: a batch size, a sequence length."));
    return;
  }
  const whole = { ...parameter, values: known, at: parameter.at === "" ? String(2 * Math.max(...known.map(Number))) : parameter.at };
  const words = ["fit", "--x", writeParameter({ ...whole, at: "" }).replace(/^=/, ""), "-n", "0", ...cardWords(context), ...filterWords(context.state, ["device"])];
  const asked = [...words, "--at-x", whole.at, ...context.names];
  const tools = slider(context, whole);
  try {
    const answer = await context.json(asked);
    const { before, after } = said(answer);
    const drawn = h("div", { class: "slot" });
    clear(into, fields, tools, ...before, drawn, rowsOf(answer, whole.name), laws(context, answer, whole.name), ...after);
    if (answer.rows.length > 0) {
      clear(drawn, await curve(context, words, whole, answer["limit"] === null ? undefined : asNumber(answer["limit"])));
    }
  } catch (error) {
    clear(into, fields, tools, h("p", { class: "error", role: "alert" }, sentence(error)));
  }
}

export const fit: View = {
  id: "fit",
  title: "Fit",
  shows: (context) => context.first.can("fit") && (isLog(context) || (context.inputs.length > 1 && context.inputs.every((one) => one.hasHistory && one.can("segments")))),
  async draw(context, into) {
    if (!isLog(context)) {
      await predicted(context, into);
      return;
    }
    const tools = h("div", { class: "tools" }, onCard(context));
    try {
      const words = ["fit", "-n", "0", ...cardWords(context), context.first.name];
      const answer = await context.json(words);
      const { before, after } = said(answer);
      clear(into, tools, ...before, contextRows(answer), ...after);
    } catch (error) {
      clear(into, tools, h("p", { class: "error", role: "alert" }, sentence(error)));
    }
  },
};
