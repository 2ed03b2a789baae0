// Drives the page in a browser: every view of every kind of input shows what the command line
// answers, nothing is asked of the network, nothing is logged as an error.
// usage: node page_test.mjs --page memtool.html --memtool PROGRAM --testdata DIR
//        [--browser /usr/bin/chromium] [--firefox] [--shots FOLDER]
import { execFileSync } from "node:child_process";
import { mkdirSync } from "node:fs";
import { basename, dirname, join, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { parseArgs } from "node:util";
import { launch } from "./browsers.mjs";

const { values: given } = parseArgs({
  options: {
    page: { type: "string" }, memtool: { type: "string" }, testdata: { type: "string" },
    browser: { type: "string", default: "/usr/bin/chromium" }, firefox: { type: "boolean", default: false },
    shots: { type: "string" },
  },
});
const memtool = resolve(given.memtool);
const testdata = resolve(given.testdata);
const address = pathToFileURL(resolve(given.page)).href;

let checks = 0;
const faults = [];
function check(what, holds, more = "") {
  checks += 1;
  if (!holds) {
    faults.push(`${what} ${more}`);
    console.log(`FAULT: ${what} ${more}`);
  }
}

// A line as the page shows it, for a shell: run by the program in the input's folder.
function answerOf(line, folder) {
  const words = line.match(/'(?:[^']|'\\'')*'|\S+/g).slice(1)
    .map((word) => word.startsWith("'") ? word.slice(1, -1).replace(/'\\''/g, "'") : word);
  return JSON.parse(execFileSync(memtool, [...words, "--format", "json"], { cwd: folder, maxBuffer: 1 << 28 }));
}

const browser = await launch(given.browser, given.firefox);

async function start(fragment = "", options = {}) {
  const page = await browser.newPage({ viewport: { width: 1280, height: 860 }, ...options });
  page.on("pageerror", (error) => check("no error in the page", false, error.message));
  page.on("console", (message) => check("no console error", message.type() !== "error", message.text()));
  page.on("dialog", (dialog) => check("no dialog", false, dialog.message()));
  page.on("request", (request) => {
    const local = request.url() === address + fragment || request.url() === address || request.url().startsWith("blob:");
    check("no request leaves the page", local, request.url());
  });
  await page.goto(address + fragment);
  await page.waitForSelector('body[data-state="empty"]', { timeout: 60_000 });
  return page;
}

async function settled(page) {
  await page.waitForSelector('body[data-state="ready"], body[data-state="failed"]', { timeout: 120_000 });
}

async function open(page, files) {
  await page.setInputFiles("#file", files);
  await settled(page);
}

async function show(page, view) {
  await page.click(`#view-${view}`);
  await page.waitForSelector(`body[data-state="ready"]:has(#view-${view}[aria-current="page"])`, { timeout: 120_000 });
}

const lines = (page) => page.locator("footer code").allTextContents();
const text = (page, selector) => page.locator(selector).first().textContent();
const line = async (page, command) => (await lines(page)).find((one) => one.startsWith(`memtool ${command} `));

async function tableEquals(page, folder, label) {
  const shown = await line(page, "top");
  const answer = answerOf(shown, folder);
  check(`${label}: total of the table`, await page.locator("[data-total]").first().getAttribute("data-total") === String(answer.total), shown);
  const rows = await page.locator(".view.table .beside > .slot:first-child tbody tr").count();
  check(`${label}: rows of the table`, rows === Math.min(200, answer.rows.length), `${rows} of ${answer.rows.length}`);
  const first = await page.locator(".view.table .beside > .slot:first-child tbody tr").first().locator("td.text").first().textContent();
  check(`${label}: first row`, answer.rows.length === 0 || first === answer.rows[0].name, `${first}`);
}

// --- every view of every kind of input ---
const inputs = [
  ["pprof/jax_leak/memory9.prof", false],
  ["pprof/jax_funcs/memory.prof", false],
  ["torch/small/native.pickle", true],
  ["fit/train_512.json.gz", true],
  ["xplane/train.xplane.pb", true],
];
for (const [path, history] of inputs) {
  const file = join(testdata, path);
  const folder = dirname(file);
  const page = await start();
  await open(page, file);
  check(`${path}: opens`, await page.getAttribute("body", "data-state") === "ready", await text(page, "main"));
  const views = await page.locator("nav button").allTextContents();
  check(`${path}: a timeline where there is a history`, views.includes("Timeline") === history, views.join());
  await show(page, "table");
  await tableEquals(page, folder, path);
  await show(page, "flame");
  const tree = answerOf(await line(page, "flame"), folder);
  check(`${path}: the flame graph is of all`, tree.rows[0].bytes === tree.total);
  await show(page, "buckets");
  const categories = answerOf((await lines(page)).findLast((one) => one.startsWith("memtool buckets") && !one.includes("print")), folder);
  check(`${path}: buckets`, await page.locator(".view.buckets [data-total]").getAttribute("data-total") === String(categories.total));
  await show(page, "graph");
  check(`${path}: call graph`, await page.locator(".calls .node").count() > 0 || tree.total === 0);
  await show(page, "facts");
  const info = answerOf(await line(page, "info"), folder);
  check(`${path}: facts`, await page.locator(".view.facts tbody tr").count() === info.rows.length);
  if (history) {
    await show(page, "timeline");
    check(`${path}: a chart`, await page.locator(".plot").count() > 0);
    await show(page, "allocator");
    const about = await line(page, "events");
    check(`${path}: events`, about === undefined || answerOf(about, folder).rows.length === await page.locator(".view.allocator section tbody tr").count(), about);
  }
  await page.close();
}

// --- moment, range, filter, deep link, keyboard ---
{
  const file = join(testdata, "fit/train_512.json.gz");
  const page = await start("#view=table&at=event%3A120&by=line");
  await open(page, file);
  await tableEquals(page, dirname(file), "a link's moment");
  check("the link's line", (await line(page, "top")).includes("--by line --at event:120"), await line(page, "top"));
  await page.fill("#focus", "optimizer");
  await page.press("#focus", "Enter");
  await page.waitForSelector("footer code:has-text('--focus optimizer')");
  await settled(page);
  await tableEquals(page, dirname(file), "a filter");
  await page.locator("main").focus();
  await page.keyboard.press("2");
  await page.waitForSelector('#view-timeline[aria-current="page"]');
  await settled(page);
  const box = await page.locator(".plot").boundingBox();
  await page.mouse.move(box.x + box.width * 0.25, box.y + 50);
  await page.mouse.down();
  await page.mouse.move(box.x + box.width * 0.75, box.y + 60, { steps: 5 });
  await page.mouse.up();
  await page.waitForSelector("footer code:has-text('--from event:')");
  await settled(page);
  check("a range is in the address", /from=event/.test(page.url()), page.url());
  await page.goBack();
  await settled(page);
  check("back takes the range away", !/from=event/.test(page.url()), page.url());
  await page.locator(".plot").click({ position: { x: box.width * 0.8, y: 100 } });
  await settled(page);
  check("a click chooses the moment", /at=event/.test(page.url()), page.url());
  await show(page, "flame");
  await page.fill("#search", "optim");
  await page.waitForSelector(".tools .note:has-text('match')");
  check("search says its share", /match, \d/.test(await text(page, ".tools")), await text(page, ".tools"));
  await page.close();
}

// --- a base ---
{
  const folder = join(testdata, "pprof/jax_leak");
  const page = await start("#view=table");
  await open(page, join(folder, "memory9.prof"));
  await page.setInputFiles("#base-file", join(folder, "memory1.prof"));
  await page.waitForSelector("footer code:has-text('memtool diff')");
  await settled(page);
  const answer = answerOf(await line(page, "diff"), folder);
  const change = await page.locator(".view.table tbody tr").first().locator("td").first().textContent();
  check("a base: the change", change.startsWith("+1.68") && answer.rows[0].delta === 1760000, change);
  await page.close();
}

// --- keywords edited in the page: Others shrinks ---
{
  const file = join(testdata, "fit/train_512.json.gz");
  const page = await start("#view=buckets");
  await open(page, file);
  await page.fill("#keywords", "keywords:\n  Mine:\n    - optimizer\n");
  await page.waitForSelector(".view.buckets td:has-text('Mine')");
  const mine = await page.locator(".view.buckets tr:has-text('Mine') td").first().textContent();
  check("a category of the page's own", mine.includes("MiB"), mine);
  await page.close();
}

// --- hostile names in every view ---
{
  const page = await start();
  await open(page, join(testdata, "pprof/hostile/names.pb.gz"));
  for (const view of ["overview", "table", "flame", "graph", "buckets", "facts"]) {
    await show(page, view);
    check(`hostile names in ${view}`, await page.locator("main script, main img, main iframe, main a, main svg").count() === 0);
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
    for (const view of await page.locator("nav button").evaluateAll((tabs) => tabs.map((tab) => tab.id.slice(5)))) {
      await show(page, view);
      await page.screenshot({ path: join(given.shots, `${view}-${width}-${colorScheme}.png`) });
    }
    await page.close();
  }
}

await browser.close();
console.log(`${basename(given.browser)}: ${checks} checks, ${faults.length} faults`);
process.exit(faults.length > 0 ? 1 : 0);
