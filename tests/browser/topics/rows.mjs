// Tables: what their rows stand for, and categories of the page's own.
import { join } from "node:path";

export default async function rows(it, { testdata }) {
  const { check, start, open, text } = it;
  // --- rows that are no functions have no callers ---
  {
    const page = await start("#view=table&by=bucket");
    await open(page, join(testdata, "fit/train_512.json.gz"));
    await page.locator(".view.table tbody tr").first().click();
    await page.waitForSelector("body[data-state=ready] aside h2");
    check("a bucket is called by nobody", !/called by|only with this/.test(await text(page, "aside")), await text(page, "aside"));
    await page.close();
  }

  // --- keywords edited in the page: Others shrinks ---
  {
    const page = await start("#view=buckets");
    await open(page, join(testdata, "fit/train_512.json.gz"));
    await page.fill("#keywords", "keywords:\n  Mine:\n    - optimizer\n");
    await page.waitForSelector("body[data-state=ready] .view.buckets td:has-text('Mine')");
    const mine = await page.locator(".view.buckets tr:has-text('Mine') td").first().textContent();
    check("a category of the page's own", mine === "139.59 MiB", mine);
    check("Others shrinks", (await text(page, ".view.buckets .lead")).includes("Others 286.66 MiB (67.3%)"));
    await page.fill("#keywords", "keywords: [");
    await page.waitForSelector("body[data-state=ready] .view.buckets .note:has-text('SETME.yaml')");
    await page.close();
  }
}
