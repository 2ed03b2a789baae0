// Names that strangers chose, in every view.
import { dirname, join } from "node:path";
import { figures } from "../figures.mjs";
import { kPictures } from "../harness.mjs";

export default async function hostile(it, { testdata }) {
  const { check, start, open, show, shown, text, checkSvg } = it;
  // --- hostile names in every view ---
  for (const path of ["pprof/hostile/names.pb.gz", "hostile_names/snapshot.json", "hostile_names/mxnet.log", "hostile_names/log.mtcap"]) {
    const page = await start("#frames=all");
    const strange = page.locator("body :is(script:not([type]), img, iframe, a, svg, object, embed, style, link, b b)");
    const own = await strange.count();
    await open(page, join(testdata, path));
    check(`${path}: opens`, await page.getAttribute("body", "data-state") === "ready", await text(page, "main"));
    for (const view of await shown(page)) {
      await show(page, view);
      check(`hostile names in ${view} of ${path}`, await page.locator("main [role=alert]").count() === 0 &&
        await strange.count() === own);
      await figures[view](it, page, dirname(join(testdata, path)), `hostile ${path}`);
      if (kPictures.has(view) && !(await page.locator("#save-svg").isDisabled())) {
        await checkSvg(page, `hostile ${path}, ${view}`);
      }
    }
    // Each name is looked at alone: a regular expression, a word of a line, a heading.
    await show(page, "table");
    for (let row = 0; row < 40; row += 3) {
      await page.locator(".view.table .beside > .slot:first-child tbody tr").nth(row).click();
      await page.waitForSelector("body[data-state=ready] aside h2", { timeout: 10_000 });
      check(`${path}: row ${row} has its neighbours`, await page.locator("aside .note:has-text('memtool:')").count() === 0, await text(page, "aside"));
    }
    await page.close();
  }
}
