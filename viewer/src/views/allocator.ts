// Allocator: segments at the moment with what lies free in them, and the events around it, one at a
// time; an address or a block's id finds both.
import { theme } from "../charts/palette";
import type { Picture } from "../charts/pen";
import { asNumber, asText, type Answer, type Row } from "../core/answers";
import { clear, field, h } from "../core/dom";
import { count, percent, size } from "../core/format";
import { lifetime, sentence } from "../core/words";
import { byChoice, byWords } from "../ui/by";
import type { Context, View } from "../ui/context";
import { grid, kPlace, kWhere } from "../ui/grid";
import { chosenEvent, deviceWords, firstDevice } from "../ui/moment";

const kBy = ["filefunction", "function", "line", "file", "module", "stack", "bucket"];
const kLevels = "·▁▂▃▄▅▆▇█";
const kFirstShown = 150;

interface Segment {
  row: Row;
  slices: string; // as the program draws them: · free, ▁ to █ in use, ▒ waits for a stream
}

// The program's own pictures, from its table; in the order of the rows.
function parseSlices(table: string): Map<string, string[]> {
  const found = new Map<string, string[]>();
  for (const [, address, slices] of table.matchAll(/^[^\n]*?\s(0x[0-9a-f]+)\s+([·▁▂▃▄▅▆▇█▒]+)/gm)) {
    found.set(address!, [...(found.get(address!) ?? []), slices!]);
  }
  return found;
}

function isIn(address: string, row: Row): boolean {
  try {
    const begin = BigInt(asText(row["address"]));
    return BigInt(address) >= begin && BigInt(address) < begin + BigInt(asText(row["size"]));
  } catch {
    return false;
  }
}

// The address that is looked for: also the one in an id such as b7f064c000000_0.
function parseAddress(pick: string): string | undefined {
  const id = /^[bs]([0-9a-f]+)_\d+$/i.exec(pick);
  return id !== null ? `0x${id[1]}` : /^0x[0-9a-f]+$/i.test(pick) ? pick : undefined;
}

interface Slice {
  begin: number; // parts of the whole
  end: number;
  kind: "free" | "live" | "pending";
  part: number; // how much of it is in use
}

function runs(slices: string): Slice[] {
  const letters = [...slices];
  const found: Slice[] = [];
  letters.forEach((letter, i) => {
    const level = kLevels.indexOf(letter);
    const kind = letter === "▒" ? "pending" : level === 0 ? "free" : "live";
    const part = letter === "▒" ? 1 : level / 8;
    const last = found.at(-1);
    if (last !== undefined && last.kind === kind && last.part === part) {
      last.end = (i + 1) / letters.length;
    } else {
      found.push({ begin: i / letters.length, end: (i + 1) / letters.length, kind, part });
    }
  });
  return found;
}

// Widths are sizes, but the smallest can still be seen.
function barWidth(row: Row, most: number): number {
  return 0.06 + 0.94 * (asNumber(row["size"]) / Math.max(1, most));
}

function bar(segment: Segment, most: number): HTMLElement {
  const element = h("div", { class: "fill" });
  element.style.width = `${100 * barWidth(segment.row, most)}%`;
  for (const slice of runs(segment.slices)) {
    const part = h("span", { class: slice.kind });
    part.style.width = `${100 * (slice.end - slice.begin)}%`;
    part.style.opacity = slice.kind === "live" ? String(0.35 + 0.65 * slice.part) : "1";
    element.append(part);
  }
  return element;
}

function segmentTable(context: Context, segments: Segment[], most: number): HTMLElement {
  const address = parseAddress(context.state.pick);
  const titles = ["Address", "Size", "In use", "Live", "Free", "Largest free", "Blocks", "Pool", "Stream", "", "Held by"];
  const body = h("tbody");
  let shown = kFirstShown;
  const line = ({ row, slices }: Segment): HTMLElement => {
    const text = (key: string): string => asText(row[key]);
    const bytes = (key: string): HTMLElement => h("td", { class: "size" }, row[key] === null ? "?" : size(asNumber(row[key])));
    const marks = [asNumber(row["pinned"]) === 1 && "pinned", asNumber(row["expandable"]) === 1 && "expandable",
      asNumber(row["estimated"]) === 1 && "estimated", text("pool_id") !== "(0, 0)" && `private ${text("pool_id")}`];
    const pick = (): void => context.change({ pick: context.state.pick === text("address") ? "" : text("address") });
    return h("tr", { tabindex: 0, "aria-selected": address !== undefined && isIn(address, row) ? "true" : undefined,
      click: pick, keydown: (event: KeyboardEvent) => event.key === "Enter" && pick() },
      h("td", { class: "mono" }, text("address")), bytes("size"),
      h("td", { class: "use" }, bar({ row, slices }, most)), bytes("allocated"), bytes("free"), bytes("largest_free"),
      h("td", { class: "count" }, `${count(asNumber(row["live_blocks"]))} of ${count(asNumber(row["blocks"]))}`),
      h("td", {}, text("pool")), h("td", { class: "mono" }, text("stream")),
      h("td", { class: "note" }, marks.filter((mark) => mark !== false).join(", ")), h("td", {}, text("holder")));
  };
  const more = h("button", { type: "button", class: "more", click: () => ((shown *= 4), fill()) });
  const fill = (): void => {
    body.replaceChildren(...segments.slice(0, shown).map(line));
    more.hidden = segments.length <= shown;
    more.textContent = `${count(segments.length - shown)} more segments`;
  };
  fill();
  return h("div", { class: "grid" }, h("table", { class: "segments" },
    h("thead", {}, h("tr", {}, ...titles.map((title) => h("th", { scope: "col",
      class: ["Size", "Live", "Free", "Largest free"].includes(title) ? "size" : title === "Blocks" ? "count" : "text" }, title)))),
    body), more);
}

function picture(context: Context, segments: Segment[], most: number): Picture {
  const shown = segments.slice(0, 400);
  const width = 1000;
  return { width, height: 20 * shown.length + 8, draw: (pen, dark) => {
    const colors = theme(dark);
    const address = parseAddress(context.state.pick);
    shown.forEach(({ row, slices }, i) => {
      const y = 4 + 20 * i;
      const wide = 420 * barWidth(row, most);
      pen.text(0, y + 9, asText(row["address"]), { color: colors.soft });
      pen.text(190, y + 9, size(asNumber(row["size"])), { color: colors.ink, align: "right" });
      pen.rect(200, y + 2, wide, 14, colors.shade, address !== undefined && isIn(address, row) ? colors.ink : colors.line);
      for (const slice of runs(slices).filter((one) => one.kind !== "free")) {
        pen.faint(slice.kind === "live" ? 0.35 + 0.65 * slice.part : 1);
        pen.rect(200 + wide * slice.begin, y + 2, wide * (slice.end - slice.begin), 14, slice.kind === "live" ? colors.live : colors.pending);
        pen.faint(1);
      }
      pen.text(700, y + 9, size(asNumber(row["free"])), { color: colors.soft, align: "right" });
      pen.text(710, y + 9, asText(row["holder"]), { color: colors.ink, room: width - 714 });
    });
  } };
}

// What is reserved, and how it divides: the parts of one bar.
function account(answer: Answer): HTMLElement {
  const of = (key: string): number => asNumber(answer[key]);
  const reserved = of("reserved");
  const parts: [string, string, number][] = [
    ["live", "live", of("allocated")], ["pending", "waits for a stream", of("pending_free")],
    ["returnable", "empty_cache() gives back", of("returnable_bytes")], ["reuse", "only reuse can fill", of("reuse_only_bytes")],
    ["private", "private pools keep", of("private_pool_bytes")], ["unlisted", "not listed", of("unlisted_bytes")],
  ];
  const whole = h("div", { class: "whole" });
  const key = h("p", { class: "key" });
  for (const [name, title, bytes] of parts.filter(([, , one]) => one > 0)) {
    const span = h("span", { class: name, title: `${title} ${size(bytes)}` });
    span.style.width = `${(100 * bytes) / Math.max(1, reserved)}%`;
    whole.append(span);
    key.append(h("span", {}, h("i", { class: name }), `${title} ${size(bytes)} (${percent(bytes, reserved)})`));
  }
  const fragmented = answer["fragmented_bytes"];
  return h("div", {}, h("p", { class: "lead" }, h("b", {}, `${size(reserved)} reserved`), ` in ${count(answer.rows.length)} segments`,
    fragmented === null || fragmented === undefined ? "" : ` · fragmentation ${size(asNumber(fragmented))} (${percent(asNumber(fragmented), reserved)}), for requests up to ${size(of("fragmented_for"))}`,
    ` · largest free block ${size(of("largest_free"))}`,
    of("pinned_segments") > 0 ? ` · ${count(of("pinned_segments"))} segments pinned: ${size(of("pinned_live_bytes"))} live keep ${size(of("pinned_free_bytes"))}` : ""),
  whole, key);
}

function eventGrid(context: Context, rows: Row[], chosen: number | undefined): HTMLElement {
  return grid({
    columns: [
      { key: "event", title: "Event", kind: "count" },
      ...(context.first.devices.length > 1 ? [{ key: "device", title: "Device", kind: "text" } as const] : []),
      { key: "action", title: "Action", kind: "text" },
      { key: "size", title: "Size", kind: "size" },
      { key: "allocated", title: "Live after", kind: "size" },
      { key: "id", title: "Block", kind: "text" },
      { key: "lived_events", title: "Lived", kind: "text", text: (row) => (asText(row["id"]) === "" ? "" : lifetime(row)) },
      { key: "partner", title: "Other end", kind: "count" },
      kWhere,
      kPlace,
    ],
    rows,
    picked: (row) => asNumber(row["event"]) === chosen,
    onPick: (row) => context.change({ at: `event:${asNumber(row["event"])}` }),
  });
}

async function events(context: Context): Promise<HTMLElement> {
  const { state } = context;
  const pick = state.pick.toLowerCase();
  const about = /^0x[0-9a-f]+$/.test(pick) ? ["--address", pick] : /^[bs][0-9a-f]+_\d+$/.test(pick) ? ["--id", pick] : [];
  const device = firstDevice(context);
  const chosen = device === undefined ? undefined : chosenEvent(context, device);
  const around = about.length > 0 || device === undefined || chosen === undefined ? []
    : ["--from", `event:${Math.max(0, chosen - 8)}`, "--to", `event:${Math.min(device.events - 1, Math.max(0, chosen) + 8)}`,
        ...(state.device === "" ? deviceWords(context, device) : [])];
  const answer = await context.json(["events", "-n", "200", ...about, ...around, ...context.filters, context.first.name]);
  const find = field({ id: "find", value: state.pick, placeholder: "0x7f… or b7f064c000000_0", size: 24 },
    (text) => context.change({ pick: text }));
  const step = (by: number): void => {
    const last = (device?.events ?? 1) - 1;
    context.change({ at: `event:${Math.max(0, Math.min(last, (chosen ?? 0) + by))}` });
  };
  context.keys = { "[": () => step(-1), "]": () => step(1), "{": () => step(-100), "}": () => step(100) };
  const rest = asNumber(answer["rows_cut"]);
  return h("section", {},
    h("div", { class: "tools" },
      h("h2", {}, about.length > 0 ? `events about ${state.pick}` : "events around the moment"),
      h("span", { class: "group" },
        h("button", { type: "button", id: "before", click: () => step(-1), title: "the event before ([)" }, "‹ event"),
        h("button", { type: "button", id: "after", click: () => step(1), title: "the next event (])" }, "event ›")),
      h("label", {}, "find an address or a block ", find),
      about.length > 0 && h("button", { type: "button", click: () => context.change({ pick: "" }) }, "around the moment"),
      rest > 0 && h("span", { class: "note" }, `${count(rest)} more`)),
    answer.rows.length === 0 ? h("p", { class: "note" }, "no event") : eventGrid(context, answer.rows, chosen));
}

export const allocator: View = {
  id: "allocator",
  title: "Allocator",
  shows: (context) => context.first.can("segments") || context.first.hasHistory,
  async draw(context, into) {
    const above = h("div", { class: "slot" });
    const below = h("div", { class: "slot" });
    clear(into, above, below);
    // Blocks of a program in the order of its schedule are no events of an allocator.
    if (context.first.hasHistory) {
      try {
        clear(above, await events(context));
      } catch (error) {
        clear(above, h("p", { class: "note" }, sentence(error)));
      }
    }
    const words = ["segments", "-n", "0", ...byWords(context, kBy, "filefunction"), ...context.momentAndFilters, context.first.name];
    try {
      const answer = await context.json(words);
      const slices = parseSlices(await context.text(words));
      const segments = answer.rows.map((row): Segment =>
        ({ row, slices: slices.get(asText(row["address"]))?.shift() ?? "" }));
      const most = Math.max(1, ...segments.map(({ row }) => asNumber(row["size"])));
      const address = parseAddress(context.state.pick);
      // What is looked for comes first.
      const order = address === undefined ? segments
        : [...segments.filter(({ row }) => isIn(address, row)), ...segments.filter(({ row }) => !isIn(address, row))];
      context.picture = () => picture(context, order, most);
      clear(below, account(answer), h("div", { class: "tools" }, h("h2", {}, "segments, the most free first"),
        byChoice(context, "held by", kBy, "filefunction"),
        h("span", { class: "key" }, h("i", { class: "live" }), "live ", h("i", { class: "pending" }), "waits for a stream ", h("i", { class: "free" }), "free")),
      segmentTable(context, order, most));
    } catch (error) {
      clear(below, h("p", { class: "note" }, sentence(error)));
    }
  },
};
