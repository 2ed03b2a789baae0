// Drives the page in a browser: every view of every kind of input shows what the command line
// answers, nothing is asked of the network, nothing is logged as an error.
// usage: node page_test.mjs --page memtool.html --memtool PROGRAM --testdata DIR
//        [--browser /usr/bin/chromium] [--firefox] [--large SNAPSHOT] [--shots FOLDER]
import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { figures } from "./figures.mjs";
import { harness, kViews, size } from "./harness.mjs";

const { values: given } = parseArgs({
  options: {
    page: { type: "string" }, memtool: { type: "string" }, testdata: { type: "string" },
    browser: { type: "string", default: "/usr/bin/chromium" }, firefox: { type: "boolean", default: false },
    large: { type: "string" }, shots: { type: "string" },
  },
});
const testdata = resolve(given.testdata);
const it = await harness({ ...given, memtool: resolve(given.memtool) });
const { check, start, settled, open, compare, show, shown, line, text, answerOf, saved } = it;
const scratch = mkdtempSync(join(tmpdir(), "page_test."));
process.on("exit", () => rmSync(scratch, { recursive: true, force: true }));

function largeSnapshot() {
  const maker = join(dirname(fileURLToPath(import.meta.url)), "../bench/gen_snapshot.py");
  const path = join(scratch, "large.pickle");
  execFileSync("/usr/bin/python3", [maker, "100000", path]);
  return path;
}

// A picture of its own: XML, without anything that acts or is fetched.
async function checkSvg(page, label) {
  const svg = await saved(page, "#save-svg");
  const found = await page.evaluate((source) => {
    const parsed = new DOMParser().parseFromString(source, "image/svg+xml");
    const all = [...parsed.querySelectorAll("*")];
    return {
      broken: parsed.querySelector("parsererror") !== null,
      tags: [...new Set(all.map((element) => element.localName))],
      acts: all.some((element) => [...element.attributes].some((one) => /^on|href$/.test(one.name))),
    };
  }, svg);
  const plain = new Set(["svg", "title", "rect", "polygon", "polyline", "path", "text", "g", "clipPath"]);
  check(`${label}: the SVG is well-formed`, !found.broken && svg.startsWith("<svg "), svg.slice(0, 200));
  check(`${label}: the SVG only draws`, found.tags.every((tag) => plain.has(tag)) && !found.acts, found.tags.join());
  return svg;
}
const kPictures = new Set(["timeline", "flame", "allocator", "graph"]);

// --- every view of every kind of input ---
async function everyView(path, views) {
  const file = resolve(testdata, path);
  const label = basename(path);
  const page = await start();
  await open(page, file);
  check(`${label}: opens`, await page.getAttribute("body", "data-state") === "ready", await text(page, "main"));
  const offered = await shown(page);
  check(`${label}: its views`, kViews.filter((view) => offered.includes(view)).join() === views.join(), offered.join());
  for (const view of offered) {
    await show(page, view);
    check(`${label}: ${view} has no fault`, await page.locator("main [role=alert]").count() === 0, await text(page, "main"));
    await figures[view](it, page, dirname(file), label);
    if (kPictures.has(view) && !(await page.locator("#save-svg").isDisabled())) {
      await checkSvg(page, `${label}, ${view}`);
    }
  }
  await page.close();
}

const plain = ["overview", "flame", "table", "graph", "buckets", "labels", "facts"];
const recorded = ["overview", "timeline", "flame", "table", "allocator", "graph", "buckets", "leaks", "facts"];
const labelled = kViews;
await everyView("pprof/jax_leak/memory9.prof", plain);
await everyView("pprof/jax_funcs/memory.prof", plain);
await everyView("mxnet/sockeye/memory.log", plain);
await everyView("torch/small/native.pickle", labelled);
await everyView("torch/small/three_devices.pickle", labelled);
await everyView("fit/train_512.json.gz", recorded);
await everyView("xplane/train.xplane.pb", labelled);
await everyView("capture_log/small/log.mtcap", labelled);
await everyView("memtool_file/snapshot.memtool", labelled);
await everyView(given.large === undefined ? largeSnapshot() : resolve(given.large), recorded);

// --- moment, range, filter, deep link ---
{
  const file = join(testdata, "fit/train_512.json.gz");
  const page = await start("#view=table&at=event%3A120&by=line&sort=-cum");
  await open(page, file);
  check("the link's line", (await line(page, "top")).includes("--by line --at event:120"), await line(page, "top"));
  const first = await page.locator(".view.table tbody tr").first().locator("td").nth(2).textContent();
  const answer = answerOf(await line(page, "top"), dirname(file));
  check("the link's order", first === size(Math.min(...answer.rows.map((row) => row.cum))), first);
  await page.fill("#focus", "optimizer");
  await page.press("#focus", "Enter");
  await page.waitForSelector("body[data-state=ready] footer code:has-text('--focus optimizer')");
  await page.locator(".view.table th button").first().click();
  await figures.table(it, page, dirname(file), "a filter");
  await page.fill("#search", "^optim");
  await page.waitForSelector(".tools .note:has-text('1 rows')");
  check("rows with a word", await page.locator(".view.table tbody tr").count() === 1);
  await page.fill("#search", "");
  await page.fill("#focus", "");
  await page.press("#focus", "Enter");
  await page.waitForSelector("body[data-state=ready] footer code:not(:has-text('--focus'))");

  await show(page, "timeline");
  const box = await page.locator(".plot").boundingBox();
  await page.mouse.move(box.x + box.width * 0.25, box.y + 50);
  await page.mouse.down();
  await page.mouse.move(box.x + box.width * 0.75, box.y + 60, { steps: 5 });
  await page.mouse.up();
  await page.waitForSelector("body[data-state=ready] footer code:has-text('--from event:')");
  check("a range is in the address", /from=event/.test(page.url()), page.url());
  const range = answerOf(await line(page, "timeline"), dirname(file));
  const [from, to] = [...page.url().matchAll(/(?:from|to)=event%3A(\d+)/g)].map((found) => Number(found[1]));
  check("the range's line is of the range", range.rows.at(-1).event <= to && range.rows[1].event >= from && to - from < 130, `${from} ${to}`);
  await page.goBack();
  await page.waitForSelector("body[data-state=ready] footer code:not(:has-text('--from'))");
  check("back takes the range away", !/from=event/.test(page.url()), page.url());
  await page.locator(".plot").click({ position: { x: box.width * 0.5, y: 100 } });
  await page.waitForSelector("body[data-state=ready] footer code:has-text('top -n 8 --at event:')");
  const moment = await line(page, "top");
  const live = answerOf(moment, dirname(file));
  const says = await text(page, ".chart .says");
  check("a click chooses the moment", /at=event/.test(page.url()) && says.includes(`${size(live.total)} live`), `${says} ${moment}`);
  const story = await text(page, ".story");
  const event = answerOf(await line(page, "events"), dirname(file)).rows[0];
  check("the event's story", story.includes(event.action) && story.includes(size(event.size)) && (event.id === "" || story.includes(event.id)), story);
  await page.selectOption("#axis", "time");
  await page.waitForSelector("body[data-state=ready] footer code:has-text('--axis time')");
  await page.selectOption("#by", "bucket");
  await page.waitForSelector("body[data-state=ready] footer code:has-text('--by bucket')");
  check("layers by bucket", (await page.locator(".legend .name").allTextContents()).includes("Others"));

  await show(page, "flame");
  check("the moment drives the flame graph", (await line(page, "flame")).includes("--at event:"));
  await page.fill("#search", "optim");
  await page.waitForSelector(".tools .note:has-text('match')");
  check("search says its share", /match, \d/.test(await text(page, ".tools")), await text(page, ".tools"));
  const whole = await text(page, ".view.flame .says");
  await page.selectOption("#up", "leaves");
  await page.waitForSelector("body[data-state=ready] #up option[value=leaves]:checked", { state: "attached" });
  check("turned over, all is the same", (await text(page, ".view.flame .says")).split("·")[0] === whole.split("·")[0]);
  await page.close();
}

// --- an address, an id, one event after the other ---
{
  const file = join(testdata, "fit/train_512.json.gz");
  const page = await start("#view=allocator&at=event%3A100");
  await open(page, file);
  await page.fill("#find", "b829800000000_0");
  await page.press("#find", "Enter");
  await page.waitForSelector("body[data-state=ready] footer code:has-text('--id b829800000000_0')");
  const about = answerOf(await line(page, "events"), dirname(file)).rows.length;
  check("an id's events", await page.locator(".view.allocator section tbody tr").count() === about && about === 3, about);
  check("the id's segment comes first", (await text(page, ".segments tbody tr[aria-selected] td")) === "0x829800000000");
  await page.fill("#find", "0x829800000100");
  await page.press("#find", "Enter");
  await page.waitForSelector("body[data-state=ready] footer code:has-text('--address 0x829800000100')");
  check("an address inside a segment", (await text(page, ".segments tbody tr[aria-selected] td")) === "0x829800000000");
  await page.click("text=around the moment");
  await page.waitForSelector("body[data-state=ready] footer code:has-text('--from event:92 --to event:108')");
  await page.locator("main").focus();
  await page.keyboard.press("]");
  await page.waitForSelector("body[data-state=ready] footer code:has-text('--from event:93 --to event:109')");
  check("a key steps to the next event", /at=event%3A101/.test(page.url()), page.url());
  const selected = await page.locator(".view.allocator section tr[aria-selected] td").first().textContent();
  check("the event is marked", selected === "101", selected);
  check("the segments are those of the event", (await line(page, "segments")).includes("--at event:101"));
  await page.close();
}

// --- the keyboard alone ---
{
  const page = await start();
  await open(page, join(testdata, "fit/train_512.json.gz"));
  const state = (found) => page.waitForSelector(`body[data-state=ready] ${found}`, { timeout: 30_000 });
  await page.locator("main").focus();
  await page.keyboard.press("2");
  await state("#view-timeline[aria-current=page]");
  await page.locator(".plot").focus();
  await page.keyboard.press("+");
  await state("footer code:has-text('--from event:')");
  check("the plot keeps the keyboard", await page.evaluate(() => document.activeElement?.className) === "plot");
  await page.keyboard.press("Home");
  await state("footer:not(:has-text('--from event:60'))");
  await page.keyboard.press("ArrowLeft");
  await state("footer code:has-text('--at event:')");
  const before = page.url();
  await page.keyboard.press("Shift+ArrowLeft");
  await page.waitForURL((url) => url.href !== before);
  await state("footer code:has-text('--at event:')");
  check("arrows move the moment", /at=event/.test(page.url()), page.url());
  await page.keyboard.press("3");
  await state("#view-flame[aria-current=page]");
  await page.locator(".flame canvas").first().focus();
  await page.keyboard.press("ArrowDown");
  await page.keyboard.press("ArrowDown");
  const frame = await page.locator(".view.flame .says b").textContent();
  await page.keyboard.press("Enter");
  await page.keyboard.press("t");
  await state("#view-table[aria-current=page]");
  check("a frame's row", (await text(page, ".neighbours h2")) === frame, frame);
  await page.locator(".view.table tbody tr").first().focus();
  await page.keyboard.press("ArrowDown");
  await page.keyboard.press("Enter");
  await state("aside h2");
  const second = await page.locator(".view.table .slot tbody tr").nth(1).locator("td.text").first().textContent();
  check("Enter picks a row", (await text(page, ".neighbours h2")) === second, second);
  await page.locator("main").focus();
  await page.keyboard.press("/");
  check("/ goes to the search", await page.evaluate(() => document.activeElement?.id) === "search");
  await page.locator("main").focus();
  await page.keyboard.press("6");
  await state("#view-graph[aria-current=page]");
  await page.locator(".calls .node").first().focus();
  await page.keyboard.press("Enter");
  await state("#view-graph[aria-current=page]");
  check("Enter moves on in the call graph", /pick=build/.test(page.url()), page.url());
  await page.keyboard.press("?");
  check("? lists the keys", await page.locator(".keys").isVisible());
  await page.close();
}

// --- a base ---
{
  const folder = join(testdata, "pprof/jax_leak");
  const page = await start("#view=table");
  await open(page, join(folder, "memory9.prof"));
  await compare(page, join(folder, "memory1.prof"));
  const answer = answerOf(await line(page, "diff"), folder);
  const change = await page.locator(".view.table tbody tr").first().locator("td").first().textContent();
  check("a base: the change", change === size(answer.rows[0].delta, true) && answer.rows[0].delta === 1760000, change);
  await show(page, "flame");
  const tree = answerOf(await line(page, "flame"), folder);
  check("a base: the flame graph", tree.difference && (await text(page, ".view.flame .says")).includes(`${size(tree.rows[0].change, true)} since the base`));
  check("a base: what grew in the SVG", (await checkSvg(page, "a base")).includes("+1.68 MiB"));
  await show(page, "buckets");
  const categories = answerOf(await line(page, "diff"), folder);
  check("a base: buckets", (await text(page, ".view.buckets .lead")).startsWith(size(categories.total, true)));
  await show(page, "overview");
  check("a base: the overview", (await page.locator(".card h2").allTextContents()).includes("What changed: +1.68 MiB"));
  await page.close();
}

// --- two of one name: both are read, side by side or against each other ---
{
  const one = { name: "memory.prof", mimeType: "", buffer: readFileSync(join(testdata, "pprof/jax_leak/memory1.prof")) };
  const two = { name: "memory.prof", mimeType: "", buffer: readFileSync(join(testdata, "pprof/jax_leak/memory9.prof")) };
  mkdirSync(join(scratch, "2"));
  writeFileSync(join(scratch, "memory.prof"), two.buffer);
  writeFileSync(join(scratch, "2/memory.prof"), one.buffer);
  const page = await start("#view=table");
  await open(page, [two, one]);
  await figures.table(it, page, scratch, "two of one name");
  check("two of one name: their sum", await page.locator("[data-total]").getAttribute("data-total") === "9840000");
  await open(page, [two]);
  await compare(page, [one]);
  check("a base of the same name", answerOf(await line(page, "diff"), scratch).total === 1760000, await line(page, "diff"));
  check("a base of the same name: the change", (await text(page, ".view.table tbody tr td")) === "+1.68 MiB");
  await page.close();
}

// --- dropping a file ---
async function drop(page, name, path, on = "body") {
  await page.evaluate(([name, bytes, on]) => {
    const data = Uint8Array.from(atob(bytes), (letter) => letter.charCodeAt(0));
    const dragged = new DataTransfer();
    dragged.items.add(new File([data], name));
    document.querySelector(on).dispatchEvent(new DragEvent("drop", { dataTransfer: dragged, bubbles: true, cancelable: true }));
  }, [name, readFileSync(path).toString("base64"), on]);
  await settled(page);
}
{
  const page = await start("#view=table");
  await drop(page, "memory9.prof", join(testdata, "pprof/jax_leak/memory9.prof"));
  await figures.table(it, page, join(testdata, "pprof/jax_leak"), "a dropped file");
  await drop(page, "memory1.prof", join(testdata, "pprof/jax_leak/memory1.prof"), "#compare");
  await page.waitForSelector("body[data-state=ready] footer code:has-text('--diff-base memory1.prof')");
  check("a base that is dropped", (await text(page, ".view.table tbody tr td")) === "+1.68 MiB");
  const csv = await saved(page, "#save");
  check("the CSV", csv.split("\r\n")[1].startsWith('"+1.68 MiB"'), csv.slice(0, 200));
  // Names of files are strangers' words too.
  for (const name of ["<img src=x onerror=alert(1)>.prof", "--help", "-n", "'; rm -rf .prof", "a b\u202e.prof"]) {
    await drop(page, name, join(testdata, "pprof/jax_leak/memory9.prof"));
    check(`a file named ${name}`, await page.getAttribute("body", "data-state") === "ready" &&
      await page.locator("[data-total]").getAttribute("data-total") === "5800000", await text(page, "main"));
    check(`a file named ${name} stays text`, await page.locator("header img, main img").count() === 0);
  }
  await page.close();
}

// --- keywords edited in the page: Others shrinks ---
{
  const page = await start("#view=buckets");
  await open(page, join(testdata, "fit/train_512.json.gz"));
  await page.fill("#keywords", "keywords:\n  Mine:\n    - optimizer\n");
  await page.waitForSelector("body[data-state=ready] .view.buckets td:has-text('Mine')");
  const mine = await page.locator(".view.buckets tr:has-text('Mine') td").first().textContent();
  check("a category of the page's own", mine === "139.59 MiB", mine);
  check("Others shrinks", (await text(page, ".view.buckets .lead")).includes("Others 286.66 MiB (67.3%)"));
  await page.fill("#keywords", "keywords: [");
  await page.waitForSelector("body[data-state=ready] .view.buckets .note:has-text('SETME.yaml')");
  await page.close();
}

// --- hostile names in every view ---
for (const path of ["pprof/hostile/names.pb.gz", "hostile_names/snapshot.json", "hostile_names/mxnet.log", "hostile_names/log.mtcap"]) {
  const page = await start("#frames=all");
  const strange = page.locator("body :is(script:not([type]), img, iframe, a, svg, object, embed, style, link, b b)");
  const own = await strange.count();
  await open(page, join(testdata, path));
  check(`${path}: opens`, await page.getAttribute("body", "data-state") === "ready", await text(page, "main"));
  for (const view of await shown(page)) {
    await show(page, view);
    check(`hostile names in ${view} of ${path}`, await page.locator("main [role=alert]").count() === 0 &&
      await strange.count() === own);
    await figures[view](it, page, dirname(join(testdata, path)), `hostile ${path}`);
    if (kPictures.has(view) && !(await page.locator("#save-svg").isDisabled())) {
      await checkSvg(page, `hostile ${path}, ${view}`);
    }
  }
  // Each name is looked at alone: a regular expression, a word of a line, a heading.
  await show(page, "table");
  for (let row = 0; row < 40; row += 3) {
    await page.locator(".view.table .beside > .slot:first-child tbody tr").nth(row).click();
    await page.waitForSelector("body[data-state=ready] aside h2", { timeout: 10_000 });
    check(`${path}: row ${row} has its neighbours`, await page.locator("aside .note:has-text('memtool:')").count() === 0, await text(page, "aside"));
  }
  await page.close();
}

// --- what is no input says so ---
{
  const page = await start();
  await open(page, join(testdata, "README.md"));
  check("an error is the program's sentence", (await text(page, "[role=alert]")).startsWith("memtool: README.md"), await text(page, "main"));
  await page.close();
}

if (given.shots !== undefined) {
  mkdirSync(given.shots, { recursive: true });
  for (const [width, colorScheme] of [[1280, "light"], [1280, "dark"], [2560, "light"], [2560, "dark"]]) {
    const page = await start("", { viewport: { width, height: width === 1280 ? 860 : 1440 }, colorScheme });
    await open(page, join(testdata, "fit/train_512.json.gz"));
    for (const view of await shown(page)) {
      await show(page, view);
      await page.screenshot({ path: join(given.shots, `${view}-${width}-${colorScheme}.png`) });
    }
    await page.close();
  }
}

await it.finish(basename(given.browser));
