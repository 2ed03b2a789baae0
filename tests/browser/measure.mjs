// What the page costs, in figures; nothing here is asserted, and one run beside other work says little.
// usage: node measure.mjs --report report.html [--drop FILE --page memtool.html]
//        [--browser /usr/bin/chromium] [--firefox] [--times 30]
// --report is a page that `memtool report` wrote for a recording with a history; --drop is a file for
// the page without data. Script time is Chromium's own count (Performance.getMetrics): everything that
// ran between a step and the quiet after it, on the page's thread; the core has its own.
import { readFileSync, readdirSync, statSync } from "node:fs";
import { resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { parseArgs } from "node:util";
import { launch } from "./browsers.mjs";

const { values: given } = parseArgs({
  options: {
    report: { type: "string" }, page: { type: "string" }, drop: { type: "string" },
    browser: { type: "string", default: "/usr/bin/chromium" }, firefox: { type: "boolean", default: false },
    times: { type: "string", default: "30" },
  },
});
const times = Number(given.times);
const browser = await launch(given.browser, given.firefox);

const ready = (page, view = "") =>
  page.waitForSelector(`body[data-state="ready"]${view && `:has(#view-${view}[aria-current="page"])`}`, { timeout: 600_000 });
const middle = (values) => [...values].sort((a, b) => a - b)[Math.trunc(values.length / 2)];
const ms = (value) => `${value.toFixed(value < 10 ? 1 : 0)} ms`;
function say(what, values) {
  console.log(`${what}: median ${ms(middle(values))}, most ${ms(Math.max(...values))} (${values.length} times)`);
}

// Script, style and layout of the page's thread so far, in ms.
async function counter(page) {
  if (given.firefox) {
    return async () => 0;
  }
  const session = await page.context().newCDPSession(page);
  await session.send("Performance.enable");
  return async () => {
    const { metrics } = await session.send("Performance.getMetrics");
    const of = (name) => metrics.find((one) => one.name === name).value;
    return 1000 * (of("ScriptDuration") + of("RecalcStyleDuration") + of("LayoutDuration"));
  };
}

// Each step, and what a pause after them brings: the range more exactly.
async function steps(page, name, act) {
  const spent = await counter(page);
  const alone = [];
  const before = await spent();
  for (let i = 0; i < times; ++i) {
    const begun = await spent();
    await act(i);
    await page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(done)))));
    alone.push(await spent() - begun);
  }
  say(`${name}, script time`, alone);
  const after = await spent();
  await settled(page);
  console.log(`  all ${times}: ${ms(after - before)}; brought up to date after the pause: ${ms(await spent() - after)}`);
}

async function settled(page) {
  await page.waitForTimeout(400);
  await ready(page);
}

async function report() {
  const page = await browser.newPage({ viewport: { width: 1280, height: 860 } });
  const address = pathToFileURL(resolve(given.report)).href;
  console.log(`report: ${statSync(given.report).size} bytes`);
  const opened = [];
  for (let i = 0; i < 5; ++i) {
    await page.goto("about:blank");
    const begun = performance.now();
    await page.goto(`${address}#view=timeline`, { waitUntil: "commit" });
    await page.waitForSelector("canvas.plot", { timeout: 600_000 });
    opened.push(performance.now() - begun);
  }
  say("opened, until the timeline is drawn", opened);
  await ready(page, "timeline");

  const box = await page.locator(".plot").first().boundingBox();
  await page.mouse.move(box.x + box.width * 0.6, box.y + box.height * 0.5);
  await steps(page, "zoom by the wheel", (i) => page.mouse.wheel(0, i % 10 < 7 ? -100 : 100));
  await steps(page, "pan by the wheel", (i) => page.mouse.wheel(i % 10 < 5 ? 60 : -60, 0));
  await steps(page, "hover", (i) => page.mouse.move(box.x + 100 + 20 * (i % 40), box.y + 100));
  await page.locator(".plot").first().focus();
  await steps(page, "zoom by a key", (i) => page.keyboard.press(i % 10 < 5 ? "+" : "-"));

  for (const view of ["table", "flame"]) {
    await momentSteps(page, view, 1_900_000);
  }
  await page.close();
}

// How long frames take while something moves, as the page itself sees them.
async function frames(page, name, move) {
  await page.evaluate(() => {
    window.frameTimes = [];
    const next = (at) => {
      window.frameTimes.push(at);
      window.watching = requestAnimationFrame(next);
    };
    window.watching = requestAnimationFrame(next);
  });
  for (let i = 0; i < 90; ++i) {
    await move(i);
  }
  const at = await page.evaluate(() => {
    cancelAnimationFrame(window.watching);
    return window.frameTimes;
  });
  const taken = at.slice(1).map((one, i) => one - at[i]);
  console.log(`${name}: ${(1000 * taken.length / (at.at(-1) - at[0])).toFixed(0)} frames a second, the slowest ${ms(Math.max(...taken))}`);
  await settled(page);
}

// From the choice of a moment to a view that is up to date.
async function momentSteps(page, view, last) {
  await page.click(`#view-${view}`);
  await ready(page, view);
  const taken = [];
  for (let i = 0; i < Math.min(times, 15); ++i) {
    // In the page, so that the test's own talk with the browser is not counted.
    taken.push(await page.evaluate((event) => new Promise((done) => {
      const begun = performance.now();
      const link = new URLSearchParams(location.hash.slice(1));
      link.set("at", `event:${event}`);
      new MutationObserver((_all, observer) => {
        if (document.body.dataset["state"] === "ready") {
          observer.disconnect();
          requestAnimationFrame(() => setTimeout(() => done(performance.now() - begun)));
        }
      }).observe(document.body, { attributes: true, attributeFilter: ["data-state"] });
      location.hash = `#${link}`;
    }), (i * 7919 * 131) % Math.trunc(0.95 * last)));
  }
  say(`a moment chosen, until ${view} is up to date`, taken);
}

// The same where a person moves it on the timeline, whose plot stays.
async function keySteps(page) {
  await page.click("#view-timeline");
  await settled(page);
  await page.locator(".plot").first().focus();
  const taken = [];
  for (let i = 0; i < Math.min(times, 15); ++i) {
    taken.push(await page.evaluate(() => new Promise((done) => {
      const begun = performance.now();
      new MutationObserver((_all, observer) => {
        if (document.body.dataset["state"] === "ready") {
          observer.disconnect();
          requestAnimationFrame(() => setTimeout(() => done(performance.now() - begun)));
        }
      }).observe(document.body, { attributes: true, attributeFilter: ["data-state"] });
      document.activeElement.dispatchEvent(new KeyboardEvent("keydown", { key: "ArrowLeft", bubbles: true }));
    })));
    await page.waitForTimeout(300);
  }
  say("a moment by an arrow key on the timeline", taken);
}

// Resident memory of the browser's processes, in bytes: those below this one.
function resident() {
  const parents = new Map();
  const bytes = new Map();
  for (const id of readdirSync("/proc").filter((name) => /^\d+$/.test(name))) {
    try {
      const status = readFileSync(`/proc/${id}/status`, "utf8");
      parents.set(id, /^PPid:\s+(\d+)/m.exec(status)[1]);
      // What is shared between processes and files would be counted several times.
      bytes.set(id, 1024 * Number(/^RssAnon:\s+(\d+)/m.exec(status)?.[1] ?? 0));
    } catch {
      // It has ended.
    }
  }
  const ours = (id) => id === String(process.pid) || (parents.has(id) && ours(parents.get(id)));
  return [...bytes].reduce((sum, [id, size]) => sum + (id !== String(process.pid) && ours(id) ? size : 0), 0);
}

async function drop() {
  const page = await browser.newPage({ viewport: { width: 1280, height: 860 } });
  await page.goto(pathToFileURL(resolve(given.page)).href);
  await page.waitForSelector('body[data-state="empty"]');
  const empty = resident();
  let most = 0;
  const watch = setInterval(() => (most = Math.max(most, resident())), 200);
  // How late a timer of the page comes, and how often the status says something new.
  await page.evaluate(() => {
    const seen = { late: 0, said: 0, last: performance.now() };
    window.seen = seen;
    setInterval(() => {
      seen.late = Math.max(seen.late, performance.now() - seen.last - 20);
      seen.last = performance.now();
    }, 20);
    new MutationObserver(() => (seen.said += 1)).observe(document.querySelector("[role=status]"), { childList: true, subtree: true });
  });
  const begun = performance.now();
  const pictured = page.waitForSelector("main .view .card, main .view canvas", { timeout: 600_000 }).then(() => performance.now() - begun);
  await page.setInputFiles("#file", given.drop);
  await page.waitForSelector('body[data-state="ready"], body[data-state="failed"]', { timeout: 600_000 });
  console.log(`dropped ${statSync(given.drop).size} bytes: ${await page.getAttribute("body", "data-state")} after ${ms(performance.now() - begun)}, the first picture after ${ms(await pictured)}`);
  const view = performance.now();
  await page.click("#view-timeline");
  await ready(page, "timeline");
  console.log(`its timeline: ${ms(performance.now() - view)}`);
  const box = await page.locator(".plot").first().boundingBox();
  if (box !== null) {
    const events = await page.evaluate(() => Number(/([\d,]+) events|event ([\d,]+)/.exec(document.body.innerText)?.slice(1).find((one) => one)?.replaceAll(",", "") ?? 1000));
    await page.mouse.move(box.x + box.width * 0.6, box.y + box.height * 0.5);
    await page.locator(".plot").first().focus();
    await frames(page, "hovering", (i) => page.mouse.move(box.x + 100 + 11 * (i % 90), box.y + 100));
    await frames(page, "zooming", (i) => page.mouse.wheel(0, i % 30 < 20 ? -60 : 60));
    await frames(page, "panning", (i) => page.mouse.wheel(i % 30 < 15 ? 40 : -40, 0));
    for (const view of ["timeline", "allocator", "table", "flame", "overview"]) {
      await momentSteps(page, view, events);
    }
    await keySteps(page);
  }
  clearInterval(watch);
  const seen = await page.evaluate(() => window.seen);
  console.log(`progress said ${seen.said} times; the page was busy for at most ${ms(seen.late)} at a time`);
  console.log(`memory of all of the browser's processes: ${(most / 2 ** 20).toFixed(0)} MiB at most, ${(empty / 2 ** 20).toFixed(0)} MiB before`);
  await page.close();
}

if (given.report !== undefined) {
  await report();
}
if (given.drop !== undefined) {
  await drop();
}
await browser.close();
