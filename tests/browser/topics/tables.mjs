// Tables: many rows, what is in sight, columns, order, search, and what is inside of a category.
import { execFileSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { size } from "../harness.mjs";

const kMany = 100_000;

export default async function tables(it, { given, testdata, scratch }) {
  const { check, start, open, line, text, answerOf, saved } = it;
  const ready = (page, has) => page.waitForSelector(`body[data-state=ready] ${has}`, { timeout: 60_000 });
  const rows = (page) => page.locator(".view.table .beside > .slot:first-child tbody tr[aria-rowindex]");

  // --- a hundred thousand rows ---
  {
    const made = join(scratch, "many.log");
    const allocate = (_one, i) => `[mem] Allocate ${4096 * (i + 1)} bytes GPU memory (layer${i}:weight).`;
    writeFileSync(made, `[2018-06-04 10:00:01] Sockeye version 1.12.2 started\n${Array.from({ length: kMany }, allocate).join("\n")}\n`);
    const page = await start("#view=table");
    await open(page, made);
    const answer = answerOf(await line(page, "top"), dirname(made));
    check("there are many rows", answer.rows.length >= kMany, `${answer.rows.length}`);
    const table = page.locator(".view.table table").first();
    check("all are counted", await table.getAttribute("aria-rowcount") === String(answer.rows.length + 1));
    check("few are in the document", await rows(page).count() < 150, `${await rows(page).count()}`);
    const cells = async (row) => row.locator("td").allTextContents();
    check("the first is the largest", (await cells(rows(page).first())).includes(size(answer.rows[0].flat)));
    await rows(page).first().focus();
    await page.keyboard.press("End");
    await page.waitForFunction((last) => document.activeElement?.getAttribute("aria-rowindex") === String(last), answer.rows.length + 1);
    check("End goes to the last", (await cells(page.locator(":focus"))).includes(size(answer.rows.at(-1).flat)), (await cells(page.locator(":focus"))).join());
    check("and it is in sight", await page.locator(":focus").evaluate((row) => {
      const [box, at] = [row.closest(".grid").getBoundingClientRect(), row.getBoundingClientRect()];
      return at.top >= box.top && at.bottom <= box.bottom + 1;
    }));
    await page.keyboard.press("ArrowUp");
    await page.waitForFunction((last) => document.activeElement?.getAttribute("aria-rowindex") === String(last), answer.rows.length);
    check("still few", await rows(page).count() < 150);
    // In the middle, by the wheel: each row is in its place.
    await page.locator(".grid.tall").evaluate((box) => (box.scrollTop = box.scrollHeight / 2));
    await page.waitForTimeout(100);
    const middle = await rows(page).evaluateAll((all) => all.map((row) => [Number(row.getAttribute("aria-rowindex")), row.cells[0].textContent]));
    check("rows in the middle", middle.length > 5 && Math.abs(middle[0][0] - answer.rows.length / 2) < 100 &&
      middle.every(([at, flat]) => flat === size(answer.rows[at - 2].flat)), JSON.stringify(middle[0]));
    const begun = Date.now();
    await page.locator(".view.table th button").nth(2).click(); // Cum
    await page.locator(".view.table th button").nth(2).click();
    await page.waitForSelector(".view.table th[aria-sort=ascending]");
    console.log(`two orders of ${answer.rows.length} rows: ${Date.now() - begun} ms`);
    check("upwards, the smallest is first", (await rows(page).first().getAttribute("aria-rowindex")) === "2" &&
      (await cells(rows(page).first())).includes(size(Math.min(...answer.rows.map((row) => row.cum)))), (await cells(rows(page).first())).join());
    const wanted = answer.rows[77].name;
    await page.fill("#search", `${wanted}( |$)`);
    await page.waitForSelector(".find .note:text-matches('^1 row, ')");
    check("one is found", await rows(page).count() === 1 && (await text(page, ".find .note")).includes(size(answer.rows[77].flat)));
    await page.fill("#search", "[");
    check("what is no expression says so", (await text(page, ".find .note")) === "not a regular expression");
    await page.fill("#search", "");
    for (const time of ["once", "once more"]) {
      await page.evaluate(() => dispatchEvent(new Event("beforeprint")));
      check(`printed ${time}: paper has the first rows, and says so`, await rows(page).count() === 200 && /the first 200 of/.test(await text(page, ".view.table .cut")));
      await page.evaluate(() => dispatchEvent(new Event("afterprint")));
      check(`printed ${time}: the screen has few again`, await rows(page).count() < 150 && !(await page.locator(".view.table .cut").isVisible()));
    }
    await rows(page).nth(3).click();
    await ready(page, "aside h2");
    check("a row is picked", await page.locator(".view.table tr[aria-selected=true]").count() === 1);
    const csv = await saved(page, "#save");
    check("all rows are saved", csv.trim().split("\n").length === answer.rows.length + 1);
    await page.close();
  }

  // --- long names ---
  {
    const made = join(scratch, "long.log");
    const name = (i) => `replica_4/bert_span_labeler/bert_encoder_1/transformer/layer_${i}/self_attention/dropout_3/Cast:weight`;
    writeFileSync(made, `[2018-06-04 10:00:01] Sockeye version 1.12.2 started\n${Array.from({ length: 400 },
      (_one, i) => `[mem] Allocate ${4096 * (i + 1)} bytes GPU memory (${name(i)}).`).join("\n")}\n`);
    const page = await start("#view=table");
    await open(page, made);
    check("a name is there as a whole", (await page.locator(".view.table tbody td.of-name").first().textContent()).includes(name(399)));
    for (const width of [1440, 1024, 390]) {
      await page.setViewportSize({ width, height: 800 });
      const seen = await page.evaluate(() => {
        const cells = [...document.querySelectorAll(".view.table tbody td.of-name")];
        return { heights: new Set(cells.map((cell) => cell.offsetHeight)).size, least: Math.min(...cells.map((cell) => cell.offsetWidth)),
          ends: cells.every((cell) => (cell.querySelector(".ends > :last-child") ?? cell).getBoundingClientRect().right <= cell.getBoundingClientRect().right + 1),
          over: document.documentElement.scrollWidth - document.documentElement.clientWidth };
      });
      check(`at ${width}: rows are of one height, names have room and keep their ends`, seen.heights === 1 && seen.least >= 180 && seen.ends && seen.over <= 0, JSON.stringify(seen));
    }
    if (given.firefox !== true) { // it emulates no paper
      await page.evaluate(() => dispatchEvent(new Event("beforeprint")));
      await page.emulateMedia({ media: "print" });
      const under = await page.evaluate(() => document.querySelector(".view.table .cut").getBoundingClientRect().top -
        document.querySelector(".view.table table").getBoundingClientRect().bottom);
      check("printed: what follows a long table lies below it", under >= -1, under);
    }
    await page.close();
  }

  // --- what the peak would be without a row ---
  for (const path of ["fit/train_512.json.gz", "log/megatron.log"]) {
    const file = join(testdata, path);
    const page = await start("#view=table");
    await open(page, file);
    const words = execFileSync(given.memtool, ["top", "-n", "0", basename(file)], { cwd: dirname(file) }).toString().split("\n");
    const heads = words.findIndex((one) => one.includes("SAVES"));
    const at = words[heads].trim().split(/\s{2,}/).indexOf("SAVES");
    const shown = await rows(page).evaluateAll((all) => all.map((row) => row.cells[4].textContent));
    const told = words.slice(heads + 1, heads + 1 + shown.length).map((one) => one.trim().split(/\s{2,}/)[at]);
    check(`${path}: what each row saves`, shown.length > 1 && shown.join() === told.join(), `${shown} ${told}`);
    check(`${path}: what that means`, words.some((one) => one.startsWith("SAVES: ")) &&
      words.find((one) => one.startsWith("SAVES: ")).slice(7) === await page.locator(".view.table th:has-text('Saves')").getAttribute("title"));
    await page.close();
  }

  // --- rows that are lines begin with the line ---
  {
    const file = join(testdata, "fit/train_512.json.gz");
    const page = await start("#view=table&by=line");
    await open(page, file);
    const heads = await page.locator(".view.table th").allTextContents();
    check("the place comes first", heads.indexOf("Place") >= 0 && heads.indexOf("Place") < heads.indexOf("Where"), heads.join());
    const answer = answerOf(await line(page, "top"), dirname(file));
    check("and is the line", (await rows(page).first().locator("td").allTextContents()).includes(`${answer.rows[0].file}:${answer.rows[0].line}`));
    await page.close();
  }

  // --- rows of a log are what its program takes them for ---
  {
    const page = await start("#view=table");
    await open(page, join(testdata, "mxnet/sockeye/memory.log"));
    check("rows of a tag log are tags", await page.locator("#by").inputValue() === "tag", await page.locator("#by").inputValue());
    await page.selectOption("#by", "filefunction");
    await ready(page, "footer code:has-text('--by filefunction')");
    check("and functions where they are chosen", (await line(page, "top")).includes("--by filefunction"));
    await rows(page).first().click();
    await ready(page, ".view.table .neighbours");
    check("whose callers are known", await page.locator(".view.table .neighbours h3").count() === 2);
    await page.close();
  }

  // --- inside of a category ---
  for (const [path, bucket] of [["fit/train_512.json.gz", "Others"], ["fit/train_512.json.gz", "Activations"], ["mxnet/sockeye/memory.log", "Activations"]]) {
    const file = join(testdata, path);
    const page = await start("#view=buckets");
    await open(page, file);
    await page.locator(`.view.buckets tbody tr:has-text('${bucket}')`).first().click();
    await ready(page, `footer code:has-text('--explain ${bucket}')`);
    const explained = (await it.lines(page)).find((one) => one.includes("--explain"));
    const answer = answerOf(explained, dirname(file));
    const inside = page.locator(".view.buckets .below tbody tr");
    check(`${path}: the rows of ${bucket}`, answer.rows.length > 0 && await inside.count() === answer.rows.length, explained);
    check(`${path}: their bytes`, (await inside.first().locator("td").first().textContent()) === size(answer.rows[0].bytes));
    check(`${path}: a link has the category`, new URLSearchParams(new URL(page.url()).hash.slice(1)).get("bucket") === `:${bucket}`, page.url());
    await inside.first().click();
    await ready(page, "#view-table[aria-current=page]");
    check(`${path}: its row`, await page.locator(".view.table tr[aria-selected=true]").count() >= 1, page.url());
    await page.goBack();
    await ready(page, ".view.buckets .below");
    await page.close();
  }
}
