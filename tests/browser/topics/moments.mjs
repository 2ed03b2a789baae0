// One moment, one range, one device and one input drive all views, and stand in the link.
import { dirname, join } from "node:path";
import { figures } from "../figures.mjs";
import { size } from "../harness.mjs";

export default async function moments(it, { testdata }) {
  const { check, start, open, show, lines, line, text, answerOf } = it;
  // --- one moment, everywhere, exactly ---
  {
    const file = join(testdata, "fit/train_512.json.gz");
    for (const event of [0, 7, 31, 58, 60, 99, 120, 121, 160, 174]) {
      const page = await start(`#view=timeline&at=event%3A${event}`);
      await open(page, file);
      check(`event ${event} is event ${event}`, (await text(page, ".chart .says b")) === `event ${event}`, await text(page, ".chart .says"));
      await figures.timeline(it, page, dirname(file), `event ${event}`);
      await page.close();
    }
    const page = await start("#at=event%3A60");
    await open(page, file);
    check("the account is of the moment", (await line(page, "account")).includes("--at event:60"), await line(page, "account"));
    check("nothing is said of another moment", await page.locator(".card h2:has-text('At a glance')").count() === 0);
    await page.close();
  }

  // --- thirty moments: in every view the figures are the program's, whatever is chosen beside ---
  for (const { files, link, events } of [
    { files: ["fit/train_512.json.gz"], link: "", events: [7, 31, 58, 59, 60, 61, 99, 120, 121, 144, 160, 173] },
    { files: ["fit/train_512.json.gz"], link: "&focus=optimizer", events: [3, 60, 90, 121, 150, 174] },
    { files: ["fit/train_512.json.gz", "advise/base.json.gz"], link: "&input=base.json.gz", events: [1, 300, 700, 1043, 1300, 1621] },
    { files: ["torch/small/three_devices.pickle"], link: "&device=1", events: [0, 2, 4, 5, 7, 9] }]) {
    const page = await start(`#view=table${link}`);
    const paths = files.map((file) => join(testdata, file));
    await open(page, paths);
    for (const view of ["table", "flame", "timeline", "overview"]) {
      await show(page, view);
      for (const event of events) {
        await page.evaluate((at) => new Promise((done) => {
          new MutationObserver((_all, observer) => {
            if (document.body.dataset["state"] === "ready") {
              observer.disconnect();
              done();
            }
          }).observe(document.body, { attributes: true, attributeFilter: ["data-state"] });
          const link = new URLSearchParams(location.hash.slice(1));
          link.set("at", at);
          location.hash = `#${link}`;
        }), `event:${event}`);
        const command = { table: "top", overview: "account" }[view] ?? view;
        const shown = view === "timeline" ? await text(page, ".chart .says") : await line(page, command);
        check(`${view}${link}: the moment is event ${event}`, new RegExp(`event[ :]${event}(?!\\d)`).test(shown.replaceAll(",", "")), shown);
        await figures[view](it, page, dirname(paths.at(-1)), `${view}${link} at event ${event}`);
      }
    }
    await page.close();
  }

  // --- several inputs, several devices: one is chosen, and said ---
  {
    const page = await start("#view=timeline");
    await open(page, [join(testdata, "fit/train_512.json.gz"), join(testdata, "advise/base.json.gz")]);
    check("each of several is shown", (await page.locator(".chart h2").allTextContents()).join() === "train_512.json.gz,base.json.gz");
    check("of which what is live is", (await text(page, ".below h2")).includes("train_512.json.gz"), await text(page, ".below h2"));
    check("what is live is of it, too", !(await line(page, "top")).includes("base.json.gz"), await line(page, "top"));
    await page.selectOption("#input", "base.json.gz");
    await page.waitForSelector("body[data-state=ready] footer code:has-text('base.json.gz')");
    check("another one", (await lines(page)).every((one) => !one.includes("train_512")), (await lines(page)).join());
    await open(page, join(testdata, "torch/small/three_devices.pickle"));
    await show(page, "timeline");
    const charts = page.locator(".chart");
    if (await charts.count() > 1) {
      const box = await charts.nth(1).locator(".plot").boundingBox();
      await page.mouse.move(box.x + box.width * 0.3, box.y + 40);
      await page.mouse.down();
      await page.mouse.move(box.x + box.width * 0.8, box.y + 50, { steps: 5 });
      await page.mouse.up();
      await page.waitForSelector("body[data-state=ready] footer code:has-text('--device')");
      check("a range of the second device", await page.locator("[role=alert]").count() === 0 && (await text(page, ".status")) === "", await text(page, ".status"));
    }
    await page.close();
  }

  // --- moment, range, filter, deep link ---
  {
    const file = join(testdata, "fit/train_512.json.gz");
    const page = await start("#view=table&at=event%3A120&by=line&sort=-cum");
    await open(page, file);
    check("the link's line", (await line(page, "top")).includes("--by line --at event:120"), await line(page, "top"));
    const first = await page.locator(".view.table tbody tr").first().locator("td").nth(2).textContent();
    const answer = answerOf(await line(page, "top"), dirname(file));
    check("the link's order", first === size(Math.min(...answer.rows.map((row) => row.cum))), first);
    await page.fill("#focus", "optimizer");
    await page.press("#focus", "Enter");
    await page.waitForSelector("body[data-state=ready] footer code:has-text('--focus optimizer')");
    await page.locator(".view.table th button").first().click();
    await figures.table(it, page, dirname(file), "a filter");
    await page.fill("#search", "^optim");
    await page.waitForSelector(".tools .note:text-matches('^1 row, ')");
    check("rows with a word", await page.locator(".view.table tbody tr").count() === 1);
    await page.fill("#search", "");
    await page.fill("#focus", "");
    await page.press("#focus", "Enter");
    await page.waitForSelector("body[data-state=ready] footer code:not(:has-text('--focus'))");

    await show(page, "timeline");
    const box = await page.locator(".plot").boundingBox();
    await page.mouse.move(box.x + box.width * 0.25, box.y + 50);
    await page.mouse.down();
    await page.mouse.move(box.x + box.width * 0.75, box.y + 60, { steps: 5 });
    await page.mouse.up();
    await page.waitForSelector("body[data-state=ready] footer code:has-text('--from event:')");
    check("a range is in the address", /from=event/.test(page.url()), page.url());
    const range = answerOf(await line(page, "timeline"), dirname(file));
    const [from, to] = [...page.url().matchAll(/(?:from|to)=event%3A(\d+)/g)].map((found) => Number(found[1]));
    check("the range's line is of the range", range.rows.at(-1).event <= to && range.rows[1].event >= from && to - from < 130, `${from} ${to}`);
    await page.goBack();
    await page.waitForSelector("body[data-state=ready] footer code:not(:has-text('--from'))");
    check("back takes the range away", !/from=event/.test(page.url()), page.url());
    await page.locator(".plot").click({ position: { x: box.width * 0.5, y: 100 } });
    await page.waitForSelector("body[data-state=ready] footer code:has-text('top -n 8 --at event:')");
    const moment = await line(page, "top");
    const live = answerOf(moment, dirname(file));
    const says = await text(page, ".chart .says");
    check("a click chooses the moment", /at=event/.test(page.url()) && says.includes(`${size(live.total)} live`), `${says} ${moment}`);
    const story = await text(page, ".story");
    const event = answerOf(await line(page, "events"), dirname(file)).rows[0];
    check("the event's story", story.includes(event.action) && story.includes(size(event.size)) && (event.id === "" || story.includes(event.id)), story);
    check("its stack", (await page.locator(".stack").first().locator("li.own").count()) === Math.min(12, event.frames.length), await text(page, "aside"));
    await page.selectOption("#axis", "time");
    await page.waitForSelector("body[data-state=ready] footer code:has-text('--axis time')");
    await page.selectOption("#by", "bucket");
    await page.waitForSelector("body[data-state=ready] footer code:has-text('--by bucket')");
    check("layers by bucket", (await page.locator(".legend .name").allTextContents()).includes("Others"));

    await show(page, "flame");
    check("the moment drives the flame graph", (await line(page, "flame")).includes("--at event:"));
    await page.fill("#search", "optim");
    await page.waitForSelector(".tools .note:has-text('match')");
    check("search says its share", /match, \d/.test(await text(page, ".tools")), await text(page, ".tools"));
    const whole = await text(page, ".view.flame .says");
    await page.selectOption("#up", "leaves");
    await page.waitForSelector("body[data-state=ready] #up option[value=leaves]:checked", { state: "attached" });
    check("turned over, all is the same", (await text(page, ".view.flame .says")).split("·")[0] === whole.split("·")[0]);
    await page.close();
  }
}
