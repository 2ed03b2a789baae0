// What the page's tests share: a browser whose every page is watched, the steps of a person, and the
// program's own answers to the lines that the page shows.
import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { launch } from "./browsers.mjs";

export const kViews = ["overview", "compare", "timeline", "flame", "table", "allocator", "graph", "buckets", "leaks", "steps", "oom", "advise", "whatif", "fit", "ranks",
  "check", "labels", "facts"];
// Those that are pictures, which can be saved.
export const kPictures = new Set(["timeline", "flame", "allocator", "graph", "fit"]);

export async function harness({ browser: executable, firefox, page: file, memtool }) {
  const browser = await launch(executable, firefox);
  const address = pathToFileURL(resolve(file)).href;
  let checks = 0;
  const faults = [];

  function check(what, holds, more = "") {
    checks += 1;
    if (!holds) {
      faults.push(`${what} ${more}`);
      console.log(`FAULT: ${what} ${more}`);
    }
  }

  async function start(fragment = "", options = {}) {
    const page = await browser.newPage({ viewport: { width: 1280, height: 860 }, ...options });
    page.on("pageerror", (error) => check("no error in the page", false, error.message));
    page.on("console", (message) => check("no console error", message.type() !== "error", message.text()));
    page.on("dialog", (dialog) => check("no dialog", false, dialog.message()));
    page.on("request", (request) => {
      const local = request.url() === address + fragment || request.url() === address || request.url().startsWith("blob:");
      check("no request leaves the page", local, request.url());
    });
    // What the policy stopped was tried, and Firefox tells of no request that never was.
    await page.addInitScript(() => {
      document.addEventListener("securitypolicyviolation", (event) => console.error(`the policy stopped ${event.blockedURI}`));
      const make = URL.createObjectURL;
      URL.createObjectURL = (blob) => {
        window.lastBlob = blob;
        return make.call(URL, blob);
      };
    });
    await page.goto(address + fragment);
    await page.waitForSelector('body[data-state="empty"], body[data-state="ready"]', { timeout: 60_000 });
    return page;
  }

  const settled = (page) => page.waitForSelector('body[data-state="ready"], body[data-state="failed"]', { timeout: 120_000 });

  async function open(page, files) {
    await page.setInputFiles("#file", files);
    await settled(page);
  }
  async function compare(page, file, line = "--diff-base") {
    await page.setInputFiles("#base-file", file);
    await page.waitForSelector(`body[data-state="ready"] footer code:has-text('${line}')`, { timeout: 120_000 });
  }
  async function show(page, view) {
    await page.click(`#view-${view}`);
    await page.waitForSelector(`body[data-state="ready"]:has(#view-${view}[aria-current="page"])`, { timeout: 120_000 });
  }
  const shown = (page) => page.locator("nav button").evaluateAll((tabs) => tabs.map((tab) => tab.id.slice(5)));
  const lines = (page) => page.locator("footer code").allTextContents();
  const line = async (page, command) => (await lines(page)).find((one) => one.startsWith(`memtool ${command} `));
  const text = (page, selector) => page.locator(selector).first().textContent();

  // A line as the page shows it, for a shell: run by the program in the input's folder.
  function answerOf(line, folder) {
    const words = line.match(/(?:'(?:[^']|'\\'')*'|[^\s'])+/g).slice(1)
      .map((word) => word.startsWith("'") ? word.slice(1, -1).replace(/'\\''/g, "'") : word);
    const ran = spawnSync(memtool, [...words, "--format", "json"], { cwd: folder, maxBuffer: 1 << 28, stdio: ["ignore", "pipe", "pipe"] });
    if (ran.status !== 0 && ran.status !== 1) { // 1: a limit is broken
      throw new Error(`${line}: ${ran.stderr}`);
    }
    return JSON.parse(ran.stdout);
  }

  // What "save SVG" or "save CSV" last saved.
  async function saved(page, button) {
    await page.evaluate(() => (window.lastBlob = undefined));
    await page.click(button);
    await page.waitForFunction(() => window.lastBlob !== undefined);
    return page.evaluate(() => window.lastBlob.text());
  }

  // As if a person dropped the file there.
  async function drop(page, name, path, on = "body") {
    await page.evaluate(([name, bytes, on]) => {
      const data = Uint8Array.from(atob(bytes), (letter) => letter.charCodeAt(0));
      const dragged = new DataTransfer();
      dragged.items.add(new File([data], name));
      document.querySelector(on).dispatchEvent(new DragEvent("drop", { dataTransfer: dragged, bubbles: true, cancelable: true }));
    }, [name, readFileSync(path).toString("base64"), on]);
    await settled(page);
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
    const plain = new Set(["svg", "title", "rect", "polygon", "polyline", "path", "text", "g", "clipPath", "pattern"]);
    check(`${label}: the SVG is well-formed`, !found.broken && svg.startsWith("<svg "), svg.slice(0, 200));
    check(`${label}: the SVG only draws`, found.tags.every((tag) => plain.has(tag)) && !found.acts, found.tags.join());
    return svg;
  }

  async function finish(name) {
    await browser.close();
    console.log(`${name}: ${checks} checks, ${faults.length} faults`);
    process.exit(faults.length > 0 || checks === 0 ? 1 : 0);
  }

  return { check, start, settled, open, compare, show, shown, lines, line, text, answerOf, saved, drop, checkSvg, finish };
}

// As the page and the program write sizes.
export function size(bytes, sign = false) {
  const plus = sign && bytes > 0 ? "+" : "";
  for (const [name, unit] of [["TiB", 2 ** 40], ["GiB", 2 ** 30], ["MiB", 2 ** 20], ["KiB", 2 ** 10]]) {
    if (Math.abs(bytes) >= unit) {
      return `${plus}${(bytes / unit).toFixed(2)} ${name}`;
    }
  }
  return `${plus}${String(bytes).replace(/\B(?=(\d{3})+(?!\d))/g, ",")} B`;
}

// C++ functions without their parameters, where those are long.
export function shortName(name) {
  const cut = name.length > 44 && name.includes("::") ? name.search(/(?<=[\w>])\(/) : -1;
  return cut > 0 ? `${name.slice(0, cut)}(…)` : name;
}
