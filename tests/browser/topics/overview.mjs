// The Overview: figures, ways into the page, its examples, its colours; and what is printed.
import { execFileSync } from "node:child_process";
import { basename, dirname, join } from "node:path";
import { figures } from "../figures.mjs";
import { size } from "../harness.mjs";

const ready = "body[data-state=ready]";

export default async function overview(it, { given, testdata }) {
  const { check, start, open, show, shown, settled, line, lines, text, answerOf, checkSvg, drop } = it;

  // --- examples, without any file ---
  {
    const page = await start();
    await page.click("#example-oom");
    await settled(page);
    const folder = join(testdata, "advise");
    const answer = JSON.parse(execFileSync(given.memtool, ["oom", "oom.json.gz", "--format", "json"], { cwd: folder }).toString());
    check("the example ran out of memory", await text(page, ".verdict h2") === answer.answer, await text(page, ".verdict h2"));
    const said = await page.locator(".verdict dd").allTextContents();
    const own = answer.sentences.filter(({ kind }) => kind !== "NEXT").map((one) => one.text);
    check("it says all that the program says, once", said.join("|") === own.join("|"), said.join("|"));
    const parts = await page.locator("div.gauge .parts li").evaluateAll((items) => items.map((item) => item.querySelector("b").textContent));
    const program = ["live", "cached", "free"].map((name) => size(answer.rows.find((row) => row.kind === "part" && row.name === name).bytes));
    check("the gauge is of the failure", parts.join() === program.join(), parts.join());
    check("what was asked for is at the gauge", (await page.getAttribute("canvas.gauge", "aria-label")).endsWith(`asked for ${size(answer.asked)}`));
    check("the card's size is not in the file", (await text(page, ".wide .card .note")) !== null && (await page.locator(".wide").first().textContent()).includes("does not say how large"));

    // What it proposes leads there, and Back returns.
    await page.click(".verdict .link:has-text('checkpoint:model.py:22')");
    await page.waitForSelector(`${ready} .view.advise tr[aria-selected]`);
    check("a proposed change is looked at", (await text(page, ".view.advise tr[aria-selected] td")) === "checkpoint:model.py:22" && /change=checkpoint/.test(page.url()));
    await page.goBack();
    await page.waitForSelector(`${ready} .view.overview .ways`);
    await page.click(".ways .link:has-text('memory over the whole run')");
    await page.waitForSelector(`${ready} .view.timeline`);
    await page.goBack();
    await page.waitForSelector(`${ready} .view.overview .ways`);
    const commands = answerOf((await line(page, "overview")).replace(/\S+$/, "oom.json.gz"), folder).rows.map((row) => row.why);
    const ways = (await page.locator(".ways li").allTextContents()).map((one) => one.split(":")[0]);
    check("every command to go on with is there, but what is drawn here", ways.length > 0 && ways.every((way) => commands.includes(way)) &&
      commands.length - ways.length <= 1, `${ways} of ${commands}`);

    // A moment that is clicked is that of every card.
    const plot = await page.locator("canvas.small").boundingBox();
    await page.mouse.click(plot.x + 76 + (plot.width - 90) / 2, plot.y + 90);
    await page.waitForURL(/at=event/);
    await page.waitForSelector(`${ready} footer code:has-text('--at event:')`);
    const at = decodeURIComponent(/at=([^&]+)/.exec(page.url())[1]);
    check("a click goes to the moment there", Math.abs(Number(at.slice(6)) - 520) <= 5, at);
    const moved = (await lines(page)).filter((one) => /^memtool (account|top|buckets) /.test(one));
    check("one moment is that of every card", moved.length === 3 && moved.every((one) => one.includes(`--at ${at} `)), moved.join(" | "));
    check("and the gauge says so", (await text(page, "div.gauge h3")).includes(`event ${at.slice(6)} of`), await text(page, "div.gauge h3"));
    const account = answerOf((await line(page, "account")).replace(/\S+$/, "oom.json.gz"), folder).rows;
    const now = await page.locator("div.gauge .parts b").first().textContent();
    check("with the figures of then", now === size(account.find((row) => row.step === "allocated").bytes), now);
    // The same with the keyboard.
    await page.locator("canvas.small").focus();
    const before = page.url();
    await page.keyboard.press("Shift+ArrowRight");
    await page.keyboard.press("Enter");
    await page.waitForURL((url) => url.href !== before);
    check("the keyboard chooses a moment, too", page.url().includes(`event%3A${Number(at.slice(6)) + 1}`), page.url());
    await page.waitForSelector(`${ready} canvas.small`);
    check("its picture is named by its line", (await checkSvg(page, "the overview")).includes("<title>memtool timeline --by bucket"));
    await page.close();
  }
  {
    const page = await start();
    await page.click("#example-leak");
    await settled(page);
    check("the other example compares", (await page.locator(".card h2").allTextContents()).includes("What changed: +1.68 MiB"));
    check("of one part, no bar pretends to be full", await page.locator("canvas.gauge").count() === 0);
    await page.close();
  }

  // --- every kind of input ---
  const one = await start();
  for (const path of ["log/vllm.log", "log/vllm_oom.log", "log/smi_loop.csv", "log/deepspeed.log", "oom_text/bfc_2018.log",
    "mxnet/sockeye/memory.log", "hlo/small/program.hlo.pb", "capture_log/small/log.mtcap", "torch/small/three_devices.pickle"]) {
    await open(one, join(testdata, path));
    await figures.overview(it, one, dirname(join(testdata, path)), basename(path));
    check(`${path}: what it cannot know stands last`, await one.locator(".view.overview > :last-child .unseen").count() === 1);
  }
  await one.close();
  {
    const page = await start();
    await open(page, join(testdata, "oom_text/torch_2.3.log"));
    const says = JSON.parse(execFileSync(given.memtool, ["oom", "torch_2.3.log", "--format", "json"], { cwd: join(testdata, "oom_text") }).toString());
    const parts = await page.locator(".parts b").allTextContents();
    check("a log's failure is drawn", parts.length === says.rows.filter((row) => row.kind === "part").length &&
      says.rows.filter((row) => row.kind === "part").every((row) => parts.includes(size(row.bytes))), parts.join());
    await drop(page, "memory9.prof", join(testdata, "pprof/jax_leak/memory9.prof"));
    check("and a profile after it", (await shown(page)).includes("overview"));
    await page.close();
  }
  {
    const page = await start();
    await open(page, ["memory1.prof", "memory9.prof"].map((name) => join(testdata, "pprof/jax_leak", name)));
    const rows = page.locator(".columns .card").first().locator("tbody tr");
    check("several inputs are listed", await rows.count() === 2 && (await rows.first().textContent()).includes("memory9.prof"));
    await rows.first().click();
    await page.waitForSelector(`${ready} footer:not(:has-text('memory1.prof'))`);
    check("and one is chosen by a click", /input=memory9/.test(page.url()), page.url());
    await page.close();
  }

  // --- widths ---
  const wide = await start();
  for (const what of ["the welcome", "the overview"]) {
    for (const [width, height] of [[390, 844], [760, 900], [1024, 700], [1440, 900], [2560, 1440]]) {
      await wide.setViewportSize({ width, height });
      const over = await wide.evaluate(() => [document.documentElement, document.querySelector("main")].map((one) => one.scrollWidth - one.clientWidth));
      check(`${what} at ${width}`, Math.max(...over) <= 0, over.join());
    }
    await open(wide, join(testdata, "torch/small/three_devices.pickle"));
  }
  await wide.close();

  // --- colours ---
  {
    const page = await start();
    await page.click("#example-oom");
    await settled(page);
    const color = (name) => page.evaluate((key) => getComputedStyle(document.documentElement).getPropertyValue(key), `--${name}`);
    const paper = await color("paper");
    await page.click("#help");
    for (const palette of ["safe", "contrast"]) {
      const before = await color("live");
      await page.selectOption("[data-look=palette]", palette);
      await page.waitForSelector(`html[data-palette=${palette}] ${ready}`);
      check(`${palette}: other colours`, await color("live") !== before, before);
      check(`${palette}: in the link`, page.url().includes(`palette=${palette}`), page.url());
      await checkSvg(page, `${palette}`);
    }
    await show(page, "timeline");
    const swatches = await page.locator(".legend .swatch").evaluateAll((all) => all.map((one) => getComputedStyle(one).backgroundImage + getComputedStyle(one).backgroundColor));
    check("in high contrast every layer has a pattern or a grey of its own", new Set(swatches).size === swatches.length && swatches.length > 3, swatches.length);
    await page.selectOption("[data-look=paper]", "dark");
    await page.waitForSelector(ready);
    check("dark by choice", await color("paper") !== paper);
    await drop(page, "memory9.prof", join(testdata, "pprof/jax_leak/memory9.prof"));
    check("colours stay for another file", page.url().includes("palette=contrast") && await page.getAttribute("html", "data-palette") === "contrast", page.url());
    await page.evaluate(() => (location.hash = "#palette=nonsense"));
    await page.waitForSelector("html[data-palette=''] body[data-state=ready]");
    await page.close();
  }

  // --- print: several pages, nothing cut ---
  {
    const page = await start("", { colorScheme: "dark", viewport: { width: 720, height: 1000 } });
    await page.click("#example-oom");
    await settled(page);
    for (const view of await shown(page)) {
      await show(page, view);
      // What lies above is drawn in the next frame.
      await page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => done()))));
      await page.evaluate(() => window.dispatchEvent(new Event("beforeprint")));
      await page.emulateMedia({ media: "print" });
      if (view === "timeline" || view === "allocator") {
        const above = page.locator(":is(.layered, .layers) canvas").nth(1);
        check(`print, ${view}: no canvas lies over another`, !(await above.isVisible()));
        const [same, all] = await page.evaluate(() => {
          const [below, over] = [...document.querySelectorAll(":is(.layered, .layers) canvas")].map((canvas) =>
            canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height).data);
          let [same, all] = [0, 0];
          for (let i = 0; i < over.length; i += 4) {
            if (over[i + 3] > 250) {
              all += 1;
              same += [0, 1, 2].every((k) => Math.abs(over[i + k] - below[i + k]) < 9) ? 1 : 0;
            }
          }
          return [same, all];
        });
        check(`print, ${view}: what was above is in the one below`, (all > 20 || view === "allocator") && same >= 0.9 * all, `${same} of ${all}`);
      }
      const found = await page.evaluate(() => {
        const cut = [...document.querySelectorAll("header .inputs, main, main *, footer, footer *")].filter((one) => {
          const style = getComputedStyle(one);
          return style.display !== "none" && style.overflowX !== "visible" && one.tagName !== "TEXTAREA" && one.tagName !== "CANVAS" &&
            (one.scrollWidth > one.clientWidth + 1 || one.scrollHeight > one.clientHeight + 1) && one.clientWidth > 0;
        });
        const wide = [...document.querySelectorAll("main *, footer *")].filter((one) => one.getBoundingClientRect().right > innerWidth + 1);
        return {
          cut: cut.map((one) => `${one.tagName}.${one.className}`).slice(0, 5), wide: wide.map((one) => `${one.tagName}.${one.className}`).slice(0, 5),
          paper: getComputedStyle(document.body).backgroundColor, flows: getComputedStyle(document.querySelector("main")).overflowY,
        };
      });
      const broken = await page.locator("td.size, td.percent, td.count").evaluateAll((cells) => cells.filter((cell) => {
        const range = document.createRange();
        range.selectNodeContents(cell);
        return range.getClientRects().length > 1;
      }).length);
      check(`print, ${view}: figures stay in one line`, broken === 0, broken);
      check(`print, ${view}: nothing is cut`, found.cut.length === 0, found.cut.join(" "));
      check(`print, ${view}: nothing is wider than the page`, found.wide.length === 0, found.wide.join(" "));
      check(`print, ${view}: light`, found.paper === "rgb(255, 255, 255)" && found.flows === "visible", `${found.paper} ${found.flows}`);
      await page.emulateMedia({ media: null });
      await page.evaluate(() => window.dispatchEvent(new Event("afterprint")));
    }
    check("dark again afterwards", await page.evaluate(() => getComputedStyle(document.body).backgroundColor) === "rgb(21, 21, 24)");
    if (given.firefox !== true) {
      await show(page, "allocator");
      const pdf = (await page.pdf({ format: "A5" })).toString("latin1");
      const pages = [...pdf.matchAll(/\/Type\s*\/Page\b(?!s)/g)].length;
      check("a long view has several pages", pages > 1, pages);
    }
    await page.close();
  }
}
