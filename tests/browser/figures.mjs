// The figures of each view against the program's answers to the lines below it.
import { shortName, size } from "./harness.mjs";

const count = (page, selector) => page.locator(selector).count();

export const figures = {
  async overview({ check, line, lines, answerOf, text }, page, folder, label) {
    const top = await line(page, "top");
    const answer = answerOf(top, folder);
    check(`${label}: the overview's total`, (await page.locator(".card h2").allTextContents())
      .includes(`What holds most: ${size(answer.total)}`), top);
    const failed = (await page.locator(".failed").allTextContents()).filter((one) => !one.includes("no built-in dictionary fits"));
    check(`${label}: no card of the overview failed`, failed.length === 0, failed.join(" | "));
    // Each part of a gauge is a figure of the program.
    const all = await lines(page);
    const rows = all.filter((one) => /^memtool (account|oom) /.test(one)).flatMap((one) => answerOf(one, folder).rows);
    const screen = answerOf(await line(page, "overview"), folder);
    const known = new Set([...rows, ...screen.answers.oom?.rows ?? []].filter((row) => row.bytes !== null).map((row) => size(row.bytes)));
    const parts = await page.locator("div.gauge .parts li:not(:has-text('which'))").locator("b").allTextContents();
    check(`${label}: the gauge`, parts.every((part) => known.has(part)), parts.join());
    const { oom } = screen.answers;
    check(`${label}: the verdict`, oom === undefined || oom.verdict === "none" ? await count(page, ".verdict") === 0
      : await text(page, ".verdict h2") === oom.answer);
    const named = await page.locator(".parts li:has(button)").evaluateAll((items) =>
      items.map((item) => [item.querySelector(".name").textContent, item.querySelector("b").textContent]));
    if (named.length > 0) {
      const buckets = answerOf(await line(page, "buckets"), folder).rows.filter((row) => row.bytes > 0);
      check(`${label}: categories`, named.every(([name, bytes]) => buckets.some((row) => row.bucket === name && size(row.bytes) === bytes)), named.join(" | "));
    }
  },

  async timeline({ check, line, answerOf, text }, page, folder, label) {
    const answer = answerOf(await line(page, "timeline"), folder);
    const device = answer.rows[0].device;
    const says = await text(page, ".chart .says");
    const event = Number(/event ([\d,]+)/.exec(says)?.[1].replaceAll(",", "") ?? Infinity);
    // The moment itself, not the nearest point of the plot.
    const words = (await line(page, "timeline")).replace(/--top \d+/, "--top 24").replace(/--(from|to) \S+ /g, "");
    const one = words.includes("--device") || new Set(answer.rows.map((row) => row.device)).size < 2 ? "" : `--device ${device}`;
    const exact = answerOf(`${words} ${one} ${Number.isFinite(event) ? `--from event:${event} --to event:${event}` : ""}`, folder);
    const last = exact.rows.filter((row) => row.device === device && row.event <= event).at(-1);
    check(`${label}: the timeline's moment`,
      says.includes(`${size(last.allocated)} live${last.reserved === null ? "" : ` · ${size(last.reserved)} reserved`}`), says);
    const legend = await page.locator(".chart").first().locator(".legend button").evaluateAll((buttons) =>
      buttons.map((button) => [button.querySelector(".name").textContent, button.querySelector(".size").textContent]));
    for (const layer of answer.inputs[0].layers.filter((one) => one.key !== "rest")) {
      const short = shortName(layer.name);
      const name = layer.file === "" ? short : `${short}  ${layer.file}${layer.line ? `:${layer.line}` : ""}`;
      const entries = legend.filter(([one]) => one === name);  // names may be equal
      const key = exact.inputs[0].layers.find((one) => layer.key.startsWith("layer_") && one.key.startsWith("layer_")
        ? one.name === layer.name && one.file === layer.file && one.line === layer.line : one.key === layer.key)?.key;
      const rest = exact.inputs[0].layers.find((one) => one.key === "rest")?.key;
      if (key === undefined && rest !== undefined && last[rest] > 0) {
        check(`${label}: layer ${name} is not among the largest there`, entries.length === 0 || entries.some(([, bytes]) => bytes === ""), `${entries}`);
        continue;
      }
      const bytes = key === undefined ? 0 : last[key];
      check(`${label}: layer ${name}`, entries.length === 0 ? bytes === 0 : entries.some(([, one]) => one === size(bytes)), `${entries} ${bytes}`);
    }
    const top = answerOf(await line(page, "top"), folder);
    check(`${label}: what is live at the moment`, await count(page, ".below section tbody tr") === top.rows.filter((row) => row.flat !== 0).length);
  },

  async flame({ check, line, answerOf, text }, page, folder, label) {
    const answer = answerOf(await line(page, "flame"), folder);
    const says = answer.total === 0 ? "" : await text(page, ".view.flame .says");
    check(`${label}: the flame graph is of all`, answer.total === 0 || says.includes(` ${size(answer.rows[0].bytes)} · 100.0% of all`), says);
  },

  async table({ check, line, answerOf }, page, folder, label) {
    const shown = await line(page, "top");
    const answer = answerOf(shown, folder);
    check(`${label}: total of the table`, await page.locator("[data-total]").first().getAttribute("data-total") === String(answer.total), shown);
    const rows = page.locator(".view.table .beside > .slot:first-child tbody tr");
    check(`${label}: rows of the table`, await page.locator(".view.table table").first().getAttribute("aria-rowcount") === String(1 + answer.rows.length) &&
      (answer.rows.length > 200 || await rows.count() === answer.rows.length), `of ${answer.rows.length}`);
    if (answer.rows.length > 0) {
      const cells = await rows.first().locator("td").allTextContents();
      check(`${label}: first row's bytes`, cells[0] === size(answer.rows[0].flat) && cells[2] === size(answer.rows[0].cum), cells.join("|"));
    }
  },

  async allocator({ check, line, answerOf, text }, page, folder, label) {
    const events = await line(page, "events");
    if (events !== undefined) {
      check(`${label}: events`, answerOf(events, folder).rows.length === await count(page, ".view.allocator section tbody tr"), events);
    }
    const segments = await line(page, "segments");
    if (await count(page, ".segments") > 0) {
      const answer = answerOf(segments, folder);
      const lead = await text(page, ".view.allocator .lead");
      check(`${label}: what is reserved`, lead.startsWith(`${size(answer.reserved)} reserved`), lead);
      check(`${label}: segments`, await count(page, ".segments tbody tr") === Math.min(40, answer.rows.length), segments);
      const free = await page.locator(".segments tbody tr").first().locator("td").nth(4).textContent();
      check(`${label}: the freest segment`, free === size(answer.rows[0].free), free);
      check(`${label}: its picture`, await page.locator(".segments tbody tr:first-child .fill").evaluate((bar) => getComputedStyle(bar).backgroundImage.startsWith("linear-gradient(")));
    }
  },

  async graph({ check, line, answerOf, text }, page, folder, label) {
    const answer = answerOf(await line(page, "peek"), folder);
    const of = (relation) => answer.rows.filter((row) => row.relation === relation).length;
    if (await count(page, ".calls") === 0) { // the whole graph
      const drawn = answer.rows.filter((row) => row.relation === "self" && Math.abs(row.cum) >= 0.005 * answer.total).length;
      const said = drawn === 0 ? "" : await text(page, ".view.graph .tools");
      check(`${label}: functions of the call graph`, drawn === 0 || new RegExp(`(?<!\\d)${Math.min(80, drawn)} (of|function${drawn === 1 ? "(?!s)" : "s"})`).test(said), said);
      return;
    }
    check(`${label}: call graph`, await count(page, ".calls .node") === of("self") + Math.min(12, of("caller")) + Math.min(12, of("callee")));
  },

  async buckets({ check, lines, answerOf, text }, page, folder, label) {
    const shown = (await lines(page)).findLast((one) => one.startsWith("memtool buckets") && !one.includes("print"));
    if (await count(page, ".view.buckets [data-total]") === 0) {
      check(`${label}: why there are no buckets`, /no built-in dictionary fits/.test(await text(page, ".view.buckets .note")));
      return;
    }
    const answer = answerOf(shown, folder);
    check(`${label}: buckets`, await page.locator(".view.buckets [data-total]").getAttribute("data-total") === String(answer.total));
    check(`${label}: categories`, await count(page, ".view.buckets .slot tbody tr") === answer.rows.length);
  },

  async leaks({ check, line, answerOf, text }, page, folder, label) {
    const shown = await line(page, "leaks");
    if (await count(page, ".view.leaks table") > 0) {
      const answer = answerOf(shown, folder);
      check(`${label}: leaks`, await page.locator(".view.leaks table").getAttribute("aria-rowcount") === String(1 + answer.rows.length), shown);
      check(`${label}: the verdict`, answer.verdict.length === 0 || await text(page, ".view.leaks .lead") === answer.verdict[0]);
    }
  },

  async advise({ check, line, answerOf, text }, page, folder, label) {
    const answer = answerOf(await line(page, "advise"), folder);
    check(`${label}: changes`, await count(page, ".view.advise tbody tr") === answer.rows.length);
    check(`${label}: what is said of them`, await text(page, ".view.advise .lead") === answer.verdict[0], answer.verdict[0]);
  },

  async steps({ check, line, answerOf }, page, folder, label) {
    const { rows, loops: all, keepers } = answerOf(await line(page, "steps"), folder);
    const loops = all.filter((loop) => loop.kind !== "other"); // those that the program names
    const tables = page.locator(".view.steps table");
    const parts = [rows, loops, keepers].filter((one) => one.length > 0);
    check(`${label}: steps, loops and keepers`, (await tables.evaluateAll((all) => all.map((one) => Number(one.getAttribute("aria-rowcount")) - 1))).join() ===
      parts.map((one) => one.length).join());
    if (rows.length > 0) {
      const cells = await tables.first().locator("tbody tr").first().locator("td").allTextContents();
      check(`${label}: the first step's peak`, cells.includes(size(rows[0].peak)) && cells.includes(size(rows[0].live_at_end)), cells.join("|"));
    }
  },

  async oom({ check, line, answerOf, text }, page, folder, label) {
    const answer = answerOf(await line(page, "oom"), folder);
    check(`${label}: why it ran out`, await text(page, ".view.oom .answer") === answer.answer, answer.answer);
    check(`${label}: what is said of it`, (await page.locator(".view.oom .slot").first().locator(".sentences dd").allTextContents()).join("|") ===
      answer.sentences.map((one) => one.text).join("|"));
  },

  async whatif({ check, line, answerOf }, page, folder, label) {
    const { rows } = answerOf(await line(page, "whatif"), folder);
    check(`${label}: settings`, await count(page, ".view.whatif tbody tr") === rows.length);
    if (rows.length > 0) {
      const cells = await page.locator(".view.whatif tbody tr").first().locator("td").allTextContents();
      check(`${label}: the first setting`, cells.includes(size(rows[0].reserved_peak)) && cells.includes(size(rows[0].waste_peak)), cells.join("|"));
    }
  },

  async fit({ check, line, answerOf }, page, folder, label) {
    const { rows } = answerOf(await line(page, "fit"), folder);
    check(`${label}: what fits`, await page.locator(".view.fit tbody").first().locator("tr").count() === rows.length);
    const cells = await page.locator(".view.fit tbody").first().locator("tr").last().locator("td").allTextContents();
    check(`${label}: the last that fits`, cells.includes(size(rows.at(-1).reserved_peak ?? rows.at(-1).kv_bytes)), cells.join("|"));
  },

  async ranks({ check, line, answerOf }, page, folder, label) {
    const { rows, missing } = answerOf(await line(page, "ranks"), folder);
    const ranked = rows.filter((row) => row.rank !== null);
    check(`${label}: a cell for each rank`, await count(page, ".rank") === ranked.length + missing.length);
    const held = (await page.locator(".rank:not(.none) span").allTextContents()).join("|");
    check(`${label}: what ranks hold`, held === ranked.filter((row) => row.problem === null).sort((a, b) => a.rank - b.rank).map((row) => size(row.peak)).join("|"), held);
  },

  async check({ check, line, answerOf, text }, page, folder, label) {
    const shown = await line(page, "check");
    check(`${label}: limits`, shown === undefined ? (await text(page, ".view.check .slot .note")).startsWith("Give a limit")
      : answerOf(shown, folder).rows.length === await count(page, ".view.check tbody tr"), shown);
  },

  async labels({ check, line, answerOf }, page, folder, label) {
    const answer = answerOf(await line(page, "tags"), folder);
    check(`${label}: labels`, await count(page, ".view.labels .card") === Math.min(40, new Set(answer.rows.map((row) => row.key)).size));
  },

  async facts({ check, line, answerOf }, page, folder, label) {
    const info = answerOf(await line(page, "info"), folder);
    check(`${label}: facts`, await count(page, ".view.facts tbody tr") === info.rows.length);
  },
};
