// Allocations as shapes, steps above them, and several charts on one axis.
import { execFileSync } from "node:child_process";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { size } from "../harness.mjs";

// From the bottom up: those that are live after an event, in order of allocation.
function stackAt(rows, event) {
  return rows.filter((row) => row.event <= event && (row.partner === null || event < row.partner)).sort((a, b) => a.event - b.event);
}
const sum = (rows) => rows.reduce((bytes, row) => bytes + row.size, 0);

export default async function timeline(it, { testdata, scratch }) {
  const { check, start, open, lines, line, text, answerOf, saved } = it;
  const file = join(testdata, "fit/train_512.json.gz");
  const folder = dirname(file);
  const ready = (page, has) => page.waitForSelector(`body[data-state=ready]${has === undefined ? "" : ` footer code:has-text('${has}')`}`, { timeout: 60_000 });
  const shapesOf = async (page) => answerOf((await lines(page)).find((one) => one.includes("events --largest")), folder).rows;
  const liveAt = async (page, event) =>
    answerOf(`${(await line(page, "timeline")).replace(/--(from|to) \S+ /g, "").replace(/--axis time /, "")} --from event:${event} --to event:${event}`, folder).rows.at(-1).allocated;

  // What the pointer meets on its way up, above one place of the axis.
  async function climb(page, part) {
    const box = await page.locator(".plot").first().boundingBox();
    const met = [];
    for (let y = box.height - 23; y > 14; y -= 1) {
      await page.mouse.move(box.x + 76 + (box.width - 90) * part, box.y + y);
      const says = await text(page, ".chart .says");
      const found = /block of (.*?): |smaller and earlier ones (.*)$/.exec(says);
      const what = found?.[1] ?? (found === null ? "" : `rest ${found[2]}`);
      if (met.at(-1) !== what && what !== "") {
        met.push(what);
      }
    }
    const event = Number(/event ([\d,]+)/.exec(await text(page, ".chart .says"))[1].replaceAll(",", ""));
    return { met, event };
  }
  // Neighbours of one size look like one.
  const merged = (names) => names.filter((name, i) => name !== names[i - 1]);

  // --- shapes, as the program says they are stacked ---
  {
    const page = await start("#view=timeline");
    await open(page, file);
    const rows = await shapesOf(page);
    check("every block is shown where few events are", await page.isChecked("#shapes") && rows.length > 20, `${rows.length}`);
    for (const part of [0.1, 0.33, 0.6, 0.87]) {
      const { met, event } = await climb(page, part);
      const stack = stackAt(rows, event);
      check(`blocks at ${event}`, merged(met.filter((one) => !one.startsWith("rest"))).join() === merged(stack.map((row) => size(row.size))).join(),
        `${met} but ${stack.map((row) => size(row.size))}`);
      const rest = (await liveAt(page, event)) - sum(stack);
      check(`what is none of them at ${event}`, met.at(-1) === `rest ${size(rest)}`, `${met.at(-1)} ${rest}`);
    }
    // The band is what the shapes leave of all that is live.
    await page.fill("#focus", "linear");
    await page.press("#focus", "Enter");
    await ready(page, "--focus linear");
    const some = await shapesOf(page);
    const { met, event } = await climb(page, 0.6);
    const rest = (await liveAt(page, event)) - sum(stackAt(some, event));
    check("shapes and band are all that is live", some.length < rows.length && rest > 0 && met.at(-1) === `rest ${size(rest)}`, `${met.at(-1)} ${rest}`);
    await page.close();
  }

  // --- the keyboard goes up the stack; the story is of the block ---
  for (const axis of ["", "&axis=time"]) {
    const page = await start(`#view=timeline&at=event%3A90${axis}`);
    await open(page, file);
    const stack = stackAt(await shapesOf(page), 90);
    await page.locator(".plot").focus();
    for (const row of stack.slice(0, 3)) {
      await page.keyboard.press("ArrowUp");
      await page.waitForURL((url) => url.hash.includes(`block=${row.id}`), { timeout: 10_000 }).catch(() => undefined);
      await ready(page);
      check(`up to ${row.id}${axis}`, page.url().includes(`block=${row.id}`) && page.url().includes("at=event%3A90"), page.url());
      const story = await text(page, ".story");
      check("its story", story.includes(row.id) && story.includes(size(row.size)) && (await text(page, "aside h2")) === "the block", story);
    }
    await page.keyboard.press("ArrowDown");
    await page.waitForURL((url) => url.hash.includes(`block=${stack[1].id}`), { timeout: 10_000 }).catch(() => undefined);
    check("and down again", page.url().includes(`block=${stack[1].id}`), page.url());
    if (axis !== "") {
      await page.keyboard.press("+");
      await page.waitForURL((url) => url.hash.includes("from=time"), { timeout: 10_000 }).catch(() => undefined);
      await ready(page);
      const { rows } = answerOf(await line(page, "timeline"), folder);
      const [from, to] = [...page.url().matchAll(/(?:from|to)=time%3A([\d.]+)/g)].map((found) => Number(found[1]));
      check("a range of time", to > from && rows.length > 1 && (await shapesOf(page)).length > 0, page.url());
      const zero = answerOf(`memtool events --from event:0 --to event:0 train_512.json.gz`, folder).rows[0].time_us;
      check("its events are of the range", rows.slice(1).every((row) => row.time_us >= zero + 1e6 * from - 1 && row.time_us <= zero + 1e6 * to + 1), `${from} ${to}`);
    }
    await page.close();
  }

  // --- a click chooses the moment and the block, as one entry of the history ---
  {
    const page = await start("#view=timeline");
    await open(page, file);
    const box = await page.locator(".plot").boundingBox();
    const before = await page.evaluate(() => history.length);
    await page.waitForTimeout(1500);
    check("nothing moves when the steps come", (await page.locator(".plot").boundingBox()).y === box.y);
    await page.mouse.click(box.x + box.width * 0.5, box.y + box.height - 40);
    await ready(page, "top -n 8 --at event:");
    const id = /block=(b[0-9a-f]+_\d+)/.exec(page.url())?.[1];
    const row = (await shapesOf(page)).find((one) => one.id === id);
    const at = Number(/at=event%3A(\d+)/.exec(page.url())?.[1]);
    check("a click chooses a block that is live there", row !== undefined && row.event <= at && (row.partner === null || row.partner > at), page.url());
    check("one gesture is one entry", await page.evaluate(() => history.length) === before + 1);
    const svg = await saved(page, "#save-svg");
    check("the picture names peak and reserved", svg.includes(">peak ") && svg.includes(">reserved "));
    check("shapes are in the picture", (svg.match(/<polygon/g) ?? []).length >= (await shapesOf(page)).length / 2);
    await page.uncheck("#shapes");
    await page.waitForSelector("body[data-state=ready] footer:not(:has-text('events --largest'))");
    check("without shapes", page.url().includes("shapes=off"), page.url());
    await page.close();
  }

  // --- steps, phases and layers: each is a range ---
  {
    const page = await start("#view=timeline");
    await open(page, file);
    const steps = answerOf(await line(page, "steps"), folder);
    await page.locator("canvas.bands").focus();
    for (let turn = 0; turn < 100 && !(await text(page, ".chart .says")).startsWith("step"); ++turn) { // they come after the rest
      await page.keyboard.press("ArrowRight");
      await page.waitForTimeout(100);
    }
    check("a step is named", (await text(page, ".chart .says")).startsWith(`step ${steps.rows[0].step}`), await text(page, ".chart .says"));
    await page.keyboard.press("Enter");
    await ready(page, "--from event:");
    const [from, to] = [...page.url().matchAll(/(?:from|to)=event%3A(\d+)/g)].map((found) => Number(found[1]));
    check("its range", from === steps.rows[0].begin && to === steps.rows[0].end, `${from} ${to}`);
    // Phases, from how many allocations the program counts in each.
    const births = answerOf("memtool events --action alloc train_512.json.gz", folder).rows.map((row) => row.event);
    let count = 0;
    const begins = steps.traces[0].phases.map((phase) => ({ name: phase.phase, event: births[(count += phase.allocations) - phase.allocations] }));
    const phase = begins.find((one) => one.event > from && one.event < to);
    const box = await page.locator("canvas.bands").boundingBox();
    const x = (event) => 76 + (box.width - 90) * (event - from) / (to - from);
    for (let turn = 0; turn < 100 && !(await text(page, ".chart .says")).includes(": "); ++turn) {
      await page.waitForTimeout(100);
      await page.mouse.move(box.x + x(phase.event) + 4 + turn % 2, box.y + 17 + 8);
    }
    check(`phase ${phase.name} begins at ${phase.event}`, (await text(page, ".chart .says")).startsWith(`${phase.name}:`), await text(page, ".chart .says"));
    await page.mouse.move(box.x + x(phase.event) - 4, box.y + 17 + 8);
    check("another one before it", !(await text(page, ".chart .says")).startsWith(`${phase.name}:`), await text(page, ".chart .says"));
    await page.close();
  }

  // --- several devices and several inputs: one scale, one axis, and a choice that holds for one ---
  {
    const page = await start("#view=timeline");
    await open(page, [file, join(testdata, "advise/base.json.gz")]);
    const names = await page.locator(".chart h2").allTextContents();
    check("a chart for each input", names.join() === "train_512.json.gz,base.json.gz", names.join());
    const second = page.locator(".chart").nth(1);
    await second.locator(".plot").scrollIntoViewIfNeeded();
    const box = await second.locator(".plot").boundingBox();
    await page.mouse.move(box.x + box.width * 0.1, box.y + 60);
    const both = await page.locator(".chart .says b").allTextContents();
    check("one place in both", both[0] === both[1], both.join());
    await page.locator(".plot").first().focus();
    await page.keyboard.press("+");
    await ready(page, "--from event:");
    const ranges = (await lines(page)).filter((one) => one.startsWith("memtool timeline"));
    check("both are zoomed", ranges.length === 2 && !page.url().includes("input="), ranges.join());
    await page.keyboard.press("Home");
    await page.waitForSelector("body[data-state=ready] footer:not(:has-text('--from event:3'))");
    await second.locator(".plot").scrollIntoViewIfNeeded();
    const place = await second.locator(".plot").boundingBox();
    await page.mouse.move(place.x + place.width * 0.3, place.y + 60);
    await page.mouse.down();
    await page.mouse.move(place.x + place.width * 0.6, place.y + 70, { steps: 5 });
    await page.mouse.up();
    await page.waitForSelector("body[data-state=ready] #input option[value='base.json.gz']:checked", { state: "attached" });
    check("a range is of its input", page.url().includes("input=base.json.gz") && /from=event/.test(page.url()) && await page.locator(".chart").count() === 1, page.url());
    await open(page, join(testdata, "torch/small/three_devices.pickle"));
    check("a chart for each device", (await page.locator(".chart h2").allTextContents()).join() === "device 0,device 1,device 2");
    check("out of memory is said", (await saved(page, "#save-svg")).includes("out of memory, asked for 1.00 TiB"));
    await page.close();
  }

  // --- of many events, the layers with their lows; every block on demand ---
  {
    const large = join(scratch, "large.pickle");
    execFileSync("/usr/bin/python3", [join(dirname(fileURLToPath(import.meta.url)), "../../bench/gen_snapshot.py"), "100000", large]);
    const page = await start("#view=timeline");
    await open(page, large);
    check("of many events, no blocks", !(await page.isChecked("#shapes")) && !(await lines(page)).some((one) => one.includes("--largest")));
    const box = await page.locator(".plot").boundingBox();
    await page.mouse.move(box.x + box.width * 0.4, box.y + 80);
    const says = await text(page, ".chart .says");
    const event = Number(/event ([\d,]+)/.exec(says)[1].replaceAll(",", ""));
    const row = answerOf(await line(page, "timeline"), scratch).rows.find((one) => one.event === event);
    check("the least nearby is the program's", row.lowest < row.allocated && says.includes(`at least ${size(row.lowest)} nearby`), `${says} ${row.lowest}`);
    await page.check("#shapes");
    await ready(page, "events --largest 3000");
    check("every block on demand", page.url().includes("shapes=on"), page.url());
    await page.close();
  }
}
