// The map of memory: where blocks lie, what is drawn of them, and which colours they have.
// usage: node map_test.mjs
import assert from "node:assert/strict";
import { load } from "./front_end.mjs";

const { readSpace, blockAt, blockOf, addressOf, addressAt, byteOf, largestGap, slices } = await load("charts/space.ts");
const { Pieces, wholeView, zoomed, moved, clamped, viewOf, withInSight, byteAt, eachBox } = await load("charts/pieces.ts");
const { drawSwatch, kGapColors } = await load("charts/map.ts");
const { colorBy, Looks, gapOfLook, isDarkColor } = await load("charts/looks.ts");

let seed = 7;
const random = (below) => (seed = (seed * 48271) % 2147483647) % below;

function segment(device, address, sizes, more = {}) {
  let offset = 0;
  const block_list = sizes.map(([size, state, holder, requested = size], i) => {
    const block = [offset, size, state === "free" ? 0 : requested, state, state === "free" ? null : holder, i % 3 ? 100 * i : null];
    offset += size;
    return block;
  });
  return { device, address: `0x${address.toString(16)}`, size: offset, pool: "large", pool_id: "(0, 0)", stream: "0x0", returnable: 0,
    free: block_list.filter(([, , , state]) => state === "free").reduce((sum, [, size]) => sum + size, 0), block_list, ...more };
}

const holders = [{ name: "forward", file: "/a/model.py", line: 3 }, { name: "step", file: "opt.py", line: null }, { name: "(no stack)", file: "", line: null }];
const answer = { holders, rows: [
  segment(0, 0x7f0000300000, [[4096, "live", 2], [8192, "free"]], { pool_id: "(0, 1)" }),
  segment(0, 0x7f0000200000, [[1 << 20, "free"]], { returnable: 1 << 20 }),
  segment(0, 0x7f0000100000, [[1024, "live", 0, 1000], [2048, "free"], [5120, "pending", 1], [512, "live", 0]]),
] };
const space = readSpace(answer);
const key = colorBy(space, "holder", new Looks(), 1000);

// By address, private pools last; a block is where the program says.
assert.deepEqual(space.segments.map((one) => one.row.address), ["0x7f0000100000", "0x7f0000200000", "0x7f0000300000"]);
assert.deepEqual(space.segments.map((one) => one.envelope), ["", "", "private pool (0, 1)"]);
assert.equal(space.total, 8704 + (1 << 20) + 12288);
for (const row of answer.rows) {
  for (const [offset, size] of row.block_list) {
    const address = BigInt(row.address) + BigInt(offset);
    const found = blockOf(space, address + BigInt(size) - 1n);
    assert.equal(addressOf(space, found), `0x${address.toString(16)}`);
    assert.equal(space.size[found], size);
    assert.equal(blockAt(space, byteOf(space, address)), found);
  }
}
assert.equal(blockOf(space, 0x7f0000150000n), -1);
assert.equal(addressAt(space, 8704), 0x7f0000200000n);
assert.equal(space.size[largestGap(space)], 1 << 20);
assert.deepEqual([...key.of].map((look) => (look < 0 ? gapOfLook(look) : key.looks[look].name)),
  ["forward  model.py:3", "reuse", "step  opt.py", "forward  model.py:3", "returnable", "(no stack)", "private"]);
assert.deepEqual(slices(space, space.segments[0], 17).map(({ kind, part }) => [kind, part]), [["live", 1], ["free", 0], ["pending", 1], ["live", 1]]);

// What is drawn is what is there, at any scale: areas are bytes.
const many = readSpace({ holders, rows: Array.from({ length: 40 }, (_, i) => segment(0, 0x7f1000000000 + i * 0x4000000,
  Array.from({ length: 1 + random(400) }, () => [512 * (1 + random(random(8) ? 8 : 4000)), ["live", "live", "pending", "free"][random(4)], random(3)]))) });
const colors = colorBy(many, "holder", new Looks(), 1000);
const pieces = new Pieces();
const drawn = (view) => {
  pieces.fill(many, colors, view);
  const bytes = new Map();
  for (let i = 0; i < pieces.count; ++i) {
    assert.ok(pieces.x[i] >= 0 && pieces.x[i] + pieces.width[i] <= view.width + 1 && pieces.low[i] + pieces.part[i] < 1.001);
    bytes.set(pieces.look[i], (bytes.get(pieces.look[i]) ?? 0) + pieces.width[i] * pieces.part[i] * view.scale);
  }
  return bytes;
};
const near = (a, b, what) => assert.ok(Math.abs(a - b) <= 1e-5 * Math.max(1, Math.abs(b)), `${what}: ${a} for ${b}`);
let view = wholeView(many, 700, 12);
const whole = drawn(view);
colors.looks.forEach((look, i) => near(whole.get(i), look.bytes, look.name));
near([...whole.values()].reduce((sum, bytes) => sum + bytes), many.total, "all");
assert.ok(pieces.count < many.begin.length * 2);
for (let turn = 0; turn < 40; ++turn) {
  const [x, y] = [random(700), random(400)];
  const under = byteAt(view, x, y);
  const closer = zoomed(many, view, turn % 5 === 4 ? 3 : 0.7, x, y);
  if (closer.origin > 0 && closer.origin + closer.scale * 700 * 12 < many.total - 1) {
    near(byteAt(closer, x, y), under, "what is under the pointer stays");
  }
  view = closer;
  const all = [...drawn(view).values()].reduce((sum, bytes) => sum + bytes);
  near(all, Math.min(many.total - view.origin, view.scale * 700 * 12), "all in sight");
}
// It stays between the ends, and a block can be gone to.
assert.equal(moved(many, view, -1e15, 0).origin, 0);
near(moved(many, view, 1e15, 0).origin, many.total - view.scale * 700 * 12, "the end");
assert.equal(clamped(many, { ...view, scale: 1e12 }).scale, wholeView(many, 700, 12).scale);
for (const block of [0, 17, many.begin.length - 1]) {
  const at = viewOf(many, view, block);
  let wide = 0;
  eachBox(at, many.begin[block], many.begin[block] + many.size[block], (_x, _line, width) => (wide += width));
  near(wide * at.scale, many.size[block], "all of the block is in sight");
  assert.ok(wide > 200);
  const near0 = withInSight(many, { ...at, origin: 0 }, block);
  let seen = false;
  eachBox(near0, many.begin[block], many.begin[block] + many.size[block], () => (seen = true));
  assert.ok(seen);
}

// Names keep their colours when others come and go, and no two of sixteen look alike.
const looks = new Looks();
const first = looks.give(["a", "b", "c"]);
const second = looks.give(["d", "b", "a"]);
assert.deepEqual([second[1], second[2]], [first[1], first[0]]);
assert.equal(new Set(looks.give(Array.from({ length: 16 }, (_, i) => `n${i}`))).size, 16);
assert.equal(new Looks().give(Array.from({ length: 17 }, (_, i) => `n${i}`))[16], -1);
assert.deepEqual(colorBy(space, "pool", looks, 0).looks.map((look) => look.name).sort(), ["large", "large, private pool (0, 1)"]);
const ages = colorBy(space, "age", looks, 600);
assert.equal(ages.looks[ages.of[0]].name, "before the recording");
assert.equal(ages.looks[ages.of[2]].name, "allocated in events 200 to 299");
assert.ok(isDarkColor("#2c4a7c") && !isDarkColor("#eedd88"));

// What damaged files say of blocks neither overlaps nor leaves its segment.
const odd = readSpace({ holders: [], rows: [{ device: 0, address: "zzz", size: 100, pool_id: "(0, 0)", block_list: [
  [50, 20, 900, "live", 7, null], [10, 20, 20, "odd", null, null], [60, 1e9, 0, "free", null, null], [-5, -5, 0, "live", null, null]] }] });
assert.deepEqual([[...odd.begin], [...odd.size], [...odd.requested]], [[50, 70], [20, 30], [20, 0]]);
assert.equal(colorBy(odd, "holder", looks, 0).looks[0].name, "(holder not known)");
assert.equal(readSpace({ rows: [] }).total, 0);
pieces.fill(readSpace({ rows: [] }), { looks: [], of: new Int16Array(0) }, wholeView(readSpace({ rows: [] }), 700, 12));
assert.equal(pieces.count, 0);

// What can fill a gap is told by its pattern, not by its colour alone.
const hatches = Object.keys(kGapColors).map((gap) => {
  const fills = [];
  drawSwatch({ rect: (_x, _y, _width, _height, fill) => fills.push(fill) }, false, gap, 0, 0);
  assert.equal(fills.length, 1);
  assert.equal(fills[0].ink, kGapColors[gap]);
  return fills[0].hatch;
});
assert.deepEqual(hatches, ["rise", "rise", "fall", "cross"]); // what empty_cache() gives back, wholly or in part, looks the same
console.log(`${many.begin.length} blocks are drawn as many bytes as they have, at 41 scales`);
