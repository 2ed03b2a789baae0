// Gestures, the keyboard, the clipboard.
import { join } from "node:path";

export default async function people(it, { testdata }) {
  const { check, start, open, text } = it;
  // --- gestures are one entry of the history; copies without a clipboard ---
  {
    const page = await start("#view=timeline");
    await open(page, join(testdata, "fit/train_512.json.gz"));
    const box = await page.locator(".plot").boundingBox();
    await page.mouse.move(box.x + box.width / 2, box.y + 60);
    const before = await page.evaluate(() => history.length);
    await page.mouse.wheel(0, -100);
    await page.waitForTimeout(400);
    check("the wheel scrolls the page", !/from=/.test(page.url()), page.url());
    await page.locator(".plot").focus();
    for (let notch = 0; notch < 6; ++notch) {
      await page.mouse.wheel(0, -100);
      await page.waitForTimeout(300);
    }
    await page.waitForSelector("body[data-state=ready] footer code:has-text('--from')");
    const after = await page.evaluate(() => history.length);
    check("six notches are one entry", after - before === 1, `${after - before}`);
    await page.evaluate(() => Object.defineProperty(navigator, "clipboard", { value: undefined }));
    await page.click("#copy");
    await page.waitForFunction(() => document.querySelector(".status").textContent !== "");
    check("a copy says how it went", /copied|by hand/.test(await text(page, ".status")), await text(page, ".status"));
    await page.close();
  }

  // --- the keyboard alone ---
  {
    const page = await start();
    await open(page, join(testdata, "fit/train_512.json.gz"));
    const state = (found) => page.waitForSelector(`body[data-state=ready] ${found}`, { timeout: 30_000 });
    await page.locator("main").focus();
    await page.keyboard.press("2");
    await state("#view-timeline[aria-current=page]");
    await page.locator(".plot").focus();
    await page.keyboard.press("+");
    await state("footer code:has-text('--from event:')");
    check("the plot keeps the keyboard", await page.evaluate(() => document.activeElement?.className) === "plot");
    await page.keyboard.press("Home");
    await state("footer:not(:has-text('--from event:60'))");
    await page.keyboard.press("ArrowLeft");
    await state("footer code:has-text('--at event:')");
    const before = page.url();
    await page.keyboard.press("Shift+ArrowLeft");
    await page.waitForURL((url) => url.href !== before);
    await state("footer code:has-text('--at event:')");
    check("arrows move the moment", /at=event/.test(page.url()), page.url());
    await page.keyboard.press("3");
    await state("#view-flame[aria-current=page]");
    await page.locator(".flame canvas").first().focus();
    await page.keyboard.press("ArrowDown");
    await page.keyboard.press("ArrowDown");
    const frame = await page.locator(".view.flame .says b").textContent();
    await page.keyboard.press("Enter");
    await page.keyboard.press("t");
    await state("#view-table[aria-current=page]");
    check("a frame's row", (await text(page, ".neighbours h2")) === frame, frame);
    await page.locator(".view.table tbody tr").first().focus();
    await page.keyboard.press("ArrowDown");
    await page.keyboard.press("Enter");
    await state("aside h2");
    const second = await page.locator(".view.table .slot tbody tr").nth(1).locator("td.text").first().textContent();
    check("Enter picks a row", (await text(page, ".neighbours h2")) === second, second);
    await page.locator("main").focus();
    await page.keyboard.press("/");
    check("/ goes to the search", await page.evaluate(() => document.activeElement?.id) === "search");
    await page.locator("main").focus();
    await page.keyboard.press("6");
    await state("#view-graph[aria-current=page]");
    await page.locator(".calls .node").first().focus();
    await page.keyboard.press("Enter");
    await state("#view-graph[aria-current=page]");
    check("Enter moves on in the call graph", /row=build/.test(page.url()), page.url());
    await page.keyboard.press("?");
    check("? lists the keys", await page.locator(".keys").isVisible());
    await page.close();
  }
}
