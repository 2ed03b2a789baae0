// Every view of every kind of input shows what the command line answers.
import { execFileSync } from "node:child_process";
import { basename, dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { figures } from "../figures.mjs";
import { kPictures, kViews } from "../harness.mjs";

function largeSnapshot(scratch) {
  const maker = join(dirname(fileURLToPath(import.meta.url)), "../../bench/gen_snapshot.py");
  const path = join(scratch, "large.pickle");
  execFileSync("/usr/bin/python3", [maker, "100000", path]);
  return path;
}

export default async function views(it, { given, testdata, scratch }) {
  const { check, start, open, show, shown, text, checkSvg } = it;
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

  const plain = ["overview", "flame", "table", "graph", "buckets", "check", "labels", "facts"];
  const recorded = ["overview", "timeline", "flame", "table", "allocator", "graph", "buckets", "leaks", "steps", "oom", "advise", "whatif", "check", "facts"];
  const alone = kViews.filter((view) => !["fit", "ranks", "compare"].includes(view));  // those are of several
  const failed = alone.filter((view) => view !== "advise" && view !== "whatif");  // of no allocator that can be replayed
  const labelled = failed.filter((view) => view !== "oom");
  await everyView("pprof/jax_leak/memory9.prof", plain);
  await everyView("pprof/jax_funcs/memory.prof", plain);
  await everyView("mxnet/sockeye/memory.log", plain);
  await everyView("torch/small/native.pickle", alone);
  await everyView("torch/small/three_devices.pickle", alone);
  await everyView("fit/train_512.json.gz", recorded);
  await everyView("xplane/train.xplane.pb", labelled);
  await everyView("capture_log/small/log.mtcap", failed);
  await everyView("memtool_file/snapshot.memtool", alone);
  await everyView(given.large === undefined ? largeSnapshot(scratch) : resolve(given.large), recorded);
}
