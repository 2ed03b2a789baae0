// The figures of each view against the program's answers to the lines below it.
import { shortName, size } from "./harness.mjs";

const count = (page, selector) => page.locator(selector).count();

export const figures = {
  async overview({ check, line, answerOf }, page, folder, label) {
    const top = await line(page, "top");
    const answer = answerOf(top, folder);
    check(`${label}: the overview's total`, (await page.locator(".card h2").allTextContents())
      .includes(`What holds most: ${size(answer.total)}`), top);
    const info = answerOf(await line(page, "info"), folder);
    check(`${label}: the overview's facts`, await count(page, ".facts:not(.keys) dt") === info.rows.length);
  },

  async timeline({ check, line, answerOf, text }, page, folder, label) {
    const answer = answerOf(await line(page, "timeline"), folder);
    const device = answer.rows[0].device;
    const says = await text(page, ".chart .says");
    const event = Number(/event ([\d,]+)/.exec(says)?.[1].replaceAll(",", "") ?? Infinity);
    const last = answer.rows.filter((row) => row.device === device && row.event <= event).at(-1);
    check(`${label}: the timeline's moment`,
      says.includes(`${size(last.allocated)} live${last.reserved === null ? "" : ` · ${size(last.reserved)} reserved`}`), says);
    const legend = await page.locator(".chart").first().locator(".legend button").evaluateAll((buttons) =>
      buttons.map((button) => [button.querySelector(".name").textContent, button.querySelector(".size").textContent]));
    for (const layer of answer.inputs[0].layers) {
      const short = shortName(layer.name);
      const name = layer.file === "" ? short : `${short}  ${layer.file}${layer.line ? `:${layer.line}` : ""}`;
      const entry = legend.find(([one]) => one === name);
      check(`${label}: layer ${name}`, entry === undefined ? last[layer.key] === 0 : entry[1] === size(last[layer.key]),
        `${entry} ${last[layer.key]}`);
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
    check(`${label}: rows of the table`, await rows.count() === Math.min(200, answer.rows.length), `of ${answer.rows.length}`);
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
      check(`${label}: segments`, await count(page, ".segments tbody tr") === Math.min(150, answer.rows.length), segments);
      const free = await page.locator(".segments tbody tr").first().locator("td").nth(4).textContent();
      check(`${label}: the freest segment`, free === size(answer.rows[0].free), free);
      check(`${label}: its picture`, await count(page, ".segments tbody tr:first-child .fill span") > 0);
    }
  },

  async graph({ check, line, answerOf }, page, folder, label) {
    const answer = answerOf(await line(page, "peek"), folder);
    const of = (relation) => answer.rows.filter((row) => row.relation === relation).length;
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
      check(`${label}: leaks`, await count(page, ".view.leaks tbody tr") === Math.min(200, answer.rows.length), shown);
      check(`${label}: the verdict`, answer.verdict.length === 0 || await text(page, ".view.leaks .lead") === answer.verdict[0]);
    }
  },

  async labels({ check, line, answerOf }, page, folder, label) {
    const answer = answerOf(await line(page, "tags"), folder);
    check(`${label}: labels`, await count(page, ".view.labels .card") === new Set(answer.rows.map((row) => row.key)).size);
  },

  async facts({ check, line, answerOf }, page, folder, label) {
    const info = answerOf(await line(page, "info"), folder);
    check(`${label}: facts`, await count(page, ".view.facts tbody tr") === info.rows.length);
  },
};
