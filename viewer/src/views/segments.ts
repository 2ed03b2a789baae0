// The table of segments, each with a bar of what is in use in it, and how all that is reserved divides.
import { isPrivate, marksOf, slices, type Segment, type Slice, type Space } from "../charts/space";
import { asNumber, asText, type Answer, type Row } from "../core/answers";
import { h } from "../core/dom";
import { count, counted, percent, size } from "../core/format";

const kFirstShown = 40;

function isIn(address: string, row: Row): boolean {
  try {
    const begin = BigInt(asText(row["address"]));
    return BigInt(address) >= begin && BigInt(address) < begin + BigInt(asText(row["size"]));
  } catch {
    return false;
  }
}

// The address that is looked for: also the one in an id such as b7f064c000000_0.
export function parseAddress(pick: string): string | undefined {
  const id = /^[bs]([0-9a-f]+)_\d+$/i.exec(pick);
  return id !== null ? `0x${id[1]}` : /^0x[0-9a-f]+$/i.test(pick) ? pick : undefined;
}

// Widths are sizes, but the smallest can still be seen.
function barWidth(row: Row, most: number): number {
  return 0.06 + 0.94 * (asNumber(row["size"]) / Math.max(1, most));
}

// One element with a background, not one for each slice: there are thousands.
function bar(space: Space, segment: Segment, most: number): HTMLElement {
  const color = (slice: Slice): string => slice.kind === "free" ? "transparent"
    : slice.kind === "pending" ? "var(--pending)" : `color-mix(in srgb, var(--live) ${35 + 65 * slice.part}%, transparent)`;
  const element = h("div", { class: "fill" });
  element.style.width = `${100 * barWidth(segment.row, most)}%`;
  element.style.backgroundImage = `linear-gradient(to right, ${slices(space, segment)
    .map((slice) => `${color(slice)} ${100 * slice.begin}% ${100 * slice.end}%`).join(",")})`;
  return element;
}

// `pick`: the address of one that was chosen, or nothing when it was before.
export function segmentTable(space: Space, rows: Row[], block: string, pick: (address: string) => void): HTMLElement {
  const address = parseAddress(block);
  const chosen = (row: Row): boolean => address !== undefined && isIn(address, row);
  // What is looked for comes first.
  const order = [...rows.filter(chosen), ...rows.filter((row) => !chosen(row))];
  const segments = new Map(space.segments.map((segment) => [segment.row, segment]));
  const most = rows.reduce((size, row) => Math.max(size, asNumber(row["size"])), 1);
  const titles = ["Address", "Size", "In use", "Live", "Free", "Largest free", "Blocks", "Pool", "Stream", "Marks", "Held by"];
  const body = h("tbody");
  let shown = kFirstShown;
  const line = (row: Row): HTMLElement => {
    const text = (key: string): string => asText(row[key]);
    const bytes = (key: string): HTMLElement => h("td", { class: "size" }, row[key] === null ? "?" : size(asNumber(row[key])));
    const marks = [...marksOf(row), ...(isPrivate(row) ? [`private ${text("pool_id")}`] : [])];
    const choose = (): void => pick(block === text("address") ? "" : text("address"));
    return h("tr", { tabindex: 0, "aria-selected": chosen(row) ? "true" : undefined,
      click: choose, keydown: (event: KeyboardEvent) => event.key === "Enter" && choose() },
      h("td", { class: "mono" }, text("address")), bytes("size"),
      h("td", { class: "use" }, bar(space, segments.get(row)!, most)), bytes("allocated"), bytes("free"), bytes("largest_free"),
      h("td", { class: "count" }, `${count(asNumber(row["live_blocks"]))} of ${count(asNumber(row["blocks"]))}`),
      h("td", {}, text("pool")), h("td", { class: "mono" }, text("stream")),
      h("td", { class: "note" }, marks.join(", ")), h("td", {}, text("holder")));
  };
  const more = h("button", { type: "button", class: "more", click: () => ((shown *= 4), fill()) });
  const fill = (): void => {
    body.replaceChildren(...order.slice(0, shown).map(line));
    more.hidden = order.length <= shown;
    more.textContent = `${count(order.length - shown)} more segments`;
  };
  fill();
  return h("div", { class: "grid" }, h("table", { class: "segments" },
    h("thead", {}, h("tr", {}, ...titles.map((title) => h("th", { scope: "col",
      class: ["Size", "Live", "Free", "Largest free"].includes(title) ? "size" : title === "Blocks" ? "count" : "text" }, title)))),
    body), more);
}

// What is reserved, and how it divides: the parts of one bar.
export function account(answer: Answer): HTMLElement {
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
  return h("div", {}, h("p", { class: "lead" }, h("b", {}, `${size(reserved)} reserved`), ` in ${counted(answer.rows.length, "segment")}`,
    fragmented === null || fragmented === undefined ? "" : ` · fragmentation ${size(asNumber(fragmented))} (${percent(asNumber(fragmented), reserved)}), for requests up to ${size(of("fragmented_for"))}`,
    ` · largest free block ${size(of("largest_free"))}`,
    of("pinned_segments") > 0 ? ` · ${counted(of("pinned_segments"), "segment")} pinned: ${size(of("pinned_live_bytes"))} live keep ${size(of("pinned_free_bytes"))}` : ""),
  whole, key);
}
