// Allocator: the map of memory at the moment, with the story of a block, the events around it, one at a
// time, and the segments with what lies free in them; an address or a block's id finds all three.
import { drawRequest, kGapNames } from "../charts/map";
import { colorBy, gapOfLook, holderOf, kColorBy, type ColorBy, type Key } from "../charts/looks";
import { isDark } from "../charts/palette";
import { paint } from "../charts/pen";
import { addressOf, kFree, kPending, readSpace, type Space } from "../charts/space";
import { asNumber, asText, type Answer, type Row } from "../core/answers";
import { clear, field, h } from "../core/dom";
import { count, size } from "../core/format";
import type { DeviceFacts } from "../core/inputs";
import { parseEvent, type State } from "../core/state";
import { lifetime, sentence } from "../core/words";
import { byChoice, byWords } from "../ui/by";
import { Outdated, type Context, type View } from "../ui/context";
import { grid, kPlace, kWhere } from "../ui/grid";
import { chosenEvent, deviceWords, firstDevice } from "../ui/moment";
import { WhenSeen } from "../ui/seen";
import { story } from "../ui/story";
import { keptOf, MemoryMap } from "./map";
import { account, parseAddress, segmentTable } from "./segments";

const kBy = ["filefunction", "function", "line", "file", "module", "stack", "bucket"];

function eventGrid(context: Context, rows: Row[], chosen: number | undefined, pick: (at: string) => void): HTMLElement {
  return grid({
    columns: [
      { key: "event", title: "Event", kind: "count" },
      ...(context.first.devices.length > 1 ? [{ key: "device", title: "Device", kind: "text" } as const] : []),
      { key: "action", title: "Action", kind: "text" },
      { key: "size", title: "Size", kind: "size" },
      { key: "allocated", title: "Live after", kind: "size" },
      { key: "id", title: "Block", kind: "text" },
      { key: "lived_events", title: "Lived", kind: "text", text: (row) => (asText(row["id"]) === "" ? "" : lifetime(row).replaceAll(" ", "\u00a0")) },
      { key: "partner", title: "Other end", kind: "count" },
      kWhere,
      kPlace,
    ],
    rows,
    picked: (row) => asNumber(row["event"]) === chosen,
    onPick: (row) => pick(`event:${asNumber(row["event"])}`),
  });
}


// Its arrows and buttons are used again and again: the keyboard stays where it was.
function refill(slot: HTMLElement, ...children: Parameters<typeof clear>[1][]): void {
  const { activeElement } = document;
  const id = activeElement !== null && slot.contains(activeElement) ? activeElement.id : "";
  clear(slot, ...children);
  if (id !== "") {
    document.getElementById(id)?.focus({ preventScroll: true });
  }
}

const slot = (name = ""): HTMLElement => h("div", { class: `slot ${name}`.trim() });

type Show = () => void; // puts what was made into the page

// What the view shows is brought up to date in place, the map first, so that it moves with the moment.
class Page {
  private readonly lead = slot();
  private readonly tools = slot();
  private readonly place = slot();
  private readonly request = slot();
  private readonly around = slot();
  private readonly told = h("aside", { class: "slot" });
  private readonly table = slot();
  private readonly aroundSeen = new WhenSeen(this.around);
  private readonly tableSeen = new WhenSeen(this.table);
  private readonly scrub = h("input", { type: "range", id: "scrub", min: 0, "aria-label": "the moment, as an event" });
  private readonly map: MemoryMap;
  private readonly device: DeviceFacts | undefined;
  private space: Space | undefined;
  private colors: Key | undefined;
  private next: Partial<State> | undefined;
  private busy = false;
  private latest: Promise<void> | undefined;
  private turn = 0;

  constructor(private readonly context: Context, into: HTMLElement) {
    this.device = firstDevice(context);
    this.map = new MemoryMap(context, (address) => this.refine({ block: address }));
    clear(into, context.alone(), h("div", { class: "mapped" },
      h("div", {}, this.lead, this.tools, this.place, this.request, this.around), this.told), this.table);
    this.scrub.addEventListener("input", () => this.refine({ at: `event:${this.scrub.value}` }));
    context.keys = { "[": () => this.step(-1), "]": () => this.step(1), "{": () => this.step(-100), "}": () => this.step(100) };
    this.fillTools();
  }

  private get hasMap(): boolean {
    return this.context.first.can("segments");
  }
  private get chosen(): number | undefined {
    return this.device === undefined ? undefined : chosenEvent(this.context, this.device);
  }
  private step(by: number): void {
    if (this.device === undefined) {
      return;
    }
    const last = this.device.events - 1;
    const now = parseEvent(this.next?.at ?? "") ?? this.chosen ?? 0;
    this.refine({ at: `event:${Math.max(0, Math.min(last, now + by))}` });
  }

  // Of moments that come faster than the answers, the last counts.
  private refine(patch: Partial<State>): void {
    this.next = { ...this.next, ...patch };
    if (!this.busy) {
      this.go();
    }
  }
  private go(): void {
    const patch = this.next!;
    this.next = undefined;
    this.context.refine(patch, () => this.bring());
  }

  // Done when nothing newer is under way either.
  async bring(): Promise<void> {
    this.latest = this.work(++this.turn);
    for (let seen: Promise<void> | undefined; seen !== this.latest;) {
      seen = this.latest;
      await seen;
    }
  }

  // What comes too late is not shown: another moment is on its way.
  private async work(turn: number): Promise<void> {
    this.busy = true;
    // All is asked at once, so that the core works while the page reads, and shown at once, because each frame
    // takes as long as half of the answers: the story of an event is asked first, since its answer leads to more
    // questions, then the map. Blocks of a program in the order of its schedule are no events of an allocator.
    const tell = (): Promise<Show | undefined> => this.say(this.told, turn, () => this.bringStory(turn));
    const ofEvent = this.context.state.block === "";
    const told = ofEvent ? tell() : undefined;
    const { lines } = this.context;
    const before = lines.length;
    const map = this.askMap();
    const events = this.askEvents(turn, ofEvent);
    lines.push(...lines.splice(0, before)); // below the view those of the map come first
    const read = this.say(this.place, turn, async () => this.readMap(await map));
    const rest: (Promise<unknown> | undefined)[] = [read, told, events];
    rest.forEach((one) => one?.catch(() => undefined)); // awaited below, unless another view comes first
    let shows: (Show | undefined)[];
    try {
      shows = [await read, await told];
    } finally {
      this.busy = false;
    }
    if (this.next !== undefined) {
      this.go();
    } else if (turn === this.turn) {
      this.moveScrub();
      shows.forEach((show) => show?.());
      if (!ofEvent) {
        await events; // an id is found among its events
        rest.push(tell().then((showStory) => showStory?.()));
      }
      rest.push(this.say(this.request, turn, () => this.bringRequest(turn)));
    }
    await Promise.all(rest);
  }

  private async say<T>(slot: HTMLElement, turn: number, work: () => Promise<T>): Promise<T | undefined> {
    if (turn !== this.turn) {
      return undefined;
    }
    try {
      return await work();
    } catch (error) {
      if (error instanceof Outdated) {
        throw error;
      }
      clear(slot, h("p", { class: "note" }, sentence(error)));
      return undefined;
    }
  }

  private fillTools(): void {
    const { context, device } = this;
    const named = (text: string, title: string, click: () => void, id?: string): HTMLElement =>
      h("button", { type: "button", id, title, "aria-label": text.length < 3 ? title : undefined, click }, text);
    const color = h("select", { id: "color", change: () => this.refine({ color: color.value === "holder" ? "" : color.value }) },
      ...kColorBy.filter((by) => by !== "age" || context.first.hasHistory)
        .map((by) => h("option", { value: by, selected: by === this.colorBy }, by === "holder" ? "who holds it" : by)));
    this.scrub.max = String((device?.events ?? 1) - 1);
    clear(this.tools, h("div", { class: "tools" },
      device !== undefined && h("span", { class: "group" }, named("‹ event", "the event before ([)", () => this.step(-1), "before"),
        named("event ›", "the next event (])", () => this.step(1), "after")),
      device !== undefined && this.scrub,
      this.hasMap && byChoice(context, "held by", kBy, "filefunction"), this.hasMap && h("label", {}, "colours say ", color),
      this.hasMap && h("span", { class: "group" }, named("+", "closer (+)", () => this.map.zoom(0.5)), named("−", "further (-)", () => this.map.zoom(2)),
        named("all", "all of memory (Escape)", () => this.map.all()), named("largest gap", "the largest free block", () => this.map.toGap()))));
  }

  private moveScrub(): void {
    if (document.activeElement !== this.scrub) { // a hand on it is further along
      this.scrub.value = String(this.chosen ?? 0);
    }
    this.scrub.setAttribute("aria-valuetext", `event ${count(Number(this.scrub.value))}`);
  }

  private get colorBy(): ColorBy {
    return kColorBy.find((by) => by === this.context.state.color) ?? "holder";
  }

  private askMap(): Promise<Answer> {
    const { context } = this;
    const words = ["segments", "-n", "0", ...byWords(context, kBy, "filefunction"), ...context.momentAndFilters, context.first.name];
    context.list(words); // the same figures; the blocks themselves are in JSON alone
    context.list([...words, "--blocks", "--format", "json"]);
    return context.quietly([...words, "--blocks"], "json-columns");
  }
  private readMap(answer: Answer): Show {
    const { context } = this;
    const space = readSpace(answer);
    const events = context.first.devices.reduce((most, device) => Math.max(most, device.events), 0);
    const colors = colorBy(space, this.colorBy, keptOf(context.session).looks, events);
    const lead = account(answer);
    return () => {
      const first = this.space === undefined;
      this.space = space;
      this.colors = colors;
      this.map.show(space, colors, parseAddress(context.state.block) ?? "");
      context.picture = () => this.map.picture();
      clear(this.lead, lead);
      if (first) {
        clear(this.place, this.map.element, this.map.legend);
      }
      void this.tableSeen.do(async () => this.showTable(answer.rows));
    };
  }
  private showTable(rows: Row[]): void {
    const within = this.table.contains(document.activeElement);
    clear(this.table, h("h2", {}, "segments, the most free first"),
      segmentTable(this.space!, rows, this.context.state.block, (address) => this.refine({ block: address })));
    if (within) { // the row that was chosen is now the first
      this.table.querySelector<HTMLElement>("tbody tr")?.focus();
    }
  }

  private about: Row[] = []; // events of the block that is looked at

  // Those of a block are looked through for its story.
  private askEvents(turn: number, ofEvent: boolean): Promise<void> | undefined {
    if (!this.context.first.hasHistory) {
      return undefined;
    }
    const words = this.eventWords();
    this.context.list(words);
    const bring = (): Promise<void> => this.say(this.around, turn, () => this.bringEvents(turn, words));
    return ofEvent ? this.aroundSeen.do(bring) : bring();
  }
  private get pick(): string[] {
    const pick = this.context.state.block.toLowerCase();
    return /^0x[0-9a-f]+$/.test(pick) ? ["--address", pick] : /^[bs][0-9a-f]+_\d+$/.test(pick) ? ["--id", pick] : [];
  }
  private eventWords(): string[] {
    const { context, device, chosen, pick } = this;
    const around = pick.length > 0 || device === undefined || chosen === undefined ? []
      : ["--from", `event:${Math.max(0, chosen - 8)}`, "--to", `event:${Math.min(device.events - 1, Math.max(0, chosen) + 8)}`,
          ...(context.state.device === "" ? deviceWords(context, device) : [])];
    return ["events", "-n", "200", ...pick, ...around, ...context.filters, context.first.name];
  }
  private async bringEvents(turn: number, words: string[]): Promise<void> {
    const { context, chosen } = this;
    const picks = this.pick.length > 0;
    const answer = await context.quietly(words);
    if (turn !== this.turn) {
      return;
    }
    this.about = picks ? answer.rows : [];
    const find = field({ id: "find", value: picks ? context.state.block : "", placeholder: "0x7f… or b7f064c000000_0", size: 24 },
      (text) => this.refine({ block: text }));
    const rest = asNumber(answer["rows_cut"]);
    refill(this.around, h("section", {},
      h("div", { class: "tools" },
        h("h2", {}, picks ? `events about ${context.state.block}` : "events around the moment"),
        h("label", {}, "find an address or a block ", find),
        picks && h("button", { type: "button", click: () => this.refine({ block: "" }) }, "around the moment"),
        rest > 0 && h("span", { class: "note" }, `${count(rest)} more`)),
      answer.rows.length === 0 ? h("p", { class: "note" }, "no event") : eventGrid(context, answer.rows, chosen, (at) => this.refine({ at }))));
  }

  // Of the block that is looked at, or of the event at the moment.
  private async bringStory(turn: number): Promise<Show> {
    const { context, space } = this;
    const block = context.state.block === "" ? -1 : this.map.chosenBlock;
    const isId = /^[bs]/i.test(context.state.block);
    const isLate = (): boolean => turn !== this.turn;
    const tell = (...parts: Parameters<typeof clear>[1][]): Show => () => isLate() ? undefined : clear(this.told, ...parts);
    if (space === undefined || block < 0 || isId) {
      const told = context.state.block === "" ? this.chosen
        : this.about.map((row) => (asText(row["action"]) === "alloc" ? asNumber(row["event"]) : undefined)).find((one) => one !== undefined);
      const shown = this.device === undefined || told === undefined || told < 0 ? undefined : await story(context, this.device, told, [], isLate);
      const isGone = context.state.block !== "" && space !== undefined && block < 0;
      return tell(shown !== undefined && h("h2", {}, context.state.block === "" ? "the event" : "its allocation"),
        isGone && h("p", { class: "note" }, `nothing is reserved at ${context.state.block} at this moment`), shown);
    }
    const facts = factsOf(space, this.colors!, block);
    const event = space.event[block]!;
    const number = asNumber(space.segments[space.segment[block]!]!.row["device"]);
    const device = context.first.devices.find((one) => one.device === number) ?? this.device;
    const shown = event < 0 || device === undefined || space.state[block] === kFree
      ? h("dl", { class: "facts story" }, ...facts.flatMap(([name, text]) => [h("dt", {}, name), h("dd", {}, text)]))
      : await story(context, device, event, facts, isLate);
    return tell(h("h2", {}, space.state[block] === kFree ? "a free block" : `the block at ${addressOf(space, block)}`), shown);
  }

  // Where memory ran out: what was asked for against the largest block that is free, in the program's words.
  private async bringRequest(turn: number): Promise<void> {
    const { context } = this;
    const { at } = context.state;
    const devices = context.first.devices.filter((device) => device.oomEvents.length > 0 &&
      (at === "" || at.startsWith("oom") || device.oomEvents.includes(parseEvent(at) ?? -1)));
    if (devices.length === 0 || !context.first.can("oom")) {
      clear(this.request);
      this.map.onPlace = undefined;
      return;
    }
    const answer = await context.json(["oom", ...context.moment, ...context.deviceAndFrames, context.first.name]);
    if (turn !== this.turn || answer["asked"] === null || answer["asked"] === undefined) {
      return;
    }
    const why = ((answer["sentences"] as Row[] | undefined) ?? []).filter((one) => one["kind"] === "WHY").map((one) => asText(one["text"]));
    const asked = asNumber(answer["asked"]);
    const gap = asNumber(answer["usable_largest"] ?? answer["largest_free"]);
    const canvas = h("canvas", { role: "img", "aria-label": `asked for ${size(asked)}; the largest free block is ${size(gap)}` });
    clear(this.request, h("div", { class: "request" }, h("h2", {}, "the request that failed, beside the largest block that it could have had"), canvas,
      h("p", {}, `${asText(answer["answer"])}${why.map((one) => ` · ${one}`).join("")}`)));
    const draw = (): void => {
      const width = canvas.parentElement!.clientWidth;
      if (width > 0) {
        paint(canvas, { width, height: 36, draw: (pen, dark) => drawRequest(pen, dark, asked, gap, this.map.scale, width) }, isDark());
      }
    };
    this.map.onPlace = draw;
    new ResizeObserver(draw).observe(canvas.parentElement!);
  }
}

// What the state itself knows of a block, with or without a recorded allocation.
function factsOf(space: Space, key: Key, block: number): [string, string][] {
  const bytes = space.size[block]!;
  const { row, envelope } = space.segments[space.segment[block]!]!;
  const rounding = bytes - space.requested[block]!;
  const where: [string, string] = ["in", [`the segment of ${size(asNumber(row["size"]))} at ${asText(row["address"])}`, asText(row["pool"]), envelope,
    `stream ${asText(row["stream"])}`].filter((part) => part !== "").join(", ")];
  if (space.state[block] === kFree) {
    return [["at", addressOf(space, block)], ["size", size(bytes)], ["what fills it", kGapNames[gapOfLook(key.of[block]!)]], where];
  }
  return [["at", addressOf(space, block)],
    ["takes", `${size(bytes)}${rounding > 0 && rounding < bytes ? `: ${size(space.requested[block]!)} asked for, ${size(rounding)} rounding` : ""}`],
    ["held by", holderOf(space, block)],
    ...(space.state[block] === kPending ? [["state", "freed, but a stream may still use it"] as [string, string]] : []),
    ...(space.event[block]! < 0 ? [["allocated", "before the recording, or not recorded"] as [string, string]] : []), where];
}

export const allocator: View = {
  id: "allocator",
  title: "Allocator",
  shows: (context) => context.first.can("segments") || context.first.hasHistory,
  async draw(context, into) {
    const page = new Page(context, into);
    await page.bring();
    context.onMoment = () => page.bring();
  },
};
