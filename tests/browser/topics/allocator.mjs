// Addresses, blocks, and events one after the other.
import { basename, dirname, join } from "node:path";
import { size } from "../harness.mjs";

export default async function allocator(it, { testdata }) {
  const { check, start, open, line, text, answerOf } = it;
  // --- an address, an id, one event after the other ---
  {
    const file = join(testdata, "fit/train_512.json.gz");
    const page = await start("#view=allocator&at=event%3A100");
    await open(page, file);
    await page.fill("#find", "b829800000000_0");
    await page.press("#find", "Enter");
    await page.waitForSelector("body[data-state=ready] footer code:has-text('--id b829800000000_0')");
    const about = answerOf(await line(page, "events"), dirname(file)).rows.length;
    check("an id's events", await page.locator(".view.allocator section tbody tr").count() === about && about === 3, about);
    check("the id's segment comes first", (await text(page, ".segments tbody tr[aria-selected] td")) === "0x829800000000");
    await page.fill("#find", "0x829800000100");
    await page.press("#find", "Enter");
    await page.waitForSelector("body[data-state=ready] footer code:has-text('--address 0x829800000100')");
    check("an address inside a segment", (await text(page, ".segments tbody tr[aria-selected] td")) === "0x829800000000");
    await page.click("text=around the moment");
    await page.waitForSelector("body[data-state=ready] footer code:has-text('--from event:92 --to event:108')");
    await page.locator("main").focus();
    await page.keyboard.press("]");
    await page.waitForSelector("body[data-state=ready] footer code:has-text('--from event:93 --to event:109')");
    check("a key steps to the next event", /at=event%3A101/.test(page.url()), page.url());
    const selected = await page.locator(".view.allocator section tr[aria-selected] td").first().textContent();
    check("the event is marked", selected === "101", selected);
    check("and told, with its stack", (await text(page, ".view.allocator aside .story dt")) === "event 101" && await page.locator(".view.allocator .stack li").count() > 0);
    check("the segments are those of the event", (await line(page, "segments")).includes("--at event:101"));
    // Their table follows, in sight or not.
    for (const [event, sight] of [[20, false], [150, true]]) {
      await page.evaluate((inSight) => document.querySelector(inSight ? ".segments" : "main").scrollIntoView(), sight);
      await page.evaluate((at) => (location.hash = location.hash.replace(/at=event%3A\d+/, `at=event%3A${at}`)), event);
      const [most] = answerOf(`memtool segments -n 1 --at event:${event} ${basename(file)}`, dirname(file)).rows;
      const followed = await page.waitForFunction(([address, free]) => {
        const cells = [...document.querySelectorAll(".segments tbody tr:first-child td")].map((cell) => cell.textContent);
        return cells[0] === address && cells[4] === free;
      }, [most.address, size(most.free)], { timeout: 10_000 }).then(() => true, () => false);
      check(`the table of segments at event ${event}`, followed, `${most.address} ${most.free}`);
    }
    // So do the events around it.
    for (const [event, sight] of [[30, false], [160, true]]) {
      await page.evaluate((inSight) => document.querySelector(inSight ? ".view.allocator section" : "main").scrollIntoView(), sight);
      await page.evaluate((at) => (location.hash = location.hash.replace(/at=event%3A\d+/, `at=event%3A${at}`)), event);
      const followed = await page.waitForFunction((wanted) => document.querySelector(".view.allocator section tr[aria-selected] td")?.textContent === wanted,
        `${event}`, { timeout: 10_000 }).then(() => true, () => false);
      check(`the events around event ${event}`, followed);
    }
    await page.close();
  }

  // --- where a block belongs, and what would spare it ---
  {
    const folder = join(testdata, "advise");
    const page = await start("#view=allocator&at=event%3A36");
    await open(page, join(folder, "oom.json.gz"));
    const fact = async (name) => {
      const found = page.locator(`.mapped aside .story dt:text-is("${name}") + dd`);
      await found.waitFor();
      return found.textContent();
    };
    const [own] = answerOf("memtool events --details --from 36 --to 36 oom.json.gz", folder).rows;
    check("step, phase and layer", await fact("made in") === `step ${own.step}, ${own.phase}, ${own.layer}` && own.layer !== null, await fact("made in"));
    check("its category and why", await fact("category") === `${own.bucket}, because of ${own.matched}`, await fact("category"));
    const advised = answerOf("memtool advise oom.json.gz", folder).rows;
    const shown = await fact("within");
    const row = advised.find((one) => shown.includes(` ${one.change} saves ${size(one.saves)} of`));
    check("what would spare it", row !== undefined && row.function !== "" && shown.startsWith(`${row.function} (${row.calls} calls)`), shown);
    await page.locator('.mapped aside .story dt:text-is("within") + dd button').click();
    await page.waitForSelector("body[data-state=ready] .view.whatif tr[aria-selected]");
    check("leads into What if, filled in", (await text(page, ".view.whatif tr[aria-selected] td")).includes(row.change), page.url());
    await page.close();
  }
}
