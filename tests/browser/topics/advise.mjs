// A change of the program, beside what was recorded.
import { dirname, join } from "node:path";

export default async function advise(it, { testdata }) {
  const { check, start, open, lines, line, text, answerOf } = it;
  // --- a change of the program, beside what was recorded ---
  {
    const file = join(testdata, "advise/base.json.gz");
    const page = await start("#view=advise");
    await open(page, file);
    await page.fill("#card", "1536MiB");
    await page.press("#card", "Enter");
    await page.waitForSelector("body[data-state=ready] footer code:has-text('--card 1536MiB')");
    const answer = answerOf(await line(page, "advise"), dirname(file));
    check("what fits on a card", await text(page, ".view.advise .lead") === answer.verdict[0], answer.verdict[0]);
    await page.locator(".view.advise tbody tr").first().click();
    await page.waitForSelector("body[data-state=ready] footer code:has-text('--change')");
    check("a change is in the address", new URLSearchParams(new URL(page.url()).hash.slice(1)).get("change") === answer.rows[0].change, page.url());
    check("two timelines", await page.locator(".view.advise .chart").count() === 2);
    const changed = answerOf((await lines(page)).find((one) => one.includes("--change")), dirname(file));
    check("the changed program's peak", Math.max(...changed.rows.map((row) => row.allocated)) === answer.rows[0].live_peak,
      `${answer.rows[0].live_peak}`);
    await page.fill("#card", "no such card");
    await page.press("#card", "Enter");
    await page.waitForSelector(".view.advise [role=alert]");
    check("a card that is not known", await page.locator("#card").count() === 1);
    await page.close();
  }
}
