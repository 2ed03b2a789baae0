// Allocator: segments at the moment, and the events around it, one at a time.
import { asNumber, asText, type Row } from "../answers";
import type { Context, View } from "../context";
import { clear, field, h } from "../dom";
import { count, percent, size } from "../format";
import { grid } from "../grid";
import { place } from "./overview";
import { eventOf } from "./timeline";

function fill(row: Row): HTMLElement {
  const whole = Math.max(1, asNumber(row["size"]));
  const part = (className: string, bytes: number): HTMLElement => {
    const span = h("span", { class: className, title: `${className} ${size(bytes)}` });
    span.style.width = `${(100 * bytes) / whole}%`;
    return span;
  };
  const live = asNumber(row["allocated"]);
  const active = asNumber(row["active"]);
  return h("div", { class: "fill" }, part("live", live), part("pending", Math.max(0, active - live)));
}

function segmentTable(context: Context, rows: Row[]): HTMLElement {
  const table = h("table", { class: "segments" },
    h("thead", {}, h("tr", {}, ...["Address", "Size", "Live", "Free", "In use", "Largest free", "Pool", "Stream", "Held by"]
      .map((title) => h("th", { scope: "col" }, title)))));
  const body = h("tbody");
  for (const row of rows.slice(0, 400)) {
    const element = h("tr", { tabindex: 0,
      click: () => context.change({ pick: asText(row["address"]) }) },
      h("td", { class: "mono" }, asText(row["address"])),
      h("td", { class: "size" }, size(asNumber(row["size"]))),
      h("td", { class: "size" }, size(asNumber(row["allocated"]))),
      h("td", { class: "size" }, size(asNumber(row["free"]))),
      h("td", {}, fill(row)),
      h("td", { class: "size" }, size(asNumber(row["largest_free"]))),
      h("td", {}, asText(row["pool"])),
      h("td", { class: "mono" }, asText(row["stream"])),
      h("td", {}, asText(row["holder"])));
    body.append(element);
  }
  table.append(body);
  return h("div", { class: "grid" }, table,
    rows.length > 400 ? h("p", { class: "note" }, `${count(rows.length - 400)} more segments`) : "");
}

function eventGrid(context: Context, rows: Row[]): HTMLElement {
  return grid({
    columns: [
      { key: "event", title: "Event", kind: "count" },
      { key: "action", title: "Action", kind: "text" },
      { key: "size", title: "Size", kind: "size" },
      { key: "allocated", title: "Live after", kind: "size" },
      { key: "id", title: "Block", kind: "text" },
      { key: "lived_events", title: "Lives (events)", kind: "count" },
      { key: "name", title: "Where", kind: "text" },
      { key: "file", title: "Place", kind: "text", text: place },
    ],
    rows,
    picked: (row) => asNumber(row["event"]) === eventOf(context.state.at),
    onPick: (row) => context.change({ at: `event:${asNumber(row["event"])}` }),
  });
}

async function events(context: Context): Promise<HTMLElement> {
  const { state } = context;
  const pick = state.pick;
  const about = /^0x[0-9a-f]+$/i.test(pick) ? ["--address", pick] : /^[bs][0-9a-f]+_\d+$/.test(pick) ? ["--id", pick] : [];
  const chosen = eventOf(state.at);
  const around = about.length > 0 || chosen === undefined ? []
    : ["--from", `event:${Math.max(0, chosen - 10)}`, "--to", `event:${chosen + 10}`];
  const answer = await context.json(["events", "-n", "200", ...about, ...around, ...context.filters, context.first.name]);
  const find = field({ id: "find", value: pick, placeholder: "0x7f… or b7f064c000000_0", size: 26 },
    (text) => context.change({ pick: text }));
  const step = (by: number): void => {
    context.change({ at: `event:${Math.max(0, (chosen ?? 0) + by)}`, pick: "" });
  };
  return h("section", {},
    h("div", { class: "tools" },
      h("h2", {}, "Events"),
      h("button", { type: "button", click: () => step(-1), title: "the event before" }, "‹ event"),
      h("button", { type: "button", click: () => step(1), title: "the next event" }, "event ›"),
      h("label", {}, "address or block ", find)),
    eventGrid(context, answer.rows));
}

export const allocator: View = {
  id: "allocator",
  title: "Allocator",
  shows: (context) => context.first.hasSegments || context.first.hasHistory,
  async draw(context, into) {
    const place = h("div", { class: "slot" });
    const below = h("div", { class: "slot" });
    clear(into, place, below);
    try {
      const answer = await context.json(["segments", "-n", "0", ...context.momentAndFilters, context.first.name]);
      const reserved = asNumber(answer["reserved"]);
      clear(place,
        h("p", { class: "lead" },
          `${size(reserved)} reserved = ${size(asNumber(answer["allocated"]))} live + `,
          `${size(asNumber(answer["pending_free"]))} waiting for a stream + ${size(asNumber(answer["free"]))} free `,
          `(${percent(asNumber(answer["free"]), reserved)}) · largest free ${size(asNumber(answer["largest_free"]))} · `,
          `${count(answer.rows.length)} segments, ${asText(answer["pinned_segments"])} pinned`),
        segmentTable(context, answer.rows));
    } catch (error) {
      clear(place, h("p", { class: "note" }, error instanceof Error ? error.message : String(error)));
    }
    if (context.first.hasHistory) {
      clear(below, await events(context));
    }
  },
};
