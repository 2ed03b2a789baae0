// What the program answers beside its tables: steps, what if, fit, ranks, check, why memory ran out.
import { execFileSync } from "node:child_process";
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { figures } from "../figures.mjs";
import { size } from "../harness.mjs";

export default async function commands(it, { given, testdata, scratch }) {
  const { check, start, open, compare, show, shown, lines, line, text, answerOf, drop, checkSvg } = it;
  const ready = (page, has) => page.waitForSelector(`body[data-state=ready] ${has}`, { timeout: 60_000 });
  const enter = async (page, field, value, line) => {
    await page.fill(field, value);
    await page.press(field, "Enter");
    await ready(page, `footer code:has-text('${line}')`);
  };

  // --- a step leads to its part of the timeline, at its peak ---
  {
    const file = join(testdata, "fit/train_512.json.gz");
    const page = await start("#view=steps");
    await open(page, file);
    const { rows, loops, keepers } = answerOf(await line(page, "steps"), dirname(file));
    check("there are steps, loops and keepers", rows.length === 2 && loops.length === 2 && keepers.length === 1);
    const said = execFileSync(given.memtool, ["steps", "-q", basename(file)], { cwd: dirname(file) }).toString().split("\n");
    check("the program's own words", await text(page, ".view.steps .lead") === said[0], said[0]);
    await page.locator(".view.steps tbody tr").nth(1).click();
    await ready(page, "#view-timeline[aria-current=page]");
    const words = new URLSearchParams(new URL(page.url()).hash.slice(1));
    check("a step is a range and a moment", ["from", "to", "at"].map((key) => words.get(key)).join() ===
      ["begin", "end", "peak_event"].map((key) => `event:${rows[1][key]}`).join(), page.url());
    check("its peak is shown", (await text(page, ".chart .says")).includes(size(rows[1].peak)), await text(page, ".chart .says"));
    await page.goBack();
    await ready(page, "#view-steps[aria-current=page]");
    await page.locator(".view.steps .card").nth(1).locator("tbody tr").first().click();
    await ready(page, "aside h2");
    check("a keeper is a row", await text(page, ".neighbours h2") === keepers[0].function);
    await page.close();
  }

  // --- other settings, another card, a changed program ---
  {
    const file = join(testdata, "advise/oom.json.gz");
    const page = await start("#view=whatif");
    await open(page, file);
    await figures.whatif(it, page, dirname(file), "what if");
    const said = execFileSync(given.memtool, ["whatif", "-q", "-n", "0", basename(file)], { cwd: dirname(file) }).toString().split("\n");
    check("how true it is", (await page.locator(".view.whatif .note").allTextContents()).includes(said[1]), said[1]);
    await page.locator("[data-setting='max_split_size_mb:128']").uncheck();
    await ready(page, "footer code:has-text('--conf expandable_segments:True')");
    check("one that is switched off is not tried", !(await line(page, "whatif")).includes("max_split_size_mb:128"), await line(page, "whatif"));
    await enter(page, "#try", "accumulate=2", "--change accumulate=2");
    await enter(page, "#card", "1792MiB", "--card 1792MiB");
    await figures.whatif(it, page, dirname(file), "settings of one's own");
    const { rows } = answerOf(await line(page, "whatif"), dirname(file));
    const cells = await page.locator(".view.whatif tbody tr").evaluateAll((all) => all.map((row) => [...row.cells].map((cell) => cell.textContent)));
    const own = rows.find((row) => row.own);
    check("what each saves", rows.every((row, i) => row.own || cells[i].includes(size(own.reserved_peak - row.reserved_peak))), JSON.stringify(cells));
    check("whether it fits on the card", rows.every((row, i) => row.oom_unsure || cells[i].includes(row.oom ? "no" : "yes")), JSON.stringify(cells));
    const at = rows.findIndex((row) => row.setting === "expandable_segments:True");
    await page.locator(".view.whatif tbody tr").nth(at).click();
    await ready(page, "footer code:has-text('timeline --by function --top 7 --points 600 --conf')");
    check("two timelines", await page.locator(".view.whatif .chart").count() === 2);
    const other = answerOf((await lines(page)).find((one) => one.includes("timeline") && one.includes("--conf")), dirname(file));
    check("the edited one is of the setting", Math.max(...other.rows.map((row) => row.reserved)) === rows[at].reserved_peak, `${rows[at].reserved_peak}`);
    await page.fill("#try", "nonsense");
    await page.press("#try", "Enter");
    await page.waitForSelector(".view.whatif [role=alert]");
    check("what is no setting says so, and can be mended", await page.locator("#try").count() === 1 && await page.locator("[data-setting=nonsense]").isChecked());
    await page.goBack();
    await ready(page, ".view.whatif table");
    await page.close();
  }

  // --- two recordings predict a third; a serving log, its contexts ---
  {
    const folder = join(testdata, "fit");
    const page = await start("#view=fit");
    await open(page, [join(folder, "train_512.json.gz"), join(folder, "train_1024.json.gz")]);
    check("values are taken from the names", (await line(page, "fit")).includes("--x x=512,1024"), await line(page, "fit"));
    await enter(page, "#x-name", "seq", "--x seq=512,1024");
    await page.locator("#at-x").evaluate((range) => {
      range.value = "4096";
      range.dispatchEvent(new Event("change"));
    });
    await ready(page, "footer code:has-text('--at-x 4096')");
    await figures.fit(it, page, folder, "fit");
    const { rows } = answerOf(await line(page, "fit"), folder);
    check("what it comes to", (await text(page, ".view.fit .lead")).includes(`seq 4096 needs ${size(rows.at(-1).reserved_peak)}`), await text(page, ".view.fit .lead"));
    const svg = await checkSvg(page, "fit");
    check("a curve", svg.includes("<polyline") && svg.includes("reserved"));
    await enter(page, "#card", "A100-40GB", "--card A100-40GB");
    check("the largest that fits is said", /A100-40GB|fits/.test(await text(page, ".view.fit")));
    await page.fill("#x-1", "512");
    await page.press("#x-1", "Enter");
    await page.waitForSelector(".view.fit .note:has-text('Say what differs')");
    await page.close();

    const log = join(testdata, "log/vllm.log");
    const serving = await start("#view=fit");
    await open(serving, log);
    await enter(serving, "#card", "A100-40GB", "--card A100-40GB");
    await figures.fit(it, serving, dirname(log), "a serving log");
    const said = execFileSync(given.memtool, ["fit", "-q", "--card", "A100-40GB", basename(log)], { cwd: dirname(log) }).toString().split("\n");
    check("how long a context fits", await text(serving, ".view.fit .lead") === said[0], said[0]);
    await serving.close();
  }

  // --- ranks: of digests, and of snapshots ---
  {
    const job = join(testdata, "ranks/stages/job.jsonl");
    const page = await start();
    await open(page, job);
    check("digests are a job of ranks", (await shown(page)).join() === "ranks", (await shown(page)).join());
    await figures.ranks(it, page, dirname(job), "digests");
    check("who ran out first", (await text(page, ".rank.oom")).includes("out of memory first") && (await text(page, ".rank.oom")).startsWith("rank 2"));
    check("which differs", (await page.locator(".rank.told:has-text('rank 6')").textContent()).includes("400.00 MiB above its class"));
    check("which has no file", (await page.locator(".rank.none:has-text('rank 9')").textContent()).includes("no file"));
    const { classes } = answerOf(await line(page, "ranks"), dirname(job));
    check("classes", await page.locator(".view.ranks table").first().locator("tbody tr").count() === classes.length);

    const folder = join(testdata, "ranks/stages/memory_snapshot/iteration_10");
    await open(page, readdirSync(folder).map((name) => join(folder, name)));
    check("files that are cut are left out, and named", (await text(page, "header .inputs")).includes("without rank11_memory_snapshot.pickle, which cannot be read"));
    await show(page, "ranks");
    check("a cut file is no missing one", (await page.locator(".rank.none:has-text('rank 11')").textContent()).includes("cannot be read"));
    await figures.ranks(it, page, folder, "snapshots");
    await page.locator(".rank:has-text('rank 6')").click();
    await ready(page, "#view-overview[aria-current=page]");
    check("a rank is an input", new URLSearchParams(new URL(page.url()).hash.slice(1)).get("input") === "rank6_memory_snapshot.pickle", page.url());
    check("its overview is of it alone", !(await line(page, "top")).includes("rank7"), await line(page, "top"));
    await show(page, "ranks");
    check("all ranks stay in sight", await page.locator(".rank[aria-pressed=true]").count() === 1 && (await line(page, "ranks")).includes("rank7"));
    await page.close();
  }

  // --- limits: held, broken, as YAML, and since an earlier run ---
  {
    const folder = join(testdata, "steps");
    const page = await start("#view=check");
    await open(page, join(folder, "new.json.gz"));
    await figures.check(it, page, folder, "no limit");
    await enter(page, "#limit-peak", "20GiB", "--max-peak 20GiB");
    check("it is within limits", (await text(page, ".view.check .lead")).startsWith("OK") && await text(page, ".view.check td") === "ok", await text(page, ".view.check .lead"));
    await enter(page, "#limit-peak", "1MiB", "--max-peak 1MiB");
    await figures.check(it, page, folder, "a limit");
    check("it is over", (await text(page, ".view.check .lead")).startsWith("FAILED") && await text(page, ".view.check td") === "FAILED", await text(page, ".view.check .lead"));
    await page.click(".view.check summary");
    await page.fill("#budget", readFileSync(join(folder, "budget.yaml"), "utf8"));
    await page.locator("#limit-peak").focus();
    await ready(page, "footer code:has-text('--budget')");
    const own = (await line(page, "check")).replace("/own/budget.yaml", "budget.yaml");
    check("a budget", answerOf(own, folder).rows.length === await page.locator(".view.check tbody tr").count(), own);
    await page.fill("#budget", "peak: [");
    await page.locator("#limit-peak").focus();
    await page.waitForSelector(".view.check [role=alert]:has-text('not YAML')");
    await page.fill("#budget", "");
    await page.locator("#limit-peak").focus();
    await ready(page, "footer code:not(:has-text('--budget'))");
    await page.fill("#limit-peak", "");
    await page.press("#limit-peak", "Enter");
    await page.waitForSelector(".view.check .note:has-text('Give a limit')");
    await compare(page, join(folder, "base.json.gz"), "--baseline");
    execFileSync(given.memtool, ["check", "--write-baseline", join(scratch, "baseline.json"), "base.json.gz"], { cwd: folder, stdio: "ignore" });
    const since = (await lines(page)).find((one) => one.includes("--baseline")).replace("/own/baseline.json", join(scratch, "baseline.json"));
    const { rows } = answerOf(since, folder);
    const verdicts = await page.locator(".view.check tbody tr td:first-child").allTextContents();
    check("since an earlier run", rows.length > 0 && verdicts.join() === rows.map((row) => row.ok === null ? "unknown" : row.ok ? "ok" : "FAILED").join(), verdicts.join());
    await page.close();
  }

  // --- why it ran out: of a log, of what is pasted ---
  {
    const log = join(testdata, "oom_text/rmm.log");
    const message = readFileSync(log, "utf8");
    writeFileSync(join(scratch, "pasted.log"), message);
    const answer = answerOf("memtool oom pasted.log", scratch);
    const page = await start();
    await page.fill("#paste", message);
    await page.click("#why");
    await ready(page, ".view.oom");
    check("a message is pasted into the empty page", await text(page, ".view.oom .answer") === answer.answer && (await shown(page)).join() === "oom", answer.answer);
    await drop(page, "oom.json.gz", join(testdata, "advise/oom.json.gz"));
    await show(page, "oom");
    await figures.oom(it, page, join(testdata, "advise"), "a snapshot");
    await page.fill("#pasted", message);
    await page.click("#explain");
    await ready(page, "footer code:has-text('oom /own/pasted.log')");
    check("beside what is open", await page.locator(".view.oom .slot").nth(1).locator(".answer").textContent() === answer.answer);
    await page.click(".sentences button:has-text('advise')");
    await ready(page, "#view-advise[aria-current=page]");
    await open(page, [join(testdata, "oom_text/rank0.log"), join(testdata, "oom_text/rank3.log")]);
    const { rows } = answerOf(await line(page, "oom"), join(testdata, "oom_text"));
    check("logs of several ranks", await page.locator(".view.oom tbody tr").count() === rows.length);
    await page.locator(".view.oom tbody tr").first().click();
    await ready(page, ".sentences");
    check("one of them", await text(page, ".view.oom .answer") === rows[0].answer, rows[0].answer);
    await page.close();
  }

  // --- logs: what they can answer is offered, and nothing fails ---
  for (const path of ["log/llama.log", "log/megatron.log", "log/smi_apps.csv", "log/vllm_oom.log", "gpu/logs/jax_program.log", "gpu/logs/torch_grow.log"]) {
    const page = await start();
    await open(page, join(testdata, path));
    const offered = await shown(page);
    check(`${path}: why it ran out is offered`, offered.includes("oom"), offered.join());
    for (const view of offered) {
      await show(page, view);
      check(`${path}: ${view} has no fault`, await page.locator("main [role=alert]").count() === 0, await text(page, "main"));
    }
    await page.close();
  }
}
