// The open files in order, and two runs side by side.
import { basename, dirname, join } from "node:path";
import { size } from "../harness.mjs";

export default async function compare(it, { testdata }) {
  const { check, start, open, compare: against, show, shown, lines, line, text, answerOf, checkSvg } = it;
  const then = join(testdata, "advise/base.json.gz");
  const now = join(testdata, "advise/ck1.json.gz");
  const folder = dirname(now);
  const ready = (line) => `body[data-state=ready] footer code:has-text('${line}')`;

  // --- two runs ---
  const page = await start();
  await open(page, now);
  check("nothing to compare with", !(await shown(page)).includes("compare"));
  await against(page, then);
  await show(page, "compare");
  const diff = answerOf(await line(page, "diff"), folder);
  check("the change", (await text(page, ".view.compare .lead")).startsWith(`${size(diff.total, true)}: ${size(diff.base_total)} before, ${size(diff.new_total)} now`),
    await text(page, ".view.compare .lead"));
  const both = (await lines(page)).filter((one) => one.startsWith("memtool timeline")).map((one) => answerOf(one, folder));
  const peaks = both.map((answer) => size(Math.max(...answer.rows.map((row) => row.allocated))));
  const key = await page.locator(".view.compare .chart .key").textContent();
  check("both timelines", both.length === 2 && peaks.every((peak) => key.includes(`peak ${peak}`)), `${key} ${peaks}`);
  const aligned = answerOf((await lines(page)).find((one) => one.includes("--align")), folder);
  const steps = page.locator(".view.compare section:has(h2:has-text('step by step')) table").first().locator("tbody tr");
  check("the steps", await steps.count() === aligned.steps.length && aligned.steps.length === 2, `${await steps.count()}`);
  check("a step's change", (await steps.nth(1).textContent()).includes(size(aligned.steps[1].peak.delta, true)), await steps.nth(1).textContent());
  const box = await page.locator("canvas.lines").boundingBox();
  await page.mouse.move(box.x + box.width * 0.6, box.y + 80);
  const says = await text(page, ".view.compare .says");
  const [event, live] = [/ck1[^:]*: event ([\d,]+), ([^·]*?)(?: ·|$)/.exec(says)].map((found) => [Number(found?.[1].replaceAll(",", "")), found?.[2]])[0];
  const row = both.flatMap((answer) => answer.inputs[0].path === basename(now) ? answer.rows : []).find((one) => one.event === event);
  check("what is under the pointer", row !== undefined && size(row.allocated) === live, `${says}`);
  await checkSvg(page, "two timelines");

  // --- sides and order ---
  await page.click("#files");
  await page.click("#swap");
  await page.waitForSelector(ready("--diff-base ck1.json.gz base.json.gz"));
  check("swapped, the change is the other way", (await text(page, ".view.compare .lead")).startsWith(size(-diff.total, true)), await text(page, ".view.compare .lead"));
  await page.click(".tray button.input");
  await page.waitForSelector("body[data-state=ready] footer:not(:has-text('--diff-base'))");
  check("both are looked at", (await line(page, "top")).endsWith("base.json.gz ck1.json.gz"), await line(page, "top"));
  await page.click(".tray li:nth-child(2) button.up");
  await page.waitForSelector(ready("ck1.json.gz base.json.gz"));
  check("in another order", (await line(page, "top")).endsWith("ck1.json.gz base.json.gz"), await line(page, "top"));
  await page.setInputFiles("#add-file", join(testdata, "advise/opt.json.gz"));
  await page.waitForSelector(ready("base.json.gz opt.json.gz"));
  await page.click(".tray li:nth-child(1) button.base");
  await page.waitForSelector(ready("--diff-base ck1.json.gz"));
  check("one of three is the base", (await line(page, "diff")).endsWith("--diff-base ck1.json.gz base.json.gz opt.json.gz"), await line(page, "diff"));
  await page.click(".tray li:nth-child(2) button.remove");
  await page.waitForSelector(ready("--diff-base ck1.json.gz base.json.gz"));
  check("one is taken away", !(await line(page, "diff")).includes("opt.json.gz"), await line(page, "diff"));
  await page.close();
}
