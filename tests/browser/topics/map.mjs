// The map of memory: every block of the program is found at its place, in the colour of its holder,
// whatever the moment; the request that failed stands beside the largest gap; a link opens at its block.
import { dirname, join } from "node:path";
import { shortName, size } from "../harness.mjs";

const kLine = 34; // of a line of the map, and where its blocks are in it
const kMiddle = 4 + 13 + 9;
const kHair = 0.75; // between neighbours

// The program's blocks in the map's order: by address, private pools last.
function blocksOf(answer) {
  const isPrivate = (row) => row.pool_id !== "(0, 0)";
  const rows = [...answer.rows].sort((a, b) => a.device - b.device || isPrivate(a) - isPrivate(b) ||
    (isPrivate(a) ? a.pool_id.localeCompare(b.pool_id) : 0) || Number(BigInt(a.address) - BigInt(b.address)));
  let begin = 0;
  return rows.flatMap((row) => {
    const at = begin;
    begin += row.size;
    return row.block_list.map(([offset, size, requested, state, holder, event]) => ({ offset, size, requested, state, holder, event,
      at: at + offset, row, address: `0x${(BigInt(row.address) + BigInt(offset)).toString(16)}` }));
  });
}

const ready = (page, words) => page.waitForSelector(`body[data-state=ready] footer code:has-text('${words}')`, { timeout: 60_000 });

async function wholeMap(it, page, folder, label) {
  const { check, lines, answerOf, text } = it;
  const line = (await lines(page)).find((one) => one.includes("--blocks"));
  const answer = answerOf(line.replace(" --format json", ""), folder);
  const blocks = blocksOf(answer);
  const inUse = (await page.locator(".mapped .legend [data-bytes]").evaluateAll((all) => all.map((one) => Number(one.dataset.bytes)))).reduce((a, b) => a + b, 0);
  check(`${label}: what is drawn as live is the program's`, inUse === answer.allocated + answer.pending_free, `${inUse} ${answer.allocated}`);
  await page.click("button:text-is('all')");
  await page.waitForTimeout(100);
  const box = await page.locator("canvas.map").boundingBox();
  const total = answer.rows.reduce((sum, row) => sum + row.size, 0);
  const scale = total / (box.width * 12);
  // What the colour is, on the picture, and in the key.
  const places = blocks.map((block) => {
    const along = (block.at + block.size / 2) / scale;
    return { block, x: along % box.width, y: Math.floor(along / box.width) * kLine + kMiddle, wide: block.size / scale };
  }).filter(({ x, wide }) => wide > 6 && x > 3 && x < box.width - 3);
  const step = Math.max(1, Math.floor(places.length / 40));
  for (const { block, x, y } of places.filter((_, i) => i % step === 0)) {
    await page.mouse.move(box.x + x, box.y + y);
    const says = await text(page, ".memory .says");
    check(`${label}: ${block.address} is at its place`, says.startsWith(`${block.address} · ${size(block.size)}`), says);
    const rounding = block.size - block.requested;
    check(`${label}: what is said of ${block.address}`, block.state === "free" ? says.includes("free:")
      : says.includes(shortName(answer.holders[block.holder].name)) && (rounding === 0 || block.requested === 0 || says.includes(`${size(rounding)} of it rounding`)) &&
        (block.event === null ? says.includes("before the recording") : says.includes(`event ${block.event.toString().replace(/\B(?=(\d{3})+$)/g, ",")}`)), says);
  }
  return { answer, blocks, places, box };
}

// Of each block, the colour in its lower part, where no text is.
const colors = (page, places) => page.locator("canvas.map").evaluate((canvas, all) => {
  const ratio = canvas.width / canvas.clientWidth;
  const to = canvas.getContext("2d");
  return all.map(([x, y]) => [...to.getImageData(Math.round(x * ratio), Math.round(y * ratio), 1, 1).data].slice(0, 3).join());
}, places.map(({ x, y, wide }) => [x - Math.min(wide, 20) / 2 + kHair + 1, y + 7]));

async function holders(it, page, { answer, places }, label) {
  const { check } = it;
  const key = new Map(await page.locator(".mapped .legend button").evaluateAll((all) => all.map((button) =>
    [button.title, getComputedStyle(button.querySelector(".swatch")).backgroundColor.match(/\d+/g).slice(0, 3).join()])));
  const found = await colors(page, places);
  const seen = new Map();
  places.forEach(({ block }, i) => {
    if (block.state !== "live" || block.requested < block.size) {
      return;
    }
    const { name, file, line } = answer.holders[block.holder];
    const title = file === "" ? name : `${name}  ${file}${line ? `:${line}` : ""}`;
    const entry = key.get(title);
    if (entry !== undefined) {
      check(`${label}: ${block.address} has the colour of ${title}`, found[i] === entry, `${found[i]} ${entry}`);
      seen.set(title, entry);
    }
  });
  check(`${label}: several holders are seen`, seen.size > 2, `${seen.size}`);
  return seen;
}

async function failing(it, { testdata }) {
  const { check, start, open, text, line, answerOf } = it;
  const file = join(testdata, "advise/oom.json.gz");
  const page = await start("#view=allocator");
  await open(page, file);
  const shown = await wholeMap(it, page, dirname(file), "where memory ran out");
  const before = await holders(it, page, shown, "where memory ran out");

  const oom = answerOf(await line(page, "oom"), dirname(file));
  const said = await page.locator(".request canvas").getAttribute("aria-label");
  check("the request that failed", said === `asked for ${size(oom.asked)}; the largest free block is ${size(oom.usable_largest)}` &&
    (await text(page, ".request p")).startsWith(oom.answer), said);

  // The keyboard goes through all blocks, in their order.
  await page.locator("canvas.map").focus();
  await page.keyboard.press("Home");
  let wrong = "";
  for (const block of shown.blocks) {
    const says = await text(page, ".memory .says");
    wrong ||= says.startsWith(`${block.address} · `) ? "" : `${says} is not ${block.address}`;
    await page.keyboard.press("ArrowRight");
  }
  check("arrows go through every block of the program", wrong === "", wrong);

  // A block by Enter: its story, its link, and the picture opened there.
  const rounded = shown.blocks.filter((one) => one.event !== null && one.requested < one.size);
  const block = rounded[rounded.length >> 1];
  await page.keyboard.press("Home");
  for (let i = shown.blocks.indexOf(block); i > 0; --i) {
    await page.keyboard.press("ArrowRight");
  }
  await page.keyboard.press("Enter");
  await ready(page, `--address ${block.address}`);
  const story = await text(page, ".mapped aside");
  check("a block's story", story.includes(block.address) && story.includes(`${size(block.size)}: ${size(block.requested)} asked for, ${size(block.size - block.requested)} rounding`) &&
    story.includes(`event ${block.event.toString().replace(/\B(?=(\d{3})+$)/g, ",")}`) && (await page.locator(".mapped aside .stack li").count()) > 0, story);
  check("the block is in the address", page.url().includes(`block=${block.address}`), page.url());
  check("the keyboard is still on the map", await page.evaluate(() => document.activeElement.className) === "map");
  await page.goBack();
  await ready(page, "--to event:");
  check("back lets go of it", !page.url().includes("block="), page.url());

  // Another moment: the same names have the same colours.
  await page.locator("main").focus();
  await page.keyboard.press("{");
  await ready(page, "--at event:");
  const after = await holders(it, page, await wholeMap(it, page, dirname(file), "a hundred events before"), "a hundred events before");
  for (const [name, color] of after) {
    check(`${name} keeps its colour`, !before.has(name) || before.get(name) === color);
  }
  check("away from the failure there is no request", await page.locator(".request").count() === 0);
  for (const by of ["pool", "stream", "age"]) {
    await page.selectOption("#color", by);
    await page.waitForSelector(`body[data-state=ready]`);
    await page.waitForFunction((by) => location.hash.includes(`color=${by}`), by);
    await ready(page, "--blocks");
    const inUse = (await page.locator(".mapped .legend [data-bytes]").evaluateAll((all) => all.map((one) => Number(one.dataset.bytes)))).reduce((a, b) => a + b, 0);
    const { allocated, pending_free } = answerOf(await line(page, "segments"), dirname(file));
    check(`colours by ${by} say all that is live`, inUse === allocated + pending_free, `${inUse} ${allocated}`);
  }
  await page.close();
  return block.address;
}

async function opened(it, { testdata }, address) {
  const { check, start, open, text, line } = it;
  const page = await start(`#view=allocator&block=${address}`);
  await open(page, join(testdata, "advise/oom.json.gz"));
  await page.waitForFunction(() => document.querySelector("canvas.map")?.dataset.ms !== undefined);
  const box = await page.locator("canvas.map").boundingBox();
  await page.mouse.move(box.x + box.width / 2, box.y + 6 * kLine + kMiddle);
  check("a link opens at its block", (await text(page, ".memory .says")).startsWith(`${address} · `), await text(page, ".memory .says"));
  await page.mouse.move(box.x + box.width / 2 - box.width / 8, box.y + 6 * kLine + kMiddle);
  check("close enough to see it", (await text(page, ".memory .says")).startsWith(`${address} · `), await text(page, ".memory .says"));
  // A wheel zooms where it has been asked to, and what is under it stays.
  await page.locator("canvas.map").focus();
  await page.mouse.wheel(0, -240);
  await page.waitForTimeout(100);
  check("a wheel keeps what is under it", (await text(page, ".memory .says")).startsWith(`${address} · `));
  // Six notches are one gesture, one link, one entry of the history.
  const entries = () => page.evaluate(() => history.length);
  const before = await entries();
  for (let i = 0; i < 5; ++i) {
    await page.mouse.wheel(0, -120);
  }
  await page.waitForURL(/zoom=/);
  check("a gesture is one entry of the history", await entries() === before + 1, `${await entries() - before}`);
  check("the lines stay", (await line(page, "segments")).includes("segments"));
  const said = await text(page, ".memory .says");
  const other = await start(new URL(page.url()).hash);
  await open(other, join(testdata, "advise/oom.json.gz"));
  await other.waitForFunction(() => document.querySelector("canvas.map")?.dataset.ms !== undefined);
  await other.mouse.move(box.x + box.width / 2 - box.width / 8, box.y + 6 * kLine + kMiddle);
  check("a link has what is in sight", (await text(other, ".memory .says")) === said && said.startsWith(address), await text(other, ".memory .says"));
  await other.close();
  await page.goBack();
  await page.waitForFunction(() => !location.hash.includes("zoom=") && document.body.dataset.state === "ready");
  await page.locator("canvas.map").focus();
  await page.keyboard.press("Escape");
  await page.waitForTimeout(100);
  await page.mouse.move(box.x + 2, box.y + kMiddle);
  check("Escape shows all", !(await text(page, ".memory .says")).startsWith(`${address} · `));
  await page.close();
}

// A held key and a hand on the slider are faster than answers: the last moment is what is shown.
async function scrubbed(it, { testdata }) {
  const { check, start, open, line, text, answerOf } = it;
  const file = join(testdata, "advise/oom.json.gz");
  const page = await start("#view=allocator&at=event%3A500");
  await open(page, file);
  const shows = async (event, label) => {
    await ready(page, `--at event:${event} `);
    const answer = answerOf(await line(page, "segments"), dirname(file));
    await page.waitForFunction((lead) => document.querySelector(".view.allocator .lead").textContent.startsWith(lead), `${size(answer.reserved)} reserved`);
    const inUse = (await page.locator(".mapped .legend [data-bytes]").evaluateAll((all) => all.map((one) => Number(one.dataset.bytes)))).reduce((a, b) => a + b, 0);
    check(`${label}: the map is of the last moment`, inUse === answer.allocated + answer.pending_free, `${inUse} ${answer.allocated}`);
    // Out of sight, as they are here, they wait for the moment to rest.
    check(`${label}: so are its events`, await page.waitForFunction((wanted) =>
      document.querySelector(".view.allocator section tr[aria-selected] td")?.textContent === wanted, `${event}`, { timeout: 10_000 }).then(() => true, () => false));
    check(`${label}: so is the story`, (await text(page, ".mapped aside .story dt")) === `event ${event}`);
  };
  await page.locator("main").focus();
  const before = await page.evaluate(() => history.length);
  for (let i = 0; i < 30; ++i) {
    await page.keyboard.press("]");
  }
  await shows(530, "a held key");
  await page.locator("#scrub").evaluate((scrub) => {
    for (let event = 531; event <= 600; ++event) {
      scrub.value = String(event);
      scrub.dispatchEvent(new Event("input"));
    }
  });
  await shows(600, "the slider");
  check("few entries of the history", await page.evaluate(() => history.length) - before <= 4, `${await page.evaluate(() => history.length) - before}`);
  await page.close();
}

export default async function map(it, given) {
  await scrubbed(it, given);
  await opened(it, given, await failing(it, given));
  // Several devices, blocks that wait, and a file without a history of most of its blocks.
  const { start, open } = it;
  for (const path of ["torch/small/three_devices.pickle", "steps/new.json.gz", "fit/late_256.json.gz"]) {
    const page = await start("#view=allocator");
    const file = join(given.testdata, path);
    await open(page, file);
    await wholeMap(it, page, dirname(file), path);
    await page.close();
  }
}
