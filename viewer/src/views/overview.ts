// Overview: how full the card is, when, why it ran out, who holds it, and where to go on. What
// `memtool FILE` says on one screen, drawn.
import { gaugeOf, type Gauge } from "../charts/gauge";
import { kLayers, kRest } from "../charts/palette";
import { layerFill, type Part } from "../charts/bar";
import { Colors } from "../charts/series";
import { asNumber, asText, type Answer, type Diagnostic, type Row } from "../core/answers";
import { CoreError } from "../core/core";
import { clear, h } from "../core/dom";
import { count, size } from "../core/format";
import type { DeviceFacts } from "../core/inputs";
import { linkOf } from "../core/links";
import { filterWords } from "../core/state";
import { loopsOf, loopText, sentence } from "../core/words";
import { bar, gaugeBar } from "../ui/bars";
import { Outdated, type Context, type View } from "../ui/context";
import { grid, kPlace, kWhere } from "../ui/grid";
import { chosenEvent, deviceColumn, deviceWords } from "../ui/moment";
import { failureGauge, verdict } from "../ui/verdict";
import { overTime } from "../ui/over_time";

type Answers = Record<string, Record<string, unknown> | undefined>;
interface Known { // what several cards need
  screen: Answer | undefined; // of `overview`
  answers: Answers; // in it
  colors: Colors;
  notes: Diagnostic[];
}

function card(title: string, ...content: (Node | string | false)[]): HTMLElement {
  return h("section", { class: "card" }, title !== "" && h("h2", {}, title), ...content);
}

function failed(error: unknown): HTMLElement {
  // That an input has no such answer is one, too.
  return h("p", { class: error instanceof CoreError && error.code === 3 ? "note" : "note failed" }, sentence(error));
}

const ranOut = (known: Known): Record<string, unknown> | undefined => {
  const { oom } = known.answers;
  return oom === undefined || asText(oom["verdict"]) === "none" ? undefined : oom;
};

function when(context: Context, device: DeviceFacts | undefined): string {
  const { at } = context.state;
  if (device === undefined || device.events === 0) {
    return "";
  }
  const event = chosenEvent(context, device);
  const name = at === "" && device.oomEvents.length > 0 ? "when memory ran out" : at === "" || at === "peak" ? "at the peak"
    : at === "end" ? "at the end" : at === "start" ? "at the start" : event === undefined ? `at ${at}` : "";
  return [name, event !== undefined && event >= 0 && `event ${count(event)} of ${count(device.events)}`].filter((one) => one !== "" && one !== false).join(", ");
}

// Of a single part, a bar would say nothing but look full.
function oneGauge(gauge: Gauge, title: string): HTMLElement {
  const [first] = gauge.parts;
  return h("div", { class: "gauge" }, title !== "" && h("h3", {}, title),
    gauge.parts.length > 1 || gauge.asked !== undefined ? gaugeBar(gauge) : h("p", { class: "only" }, h("b", {}, size(first!.bytes)), ` ${first!.name}`));
}

const kGauges = 8;

// A gauge for each device that is looked at: of the failure where it ran out, or of the moment.
async function gauges(context: Context, known: Known): Promise<HTMLElement> {
  const answer = await context.json(["account", ...context.moment, ...filterWords(context.state, ["device"]), context.first.name]);
  const names = [...new Set(answer.rows.map((row) => asText(row["device"])))];
  const oom = context.state.at === "" ? ranOut(known) : undefined;
  const drawn: HTMLElement[] = [];
  let unknown = 0;
  for (const name of names.slice(0, kGauges)) {
    const rows = answer.rows.filter((row) => asText(row["device"]) === name);
    const device = context.first.devices.find((one) => one.name === name) ?? (name === "" ? context.first.devices[0] : undefined);
    const own = oom !== undefined && (device?.oomEvents.length ?? 0) > 0 ? await failureOf(context, oom, device!) : undefined;
    const gauge = own ?? gaugeOf(rows);
    if (gauge !== undefined) {
      const title = [names.length > 1 && (/^\d+$/.test(name) ? `device ${name}` : name), when(context, device)].filter((one) => one !== false && one !== "").join(" · ");
      drawn.push(oneGauge(gauge, title));
      unknown += gauge.capacity === undefined ? 1 : 0;
    }
  }
  const more = names.length - kGauges;
  return drawn.length === 0 ? h("div") : card(names.length > 1 ? "On the cards" : "On the card", ...drawn,
    unknown > 0 && h("p", { class: "note" }, `The file does not say how large ${unknown > 1 ? "the cards are" : "the card is"}: the bar ends at what it tells of.`),
    more > 0 && h("p", { class: "note" }, `${more} more devices: one can be chosen above`));
}

// A log speaks of cards in its own words.
async function failureOf(context: Context, oom: Record<string, unknown>, device: DeviceFacts): Promise<Gauge | undefined> {
  const words = deviceWords(context, device);
  const answer = words.length === 0 || !context.first.can("oom") ? oom : await context.json(["oom", ...words, context.first.name]);
  return failureGauge(answer);
}

async function holders(context: Context): Promise<HTMLElement> {
  const answer = await context.json(["top", "-n", "10", ...context.momentAndFilters, ...context.names]);
  const total = asNumber(answer.total);
  const most = Math.max(...answer.rows.map((row) => Math.abs(asNumber(row["flat"]))), 1);
  return card(
    `What holds most: ${size(answer.total ?? 0)}`,
    grid({
      columns: [
        { key: "flat", title: "Holds", kind: "size" },
        { key: "flat", title: "", kind: "percent", of: total },
        { key: "flat", title: "", kind: "bar", of: most },
        kWhere,
        ...(answer.rows.some((row) => asText(row["file"]) !== "") ? [kPlace] : []),
      ],
      rows: answer.rows.filter((row) => asNumber(row["flat"]) !== 0),
      onPick: (row) => context.change({ view: "table", row: asText(row["name"]) }),
    }),
  );
}

async function changes(context: Context): Promise<HTMLElement> {
  const answer = await context.json(["diff", "-n", "10", ...context.baseWords, ...context.momentAndFilters, ...context.names]);
  return card(
    `What changed: ${size(answer.total ?? 0, true)}`,
    grid({
      columns: [
        { key: "delta", title: "Change", kind: "change" },
        { key: "base", title: "Base", kind: "size" },
        { key: "new", title: "New", kind: "size" },
        kWhere,
        kPlace,
      ],
      rows: answer.rows,
      onPick: (row) => context.change({ view: "table", row: asText(row["name"]) }),
    }),
  );
}

const kNamed = 7; // categories in a bar
const kNone = ["Others", "Unknown"]; // what is in no category
const idOf = (name: string): string => `${name}\0\0null`; // as of a layer of the timeline

async function categories(context: Context, known: Known): Promise<HTMLElement> {
  const answer = await context.json(["buckets", ...context.momentAndFilters, ...context.names]);
  known.notes.push(...answer.diagnostics);
  const axis = asText(answer.rows[0]?.["axis"]);
  const rows = answer.rows.filter((row) => asNumber(row["bytes"]) > 0 && asText(row["axis"]) === axis);
  const toPart = (row: Row): Part =>
    ({ name: asText(row["bucket"]), bytes: asNumber(row["bytes"]), fill: layerFill(known.colors.of("", idOf(asText(row["bucket"])))) });
  const parts = rows.slice(0, kLayers.length).map(toPart);
  if (rows.length > 0 && rows.every((row) => kNone.includes(asText(row["bucket"])))) {
    return h("div"); // no category fits: the rows beside it say who holds it
  }
  const by = axis === "" ? "bucket" : `bucket:${axis}`;
  return card("By category",
    rows.length === 0 ? h("p", { class: "note" }, "nothing is live at this moment")
      : bar(parts, asNumber(answer.total), (part) => context.change({ view: "table", by, row: part.name })),
    rows.length > kNamed + 1 && h("p", { class: "note" }, `and ${rows.length - parts.length} smaller ones: `,
      h("button", { type: "button", class: "link", click: () => context.change({ view: "buckets" }) }, "all categories")));
}

const named = (loop: Row): string => `${count(asNumber(loop["repetitions"]))} ${loopText(loop)}`;

// Steps, and what repeats in them: layers, passes, parameters. What is alike in several steps stands once.
async function steps(context: Context): Promise<HTMLElement> {
  const answer = await context.json(["steps", ...filterWords(context.state, ["device"]), context.first.name]);
  const alike = new Map(loopsOf(answer).map((loop) => [`${named(loop)} ${asText(loop["bytes"])}`, loop]));
  const loops = [...alike.values()].slice(0, 6);
  const there = answer.rows.length > 1;
  const several = new Set(answer.rows.map((row) => row["device"])).size > 1;
  const goTo = (event: unknown): void => context.change({ view: "timeline", at: `event:${asNumber(event)}` });
  if (!there && loops.length === 0) {
    return h("div");
  }
  return card(there ? `${count(answer.rows.length)} steps` : "What repeats",
    there && grid({
      columns: [
        ...(several ? [deviceColumn(context)] : []),
        { key: "step", title: "Step", kind: "count" },
        { key: "peak", title: "Peak", kind: "size" },
        { key: "live_at_end", title: "At its end", kind: "size" },
        { key: "peak", title: "", kind: "bar", of: Math.max(...answer.rows.map((row) => asNumber(row["peak"])), 1) },
      ],
      rows: answer.rows, most: 6, onPick: (row) => goTo(row["peak_event"]),
    }),
    loops.length > 0 && grid({
      columns: [
        { key: "bytes", title: "Each keeps", kind: "size" },
        { key: "allocated", title: "Allocates", kind: "size" },
        { key: "repetitions", title: there ? "In a step" : "", kind: "text", text: named },
      ],
      rows: loops, onPick: (row) => goTo(row["begin"]),
    }));
}

async function members(context: Context): Promise<HTMLElement> {
  const answer = await context.json(["top", "--by", "input", "-n", "0", ...context.momentAndFilters, ...context.names]);
  return card(`${count(context.inputs.length)} inputs`, grid({
    columns: [
      { key: "flat", title: "Holds", kind: "size" },
      { key: "flat", title: "", kind: "bar", of: Math.max(...answer.rows.map((row) => asNumber(row["flat"])), 1) },
      { key: "name", title: "Input", kind: "text" },
    ],
    rows: answer.rows, most: 20, onPick: (row) => context.change({ input: asText(row["name"]) }),
  }));
}

// Sentences of the program about several inputs, before its tables.
async function together(context: Context): Promise<HTMLElement> {
  const lines = (await context.text(["overview", ...context.names])).trimEnd().split("\n");
  const table = lines.findIndex((line) => /^(ranks by|CLASS |FLAT | *BASE |base: )/.test(line));
  const said = lines.slice(0, table < 0 ? lines.length : table).filter((line) => line !== "" && !/^NEXT /.test(line));
  const kind = (line: string, i: number): string => (i === 0 ? "lead" : line.startsWith("OUT OF MEMORY") ? "error" : "");
  return said.length === 0 ? h("div") : h("section", { class: "card together" }, ...said.map((line, i) => h("p", { class: kind(line, i) }, line)));
}

const kLong = 90; // letters of a command line

function onwards(context: Context, known: Known): HTMLElement {
  const rows = known.screen?.rows ?? [];
  const lines = rows.map((row) => {
    const command = asText(row["command"]);
    const link = linkOf(command, context.offers);
    const why = asText(row["why"]);
    return link !== undefined ? h("li", {}, h("button", { type: "button", class: "link", title: command, click: () => context.change(link) }, why))
      : /^memtool (?:account|oom) /.test(command) ? false // is drawn here
      : h("li", {}, `${why}: `, h("code", { title: command }, command.length > kLong ? `${command.slice(0, kLong)}…` : command));
  }).filter((line): line is HTMLLIElement => line !== false);
  return lines.length === 0 ? h("div") : card("Go on with", h("ul", { class: "ways" }, ...lines));
}

// In grey: what no reading of this file can tell, and what was read around.
function unseen(context: Context, known: Known): HTMLElement {
  const info = context.info.inputs.filter((note) => context.names.includes(note.path));
  const blind = new Map(info.flatMap((note) => (note["blind_spots"] as { what: string; why: string }[] | undefined) ?? [])
    .map(({ what, why }) => [what, why]));
  const notes = new Set([...context.info.diagnostics, ...known.screen?.diagnostics ?? [], ...known.notes].map((note) => asText(note.message)));
  return h("section", { class: "unseen" },
    blind.size > 0 && h("p", {}, "Not in ", context.inputs.length > 1 ? "these files: " : "this file: ", ...[...blind].flatMap(([what, why], i) =>
      [i > 0 && " · ", h("span", {}, h("b", {}, what), why !== "" && ` (${why})`)])),
    ...[...notes].map((note) => h("p", {}, note)),
    h("p", {}, h("button", { type: "button", class: "link", click: () => context.change({ view: "facts" }) }, "all that is known of the file")));
}

async function about(context: Context, known: Known): Promise<void> {
  try {
    known.screen = await context.json(["overview", ...context.names]);
    known.answers = known.screen["answers"] as Answers;
  } catch (error) {
    if (error instanceof Outdated) {
      throw error;
    }
  }
}

function lead(context: Context): HTMLElement {
  const said = new Map<string, number>();
  for (const note of context.info.inputs.filter((one) => context.names.includes(one.path))) {
    const format = asText(note["format_display"]) || note.format;
    said.set(format, (said.get(format) ?? 0) + 1);
  }
  return h("p", { class: "lead" }, [...said].map(([format, times]) => `${times > 1 ? `${times} × ` : ""}${format}`).join(" · "));
}

type Slot = [wanted: boolean, place: HTMLElement, draw: () => Promise<HTMLElement> | HTMLElement];

// Each has its place before it is there.
async function fill(parts: Slot[]): Promise<void> {
  const slots = parts.filter(([wanted]) => wanted).map(([, place, draw]) => ({ draw, at: place.appendChild(h("div", { class: "slot" })) }));
  for (const { draw, at } of slots) {
    try {
      clear(at, await draw());
    } catch (error) {
      if (error instanceof Outdated) {
        throw error;
      }
      clear(at, failed(error));
    }
  }
}

export const overview: View = {
  id: "overview",
  title: "Overview",
  shows: () => true,
  async draw(context, into) {
    const known: Known = { screen: undefined, answers: {}, colors: new Colors(), notes: [] };
    kNone.forEach((name) => known.colors.keep(idOf(name), kRest));
    const compared = context.bases.length > 0;
    const several = context.inputs.length > 1;
    const wide = h("div", { class: "wide" });
    const left = h("div");
    const right = h("div");
    const last = h("div", { class: "wide" });
    clear(into, lead(context), wide, h("div", { class: "columns" }, left, right), last);
    // What is quickly known is there first; a failure's gauge is of the failure, which `overview` tells of.
    const alone = !several && context.first.can("account");
    const failing = context.first.devices.some((device) => device.oomEvents.length > 0);
    await fill([
      [alone && !failing, wide, () => gauges(context, known)],
      [context.first.can("top"), right, () => holders(context)],
    ]);
    await about(context, known);
    const oom = ranOut(known);
    const growth = asText((known.answers["leaks"]?.["verdict"] as unknown[] | undefined)?.[0]);
    await fill([
      [several && !compared, wide, () => together(context)],
      [alone && failing, wide, () => gauges(context, known)],
      [oom !== undefined, wide, () => verdict(oom!, { offers: context.offers, go: (patch) => context.change(patch) })],
      [compared && context.first.can("top"), left, () => changes(context)],
      [!several && context.first.hasHistory, left, () => overTime(context, known.colors, growth)],
      [several, left, () => members(context)],
      [context.first.can("buckets"), left, () => categories(context, known)],
      [!several && context.first.hasHistory && context.first.can("steps"), right, () => steps(context)],
      [!compared, right, () => onwards(context, known)],
      [true, last, () => unseen(context, known)],
    ]);
  },
};
