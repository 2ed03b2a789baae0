// Flame graphs and the call graph: zoom and selection as links, filters of frames, callers and callees, colours,
// ranges, the whole graph; each figure as the program has it.
import { execFileSync } from "node:child_process";
import { join } from "node:path";
import { size } from "../harness.mjs";

const percent = (part, whole) => `${((100 * part) / whole).toFixed(1)}%`;

export default async function flame(it, { testdata, memtool, scratch }) {
  const { check, start, open, show, compare, line, lines, text, answerOf, checkSvg, settled } = it;
  const folder = join(testdata, "fit");
  const file = join(folder, "train_512.json.gz");
  const ask = (words, where = folder) => answerOf(`memtool ${words}`, where);
  const ready = (page, more = "") => page.waitForSelector(`body[data-state=ready]${more}`, { timeout: 60_000 });
  const go = async (page, hash) => {
    await page.evaluate((to) => { location.hash = to; }, hash);
    await page.waitForFunction((to) => location.hash === to, hash);
    await page.waitForTimeout(60);
    await settled(page);
  };
  const facts = (page) => page.locator("aside dl.facts").first().locator("dd").allTextContents();
  const family = async (page, title) => {
    const list = page.locator(`aside :is(h2, h3):text-is("${title}") + ul`);
    await list.locator("li").first().waitFor();
    return list.locator("li").allTextContents();
  };

  // --- zoom and selection are a link; Back undoes; a frame's panel ---
  {
    const page = await start("#view=flame");
    await open(page, file);
    const { rows, total } = answerOf(await line(page, "flame"), folder);
    const build = rows.find((row) => row.name === "build");
    const inMain = rows.filter((row) => row.depth === 2);
    const left = inMain.slice(0, inMain.indexOf(build)).reduce((sum, row) => sum + row.bytes, 0);
    const wide = await page.locator("canvas.flame").evaluate((canvas) => canvas.clientWidth);
    await page.locator("canvas.flame").click({ position: { x: (wide * (left + build.bytes / 2)) / total, y: 18 * 2 + 8 } });
    await page.waitForURL(/node=/);
    await ready(page, " aside:has-text('allocations with')");
    check("a click chooses the frame", (await text(page, "aside h2")) === "build" && /row=build/.test(page.url()), page.url());
    check("its figures", (await facts(page)).join() === [build.bytes, build.self].map((bytes) => `${size(bytes)} · ${percent(bytes, total)}`).join(), (await facts(page)).join());
    const below = rows.filter((row) => row.parent === build.id).sort((a, b) => b.bytes - a.bytes).map((row) => `${row.name} ${size(row.bytes)}`);
    check("what it calls", (await family(page, "calls")).join() === below.join() && below.length === 2, (await family(page, "calls")).join());
    const counted = answerOf(await line(page, "top"), folder);
    check("how many allocations", (await text(page, "aside")).includes(`${counted.total} allocations`) && counted.sample_type === "allocations", await text(page, "aside"));
    const kinds = answerOf(await line(page, "buckets"), folder).rows.filter((row) => row.bytes > 0);
    const shown = await text(page, "aside");
    check("their categories", kinds.length > 0 && kinds.slice(0, 6).every((row) => shown.includes(`${row.bucket}${size(row.bytes)}`)), shown);
    const link = page.url();
    await page.goBack();
    await ready(page, " aside h2:has-text('(all)')");
    check("Back zooms out", !/node=/.test(page.url()), page.url());
    await go(page, new URL(link).hash.replace("view=flame", "view=flame&at=end"));
    check("the zoom stays at another moment", (await text(page, "aside h2")) === "build", await text(page, "aside h2"));
    const later = ask("flame --at end train_512.json.gz").rows.find((row) => row.name === "build");
    check("with its figure there", (await facts(page))[0].startsWith(`${size(later.bytes)} `), (await facts(page))[0]);
    await page.close();
    const other = await start(new URL(link).hash);
    await open(other, file);
    await ready(other, " aside:has-text('allocations with')");
    check("the link shows the same", (await text(other, "aside h2")) === "build" && (await text(other, ".says")).includes(size(build.bytes)), await text(other, ".says"));
    await other.close();
  }

  // --- filters of frames: chips of the command line's own options ---
  {
    const page = await start("#view=flame");
    await open(page, file);
    const all = answerOf(await line(page, "flame"), folder);
    await page.locator("canvas.flame").focus();
    for (const key of ["ArrowDown", "ArrowDown"]) {
      await page.keyboard.press(key);
    }
    const name = await text(page, "aside h2");
    await page.click("aside button:has-text('hide this frame')");
    await ready(page, " .chip");
    const hidden = answerOf(await line(page, "flame"), folder);
    check("a frame is hidden", all.rows.some((row) => row.name === name) && !hidden.rows.some((row) => row.name === name) && hidden.total === all.total, await line(page, "flame"));
    check("its chip names it", (await text(page, ".chip")).startsWith(`hide ${name}`), await text(page, ".chip"));
    await page.fill("#frame-match", "^grad$");
    await page.press("#frame-match", "Enter");
    await ready(page, " .chip + .chip");
    const both = answerOf(await line(page, "flame"), folder);
    check("two are hidden", !both.rows.some((row) => row.name === name || row.name === "grad") && all.rows.some((row) => row.name === "grad"), await line(page, "flame"));
    await page.locator(".chip button").first().click();
    await ready(page, ":not(:has(.chip + .chip))");
    const one = answerOf(await line(page, "flame"), folder);
    check("a chip is removed", one.rows.some((row) => row.name === name) && !one.rows.some((row) => row.name === "grad"), await line(page, "flame"));
    for (const key of ["show", "show-from", "prune-from"]) {
      await go(page, `#view=flame&${key}=build`);
      check(`--${key}`, (await line(page, "flame")).includes(` --${key} build `) && (await page.locator(".chip").count()) === 1, await line(page, "flame"));
      const answer = answerOf(await line(page, "flame"), folder);
      check(`--${key}: its figures`, (await text(page, ".says")).includes(` ${size(answer.total)} · 100.0% of all`), await text(page, ".says"));
      await show(page, "table");
      check(`--${key} in the table`, (await line(page, "top")).includes(` --${key} build `));
      await show(page, "flame");
    }
    await page.close();
  }

  // --- one function between its callers and callees ---
  {
    const page = await start("#view=flame&up=around&row=forward");
    await open(page, file);
    await ready(page, " aside:has-text('allocations with')");
    const from = ask("flame --min-share 0 --show-from '^forward$' train_512.json.gz");
    check("around: all of it", (await text(page, ".says")).includes(`${size(from.total)} · 100.0% of this function`) && from.total > 0, await text(page, ".says"));
    const peek = ask("peek '^forward$' train_512.json.gz").rows;
    const of = (relation) => peek.filter((row) => row.relation === relation);
    check("around: its callers", (await family(page, "called by")).join() === of("caller").map((row) => `${row.name} ${size(row.weight)}`).join(), (await family(page, "called by")).join());
    const svg = await checkSvg(page, "around");
    check("around: its callees in the picture", of("callee").every((row) => svg.includes(`>${row.name}<`) || row.weight * 25 < from.total), svg.slice(0, 300));
    check("around: nothing else", !svg.includes(">embedding<") && svg.includes(">main<"));
    // A callee becomes the middle: the widest is leftmost, below the heading.
    await page.locator("canvas.flame").nth(1).click({ position: { x: 6, y: 8 } });
    const widest = of("callee").sort((a, b) => b.weight - a.weight)[0];
    await ready(page, ` aside h2:has-text('${widest.name}')`);
    check("a callee becomes the middle", page.url().includes(`row=${widest.name}`), page.url());
    check("its callers lead back", (await family(page, "called by"))[0]?.startsWith("forward "), (await family(page, "called by")).join());
    await page.goBack();
    await ready(page, " aside h2:has-text('forward')");
    await go(page, "#view=flame&up=around&row=nobody");
    check("around nothing", (await text(page, "main")).includes("no frame here is nobody"), await text(page, "main"));
    await page.close();
  }

  // --- colours have a key; a base shows what changed by shape and sign ---
  {
    const page = await start("#view=flame");
    await open(page, join(testdata, "torch/small/native.pickle"));
    check("files have a key", /\.py|others/.test(await text(page, ".key")), await text(page, ".key"));
    await page.selectOption("#color", "own");
    await ready(page, " .key:has-text('your code')");
    check("own code: with all frames", (await line(page, "flame")).includes("--frames all"), await line(page, "flame"));
    await page.selectOption("#color", "self");
    await ready(page, " .key:has-text('itself')");
    check("the choice is in the link", /color=self/.test(page.url()), page.url());
    await page.selectOption("#color", "bucket");
    await page.waitForURL(/color=bucket/);
    await settled(page);
    const held = new Map();
    for (const row of answerOf(await line(page, "flame"), join(testdata, "torch/small")).rows.slice(1)) {
      held.set(row.bucket, (held.get(row.bucket) ?? 0) + row.self);
    }
    const named = [...held].filter(([bucket]) => bucket !== null).sort((a, b) => b[1] - a[1]).map(([bucket]) => bucket);
    const key = await page.locator(".key span").allTextContents();
    check("categories, those that hold most first", named.length > 1 && key.slice(0, Math.min(3, named.length)).join() === named.slice(0, 3).join(), `${key} / ${named}`);
    check("frames turned over have none", (await page.selectOption("#up", "leaves"), await page.waitForURL(/up=leaves/), await settled(page),
      (await page.locator("#color option[value=bucket]").count()) === 0));
    await page.close();
  }
  {
    const leak = join(testdata, "pprof/jax_leak");
    const page = await start("#view=flame");
    await open(page, join(leak, "memory9.prof"));
    await compare(page, join(leak, "memory1.prof"));
    const { rows } = answerOf(await line(page, "flame"), leak);
    const svg = await checkSvg(page, "a base");
    const grown = rows.filter((row) => row.change > 0 && row.bytes * 3 > rows[0].bytes);
    check("what grew has its sign", grown.length > 0 && grown.every((row) => svg.includes(`▲ ${size(row.change, true)}`)), svg.slice(0, 400));
    check("its key tells shapes", /▲ grew.*▼ shrank/.test(await text(page, ".key")), await text(page, ".key"));
    await page.close();
  }

  // --- of a range ---
  {
    const page = await start("#view=flame&from=event:20&to=event:90&of=allocated");
    await open(page, file);
    const summary = ask("events --summary --by stack --from event:20 --to event:90 -n 0 train_512.json.gz");
    check("allocated in the range", (await text(page, ".says")).includes(` ${size(summary.total)} · 100.0%`) && summary.total > 0, await text(page, ".says"));
    check("its line", (await line(page, "events")).includes("--summary --by stack -n 0 --from event:20 --to event:90"), (await lines(page)).join());
    await page.selectOption("#of", "kept");
    await ready(page, ":has(#of option[value=kept]:checked)");
    check("kept in the range", (await text(page, "main")).includes(summary.kept_bytes === 0 ? "nothing" : size(summary.kept_bytes)), await text(page, "main"));
    await page.selectOption("#of", "largest");
    await ready(page, " footer code:has-text('--largest')");
    const largest = answerOf(await line(page, "events"), folder);
    check("the largest in the range", (await text(page, ".says")).includes(` ${size(largest.rows.reduce((sum, row) => sum + row.size, 0))} · 100.0%`), await text(page, ".says"));
    await page.selectOption("#of", "");
    await ready(page, " footer code:has-text('memtool flame')");
    await page.close();
  }

  // --- the whole call graph ---
  {
    const page = await start("#view=graph");
    await open(page, file);
    const answer = answerOf(await line(page, "peek"), folder);
    const self = (name) => answer.rows.find((row) => row.relation === "self" && row.name === name);
    const svg = await checkSvg(page, "the whole graph");
    const drawn = answer.rows.filter((row) => row.relation === "self" && row.cum >= 0.005 * answer.total);
    check("functions are drawn with their bytes", drawn.length > 5 && drawn.every((row) => svg.includes(`>${row.name}<`) && svg.includes(`>${size(row.cum)} · ${percent(row.cum, answer.total)}<`)), svg.slice(0, 300));
    await page.locator("canvas.graph").focus();
    await page.keyboard.press("ArrowDown");
    await page.waitForURL(/node=/);
    check("the keyboard begins where most is", (await text(page, "aside h2")) === "main", await text(page, "aside h2"));
    const at = answer.rows.findIndex((row) => row.relation === "self" && row.name === "main");
    const callees = answer.rows.slice(at + 1, answer.rows.findIndex((row, i) => i > at && row.relation !== "callee"));
    check("its calls", (await family(page, "calls")).join() === callees.map((row) => `${row.name} ${size(row.weight)}`).join() && callees.length > 2, (await family(page, "calls")).join());
    await page.keyboard.press("ArrowDown");
    await page.waitForFunction(() => document.querySelector("aside h2")?.textContent !== "main");
    const name = await text(page, "aside h2");
    check("down the heaviest call", callees.some((row) => row.name === name && row.weight === callees[0].weight), name);
    check("its figures", (await text(page, ".says")).includes(`${size(self(name).cum)} · ${percent(self(name).cum, answer.total)} of all · ${size(self(name).flat)} itself`), await text(page, ".says"));
    const link = new URL(page.url()).hash;
    await page.fill("#search", "soft");
    check("search", (await text(page, ".tools")).includes("1 function found"), await text(page, ".tools"));
    await page.fill("#search", "");
    await page.locator("canvas.graph").focus();
    await page.keyboard.press("+");
    await page.waitForURL(/zoom=/);
    const near = new URLSearchParams(new URL(page.url()).hash.slice(1)).get("zoom");
    check("what is in sight is in the link", /^[\d.]+@-?\d+,-?\d+$/.test(near), near);
    const entries = await page.evaluate(() => history.length);
    await page.keyboard.press("0");
    await page.waitForURL(/zoom=all/);
    check("one entry each", await page.evaluate(() => history.length) - entries <= 1);
    await page.keyboard.press("Enter");
    await ready(page, " .calls .node");
    check("Enter shows it alone", page.url().includes(`row=${name}`), page.url());
    await page.click("#whole-graph");
    await ready(page, " canvas.graph");
    await go(page, link);
    check("the link chooses it again", (await text(page, "aside h2")) === name, await text(page, "aside h2"));
    await page.close();
  }

  // --- 85,000 frames, 5,000 deep, and a name of a megabyte ---
  {
    const path = join(scratch, "deep.json");
    execFileSync("/usr/bin/python3", ["-c", kDeep, path]);
    const page = await start("#view=flame&frames=all");
    await open(page, path);
    for (const up of ["", "flame", "leaves", "around"]) {
      await go(page, `#view=flame&frames=all&up=${up}&row=f5`);
      const flames = page.locator(".flames").first();
      check(`deep, ${up}: it scrolls inside`, await flames.evaluate((one) => one.scrollHeight > 18 * 400 && one.clientHeight < 800 && one.querySelector("canvas").height < 3000));
      const slowest = await page.evaluate(async () => {
        const canvas = document.querySelector("canvas.flame");
        const times = [];
        for (let i = 0; i < 40; ++i) {
          canvas.parentElement.parentElement.scrollTop += 40;
          const begun = performance.now();
          const box = canvas.getBoundingClientRect();
          canvas.dispatchEvent(new MouseEvent("mousemove", { clientX: box.x + 9 * i, clientY: box.y + 9 * i, bubbles: true }));
          await new Promise(requestAnimationFrame);
          times.push(performance.now() - begun);
        }
        return times.sort((a, b) => a - b)[20];
      });
      check(`deep, ${up}: hovering is quick`, slowest < 100, `${slowest} ms`);
    }
    await go(page, "#view=graph&frames=all");
    check("deep: the call graph", (await page.locator("canvas.graph").count()) === 1 && /80 /.test(await text(page, ".tools")), await text(page, "main"));
    await page.close();
  }
}

const kDeep = `
import json, sys
base = address = 1 << 46
blocks = []
def frame(name, file="deep.py", line=1):
    return {"name": name, "filename": file, "line": line}
def add(size, frames):
    global address
    blocks.append({"size": size, "requested_size": size, "state": "active_allocated", "address": address, "frames": frames})
    address += size
deep = [frame(f"f{i % 900}", line=i + 1) for i in range(5000)]
add(1 << 30, deep)
add(1 << 28, [frame("N" * 1000000)] + deep[-3:])
for i in range(20000):
    add(512 * (1 + i % 50), [frame(f"leaf{i}_{d}", f"m{i % 40}.py", d) for d in range(4)] + [frame("main", "main.py", i % 30)])
size = address - base
segment = {"device": 0, "address": base, "total_size": size, "stream": 0, "segment_type": "large", "allocated_size": size,
           "active_size": size, "requested_size": size, "segment_pool_id": [0, 0], "is_expandable": False, "frames": [], "blocks": blocks}
json.dump({"segments": [segment], "device_traces": [[]], "allocator_settings": {}, "external_annotations": []}, open(sys.argv[1], "w"))
`;
