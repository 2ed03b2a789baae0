// Overview: what the file is, why it ran out, what holds most, in which categories.
import { asNumber, asText } from "../core/answers";
import { clear, h } from "../core/dom";
import { size } from "../core/format";
import { sentence } from "../core/words";
import type { Context, View } from "../ui/context";
import { grid, kPlace, kWhere } from "../ui/grid";

function card(title: string, ...content: Node[]): HTMLElement {
  return h("section", { class: "card" }, h("h2", {}, title), ...content);
}

function failed(error: unknown): HTMLElement {
  return h("p", { class: "note" }, sentence(error));
}

// What `memtool FILE` prints.
async function glance(context: Context): Promise<HTMLElement> {
  const text = await context.text(["overview", ...context.names]);
  return card("At a glance", h("pre", { class: "voice" }, text.trimEnd()));
}

async function facts(context: Context): Promise<HTMLElement> {
  context.lines.push(["info", ...context.names]);
  const list = h("dl", { class: "facts" });
  for (const row of context.info.rows) {
    const property = asText(row["property"]);
    list.append(h("dt", {}, property.trim()), h("dd", {}, asText(row["value"])));
  }
  return card("What this is", list);
}

async function verdict(context: Context): Promise<HTMLElement> {
  const text = await context.text(["oom", context.first.name]);
  return card("Why it ran out", h("pre", { class: "voice" }, text.trimEnd()));
}

async function holders(context: Context): Promise<HTMLElement> {
  const answer = await context.json(["top", "-n", "10", ...context.momentAndFilters, ...context.names]);
  const total = asNumber(answer.total);
  const most = Math.max(...answer.rows.map((row) => Math.abs(asNumber(row["flat"]))), 1);
  return card(
    `What holds most: ${size(answer.total ?? 0)}`,
    grid({
      columns: [
        { key: "flat", title: "Flat", kind: "size" },
        { key: "flat", title: "", kind: "percent", of: total },
        { key: "flat", title: "", kind: "bar", of: most },
        kWhere,
        kPlace,
      ],
      rows: answer.rows.filter((row) => asNumber(row["flat"]) !== 0),
      onPick: (row) => context.change({ view: "table", pick: asText(row["name"]) }),
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
      onPick: (row) => context.change({ view: "table", pick: asText(row["name"]) }),
    }),
  );
}

async function buckets(context: Context): Promise<HTMLElement> {
  const answer = await context.json(["buckets", ...context.momentAndFilters, ...context.names]);
  const total = asNumber(answer.total);
  const rows = answer.rows.filter((row) => asNumber(row["bytes"]) !== 0 || asNumber(row["count"]) !== 0);
  return card(
    "By category",
    grid({
      columns: [
        { key: "bytes", title: "Bytes", kind: "size" },
        { key: "bytes", title: "", kind: "percent", of: total },
        { key: "bytes", title: "", kind: "bar", of: total },
        { key: "bucket", title: "Category", kind: "text" },
      ],
      rows,
      onPick: () => context.change({ view: "buckets" }),
    }),
  );
}

async function account(context: Context): Promise<HTMLElement> {
  const text = await context.text(["account", context.first.name]);
  return card("From the device down", h("pre", { class: "voice" }, text.trimEnd()));
}

export const overview: View = {
  id: "overview",
  title: "Overview",
  shows: () => true,
  async draw(context, into) {
    const parts: [boolean, (context: Context) => Promise<HTMLElement>][] = [
      [context.first.can("top") && context.bases.length === 0, glance],
      [context.inputs.some((input) => input.devices.some((d) => d.oomEvents.length > 0)), verdict],
      [context.first.can("top") && context.bases.length > 0, changes],
      [context.first.can("top"), holders],
      [context.first.can("buckets"), buckets],
      [context.first.hasHistory, account],
      [true, facts],
    ];
    const places = parts
      .filter(([wanted]) => wanted)
      .map(([, part]) => ({ part, at: h("div", { class: "slot" }) }));
    clear(into, h("div", { class: "cards" }, ...places.map(({ at }) => at)));
    for (const { part, at } of places) {
      try {
        clear(at, await part(context));
      } catch (error) {
        clear(at, failed(error));
      }
    }
  },
};
