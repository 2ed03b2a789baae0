// What is opened, dropped, compared, and refused.
import { execFileSync } from "node:child_process";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { figures } from "../figures.mjs";
import { harness, size } from "../harness.mjs";

export default async function inputs(it, { given, testdata, scratch }) {
  const { check, start, open, compare, show, shown, line, text, answerOf, saved, drop, checkSvg } = it;
  // --- a title of the report's own ---
  {
    const titled = join(scratch, "titled.html");
    writeFileSync(titled, readFileSync(given.page, "utf8").replace("<title>memtool</title>", "<title>Tuesday</title>"));
    const other = await harness({ ...given, page: titled });
    const page = await other.start();
    await other.open(page, join(testdata, "pprof/jax_leak/memory9.prof"));
    check("its title stays", await page.title() === "Tuesday", await page.title());
    await page.context().browser()?.close();
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
  {
    const page = await start("#view=table");
    await drop(page, "memory9.prof", join(testdata, "pprof/jax_leak/memory9.prof"));
    await figures.table(it, page, join(testdata, "pprof/jax_leak"), "a dropped file");
    await drop(page, "memory1.prof", join(testdata, "pprof/jax_leak/memory1.prof"), "#compare");
    await page.waitForSelector("body[data-state=ready] footer code:has-text('--diff-base memory1.prof')");
    check("a base that is dropped", (await text(page, ".view.table tbody tr td")) === "+1.68 MiB");
    const csv = await saved(page, "#save");
    writeFileSync(join(scratch, "memory9.prof"), readFileSync(join(testdata, "pprof/jax_leak/memory9.prof")));
    writeFileSync(join(scratch, "memory1.prof"), readFileSync(join(testdata, "pprof/jax_leak/memory1.prof")));
    const own = execFileSync(given.memtool, ["diff", "-n", "0", "--diff-base", "memory1.prof", "memory9.prof", "--format", "csv"], { cwd: scratch });
    check("the CSV is the program's", csv === own.toString(), csv.slice(0, 200));
    await page.click("header .base button");
    await page.waitForSelector("body[data-state=ready] footer code:not(:has-text('--diff-base'))");
    check("a base is taken away", await page.locator("header .base").count() === 0);
    // Names of files are strangers' words too.
    for (const name of ["<img src=x onerror=alert(1)>.prof", "--help", "-n", "'; rm -rf .prof", "a b\u202e.prof"]) {
      await drop(page, name, join(testdata, "pprof/jax_leak/memory9.prof"));
      check(`a file named ${name}`, await page.getAttribute("body", "data-state") === "ready" &&
        await page.locator("[data-total]").getAttribute("data-total") === "5800000", await text(page, "main"));
      check(`a file named ${name} stays text`, await page.locator("header img, main img").count() === 0);
    }
    await page.close();
  }

  // --- a wrong drop ends nothing ---
  {
    const page = await start("#view=table&at=event%3A60");
    await open(page, join(testdata, "fit/train_512.json.gz"));
    await drop(page, "README.md", join(testdata, "README.md"));
    check("what was open stays", await page.locator(".view.table tbody tr").count() > 0 && (await line(page, "top")).includes("train_512"), await text(page, "main"));
    check("what was wrong is said", (await text(page, ".status")).startsWith("README.md"), await text(page, ".status"));
    check("and the moment stays", (await line(page, "top")).includes("--at event:60"), await line(page, "top"));
    await drop(page, "README.md", join(testdata, "README.md"), "#compare");
    check("a base that is none", (await text(page, ".status")).startsWith("README.md") && await page.locator("header .base").count() === 0 &&
      await page.locator(".view.table tbody tr").count() > 0, await text(page, ".status"));
    await drop(page, "base.json.gz", join(testdata, "advise/base.json.gz"));
    check("another file has its own moment", !(await line(page, "top")).includes("--at"), await line(page, "top"));
    await page.close();
  }

  // --- the log of a job that ran out ---
  {
    const page = await start();
    const log = join(testdata, "oom_text/bfc_2018.log");
    await open(page, log);
    const says = execFileSync(given.memtool, ["oom", basename(log)], { cwd: dirname(log) }).toString();
    const shownText = await text(page, ".verdict h2");
    check("why it ran out", shownText === says.split("\n")[0], shownText.slice(0, 300));
    await drop(page, "memory9.prof", join(testdata, "pprof/jax_leak/memory9.prof"));
    check("and then a profile", (await shown(page)).includes("table"));
    await page.close();
  }

  // --- what is no input says so ---
  {
    const page = await start();
    await open(page, join(testdata, "README.md"));
    check("an error is the program's sentence", (await text(page, "[role=alert]")).startsWith("README.md"), await text(page, "main"));
    await page.close();
  }
}
