// What is to be said of one event and its block: size, life, who allocated and who freed it, what it
// belongs to, where else it is shown, and the whole stack, in which other people's code is folded.
import { asNumber, asText, type Row } from "../core/answers";
import { append, h } from "../core/dom";
import { count, size, visible } from "../core/format";
import type { DeviceFacts } from "../core/inputs";
import { lifetime, place, shortName } from "../core/words";
import type { Context } from "./context";
import { deviceWords } from "./moment";
import { kRest } from "./rest";

const kCheap = 50_000; // events of a history, of which changes are tried unasked
const kShown = 12; // frames, before the rest is asked for

// A frame of one's own code, or those of others that lie between two such.
type Part = { own: Row } | { folded: Row[] };

const isSame = (a: Row, b: Row): boolean => a["name"] === b["name"] && a["file"] === b["file"] && a["line"] === b["line"];

// `own`: what the program leaves of `all`, in the same order.
export function foldStack(own: Row[], all: Row[]): Part[] {
  const parts: Part[] = [];
  let next = 0;
  for (const frame of all) {
    const last = parts.at(-1);
    if (next < own.length && isSame(own[next]!, frame)) {
      parts.push({ own: frame });
      next += 1;
    } else if (last !== undefined && "folded" in last) {
      last.folded.push(frame);
    } else {
      parts.push({ folded: [frame] });
    }
  }
  // A stack that is put together differently is shown as the program shows it.
  return next === own.length ? parts : own.map((frame) => ({ own: frame }));
}

const framesOf = (row: Row | undefined): Row[] => (row?.["frames"] as Row[] | undefined) ?? [];

// Innermost first; each frame leads to its row in the table.
function stack(context: Context, row: Row | undefined, whole: Row | undefined): HTMLElement | false {
  const own = framesOf(row);
  const parts = whole === undefined ? own.map((frame): Part => ({ own: frame })) : foldStack(own, framesOf(whole));
  if (parts.length === 0) {
    return false;
  }
  const frame = (one: Row): (HTMLElement | string)[] => [
    h("button", { type: "button", class: "link", title: `${asText(one["name"])}  ${place(one)}`.slice(0, 2000),
      click: () => context.change({ view: "table", by: "", row: asText(one["name"]) }) }, shortName(asText(one["name"]))),
    h("span", { class: "note" }, ` ${place(one)}`)];
  let number = 0;
  const line = (part: Part): HTMLElement => {
    if ("own" in part) {
      return h("li", { class: "own", value: (number += 1) }, ...frame(part.own));
    }
    const details = h("details", {}, h("summary", {}, `${count(part.folded.length)} of libraries and frameworks`));
    details.addEventListener("toggle", () => details.append(h("ol", {}, ...part.folded.map((one) => h("li", {}, ...frame(one))))), { once: true });
    return h("li", { class: "folded" }, details);
  };
  // As far as so many frames of one's own.
  let shown = 0;
  for (let left = kShown; shown < parts.length && left >= 0; ++shown) {
    left -= "own" in parts[shown]! ? 1 : 0;
    if (left < 0) {
      break;
    }
  }
  const list = h("ol", { class: "stack" }, ...parts.slice(0, shown).map(line));
  const rest = parts.slice(shown);
  if (rest.length === 0) {
    return list;
  }
  const more = h("button", { type: "button", class: "more", click: () => list.append(...rest.map(line)) },
    `${count(rest.reduce((sum, part) => sum + ("own" in part ? 1 : part.folded.length), 0))} more frames`);
  more.addEventListener("click", () => more.remove());
  return h("div", {}, list, more);
}

// Where in its step an allocation is made, and its category with what decides it: asked once the rest is there.
async function belongings(context: Context, device: DeviceFacts, event: number, facts: HTMLElement): Promise<void> {
  const { rows } = await context.quietly(["events", "--details", "--from", `event:${event}`, "--to", `event:${event}`,
    ...deviceWords(context, device), context.first.name]);
  const of = (key: string): string => asText(rows[0]?.[key]);
  const where = [of("step") !== "" && `step ${of("step")}`, of("phase") !== "other" && of("phase"), of("layer")].filter((part) => part !== false && part !== "");
  // Words may be long expressions: what they found says more.
  const why = of("word") === "" ? "" : `, because of ${shortName(of("matched") || of("word"))}`;
  append(facts, [where.length > 0 && h("dt", {}, "made in"), where.length > 0 && h("dd", {}, where.join(", ")),
    of("bucket") !== "" && h("dt", {}, "category"), of("bucket") !== "" && h("dd", { title: visible(`${of("word")}  ${of("matched")}`.slice(0, 2000)) }, of("bucket"), h("span", { class: "note" }, why))]);
}

// What would keep it from being held: checkpoints of the calls that it is made in.
async function spared(context: Context, frames: Row[], facts: HTMLElement): Promise<void> {
  const words = ["advise", "-n", "0", context.first.name];
  const cheap = context.first.devices.reduce((sum, device) => sum + device.events, 0) <= kCheap;
  if (!context.first.can("whatif") || !context.first.can("segments") || !(cheap || context.has(words))) {
    return;
  }
  const { rows } = await context.quietly(words);
  // Called at that line, with frames of others between.
  const around = (row: Row): boolean => frames.some((frame, i) => frame["file"] === row["file"] && frame["line"] === row["line"] &&
    frames.slice(0, i).some((inner) => inner["name"] === row["function"]));
  const best = rows.find((row) => asText(row["function"]) !== "" && asNumber(row["saves"]) > 0 && around(row));
  if (best !== undefined) {
    const change = asText(best["change"]);
    append(facts, [h("dt", {}, "within"), h("dd", {}, `${shortName(asText(best["function"]))} (${count(asNumber(best["calls"]))} calls): `,
      h("button", { type: "button", class: "link", title: "what if", click: () => context.change({ view: "whatif", conf: change, change }) }, change),
      ` saves ${size(asNumber(best["saves"]))} of the peak`)]);
  }
}

async function ask(context: Context, device: DeviceFacts, event: number, frames = context.state.frames): Promise<Row | undefined> {
  return (await context.json(["events", "--stacks", "--from", `event:${event}`, "--to", `event:${event}`,
    ...deviceWords(context, device), ...(frames === "" ? [] : ["--frames", frames]), context.first.name])).rows[0];
}

function where(context: Context, one: Row | undefined, otherwise: string): (HTMLElement | string)[] {
  if (one === undefined) {
    return [otherwise];
  }
  const event = asNumber(one["event"]);
  return [`${shortName(asText(one["name"])) || "(stack unknown)"}  ${place(one)}  at `,
    h("button", { type: "button", class: "link", title: "this moment", click: () => context.change({ at: `event:${event}` }) }, `event ${count(event)}`)];
}

// Where else a block is shown: on the map while it lives, and at its moment.
function places(context: Context, born: Row): HTMLElement {
  const at = `event:${asNumber(born["event"])}`;
  const link = (text: string, patch: Parameters<Context["change"]>[0]): HTMLElement =>
    h("button", { type: "button", class: "link", click: () => context.change(patch) }, text);
  return h("p", { class: "places" },
    link("on the map", { view: "allocator", at, block: asText(born["address"]) }),
    link("on the timeline", { view: "timeline", at, from: "", to: "" }),
    link("its row", { view: "table", by: "", at, row: asText(born["name"]) }));
}

// `known`: what else is known of the block. What nobody waits for any more is not asked.
export async function story(context: Context, device: DeviceFacts, event: number, known: [string, string][] = [],
  isLate: () => boolean = () => false): Promise<HTMLElement> {
  const row = await ask(context, device, event);
  if (row === undefined || isLate()) {
    return h("p", { class: "note" }, "no event there");
  }
  const action = asText(row["action"]);
  const partner = row["partner"];
  const id = asText(row["id"]);
  const isBlock = id.startsWith("b");
  // All at once: what an answer leads to would wait until the page has drawn. With the frames of others,
  // where they are not there already.
  const whole = async (one: number): Promise<Row | undefined> =>
    context.state.frames === "" ? ask(context, device, one, "all") : undefined;
  const end = partner === null || partner === undefined || action.startsWith("segment") ? undefined : asNumber(partner);
  const [wholeHere, other, wholeOther] = await Promise.all([whole(event),
    ...(end === undefined ? [] : [ask(context, device, end), whole(end)])]);
  const [born, gone] = action === "alloc" ? [row, other] : [other, row];
  const [bornWhole, goneWhole] = action === "alloc" ? [wholeHere, wholeOther] : [wholeOther, wholeHere];
  const [made, madeWhole] = isBlock ? [born, bornWhole] : [row, wholeHere];
  const makers = stack(context, made, madeWhole);
  const freers = isBlock && gone !== undefined && asText(gone["stack"]) !== asText(born?.["stack"]) && stack(context, gone, goneWhole);
  const facts = h("dl", { class: "facts story" },
    h("dt", {}, `event ${count(event)}`), h("dd", {}, h("b", {}, action), ` ${size(asNumber(row["size"]))}  `,
      id !== "" && h("button", { type: "button", class: "link mono", title: "this block in the allocator",
        click: () => context.change({ view: "allocator", block: id }) }, id)),
    ...known.flatMap(([name, text]) => [h("dt", {}, name), h("dd", {}, text)]),
    isBlock && h("dt", {}, "allocated"), isBlock && h("dd", {}, ...where(context, born, "before the recording")),
    isBlock && h("dt", {}, "freed"), isBlock && h("dd", {}, ...where(context, gone, "not in the recording")),
    isBlock && h("dt", {}, "lived"), isBlock && h("dd", {}, lifetime(row)),
    !isBlock && h("dt", {}, "by"), !isBlock && h("dd", {}, ...where(context, row, "")));
  if (isBlock && born !== undefined) {
    const ignore = (): void => undefined; // another moment by now, or an answer that this input has not
    const frames = framesOf(madeWhole ?? born);
    // Not while moments follow one another.
    setTimeout(() => void (isLate() || !facts.isConnected ? undefined : belongings(context, device, asNumber(born["event"]), facts).then(() => isLate() ? undefined : spared(context, frames, facts)).catch(ignore)), kRest);
  }
  return h("div", {}, facts, isBlock && born !== undefined && places(context, born),
  makers !== false && h("h3", {}, isBlock ? "allocated by" : "by"), makers,
  freers !== false && h("h3", {}, "freed by"), freers);
}
