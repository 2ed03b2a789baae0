// Drives the page in a browser: every view of every kind of input shows what the command line
// answers, nothing is asked of the network, nothing is logged as an error. A topic is a file.
// usage: node page_test.mjs --page memtool.html --memtool PROGRAM --testdata DIR [--topic NAME]…
//        [--browser /usr/bin/chromium] [--firefox] [--large SNAPSHOT] [--shots FOLDER]
import { mkdirSync, mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { harness } from "./harness.mjs";

const { values } = parseArgs({
  options: {
    page: { type: "string" }, memtool: { type: "string" }, testdata: { type: "string" }, topic: { type: "string", multiple: true },
    browser: { type: "string", default: "/usr/bin/chromium" }, firefox: { type: "boolean", default: false },
    large: { type: "string" }, shots: { type: "string" },
  },
});
const given = { ...values, memtool: resolve(values.memtool) };
const testdata = resolve(given.testdata);
const it = await harness(given);
const scratch = mkdtempSync(join(tmpdir(), "page_test."));
process.on("exit", () => rmSync(scratch, { recursive: true, force: true }));

const folder = join(dirname(fileURLToPath(import.meta.url)), "topics");
for (const file of readdirSync(folder).sort()) {
  const name = basename(file, ".mjs");
  if (given.topic === undefined || given.topic.includes(name)) {
    const { default: topic } = await import(join(folder, file));
    const own = join(scratch, name);
    mkdirSync(own);
    const begun = Date.now();
    await topic(it, { given, testdata, scratch: own });
    console.log(`${name}: ${((Date.now() - begun) / 1000).toFixed(1)} s`);
  }
}

if (given.shots !== undefined) {
  mkdirSync(given.shots, { recursive: true });
  for (const [width, colorScheme] of [[1280, "light"], [1280, "dark"], [2560, "light"], [2560, "dark"]]) {
    const page = await it.start("", { viewport: { width, height: width === 1280 ? 860 : 1440 }, colorScheme });
    await it.open(page, join(testdata, "fit/train_512.json.gz"));
    for (const view of await it.shown(page)) {
      await it.show(page, view);
      await page.screenshot({ path: join(given.shots, `${view}-${width}-${colorScheme}.png`) });
    }
    await page.close();
  }
}

await it.finish(basename(given.browser));
