// The gauge of a card, and the bar that it is drawn as. usage: node gauge_test.mjs
import assert from "node:assert/strict";
import { load } from "./front_end.mjs";

const { gaugeOf, gaugeOfFailure, whereAsked } = await load("charts/gauge.ts");
const { boxes } = await load("charts/bar.ts");

// A step's bytes, or these and what its parts leave.
const rows = (steps) => Object.entries(steps).map(([step, given]) => ({ step, bytes: [given].flat()[0], rest: [given].flat()[1] ?? null }));
const parts = (gauge) => Object.fromEntries(gauge.parts.map((part) => [part.role, part.bytes]));

// A snapshot: the card's size is not in it.
const snapshot = gaugeOf(rows({ capacity: null, free: null, reserved: 100, cached: 30, allocated: 70, requested: 68 }));
assert.deepEqual([parts(snapshot), snapshot.end, snapshot.capacity], [{ live: 70, cached: 30 }, 100, undefined]);
// The size is known, and not what of the rest is free.
assert.deepEqual(parts(gaugeOf(rows({ capacity: [100, 30], allocated: 70 }))), { live: 70, unknown: 30 });
// All of it is known.
assert.deepEqual(parts(gaugeOf(rows({ capacity: 200, free: 20, used: 180, other_processes: 30, below_framework: 10, reserved: 140, cached: 40, allocated: 100 }))),
  { live: 100, cached: 40, outside: 10, others: 30, free: 20 });
// What is used by all is held by others where nothing says by whom; it is not counted twice.
assert.deepEqual(parts(gaugeOf(rows({ capacity: [100, 0], free: 40, used: 60 }))), { others: 60, free: 40 });
assert.deepEqual(parts(gaugeOf(rows({ capacity: [100, 0], free: 40, used: [60, 10], allocated: 50 }))), { live: 50, others: 10, free: 40 });
// Only what is reserved, or only what was asked for.
assert.deepEqual(parts(gaugeOf(rows({ reserved: 50, allocated: null }))), { live: 50 });
assert.deepEqual(parts(gaugeOf(rows({ requested: 5 }))), { live: 5 });
assert.deepEqual(parts(gaugeOf(rows({ free: 40, reserved: 50, requested: 50 }))), { live: 50, free: 40 });
// What is of the process, and not of its allocator.
assert.deepEqual(parts(gaugeOf(rows({ used: [90, 10], process: [80, 30], reserved: [50, 0], allocated: 50 }))), { live: 50, outside: 30, others: 10 });
const [, beyond] = gaugeOf(rows({ reserved: [50, 30], cached: null, requested: 20 })).parts;
assert.deepEqual([beyond.bytes, beyond.name], [30, "reserved beyond that"]); // rounding is in it: not "cached"
assert.equal(gaugeOf(rows({ capacity: null })), undefined);

const failed = (asked, given) => gaugeOfFailure({ asked, capacity: null,
  rows: Object.entries(given).map(([name, bytes]) => ({ kind: "part", name, bytes })) }, String);
const torch = failed(16, { free: 8, live: 70, pending: 2, cached: 20, non_framework: 5, other: 1 });
assert.deepEqual(parts(torch), { live: 70, pending: 2, cached: 20, outside: 5, others: 1, free: 8 });
assert.deepEqual(whereAsked(torch), { from: 98, to: 114, whole: 114 });
assert.equal(torch.parts.at(-1).role, "free"); // what is asked for begins there
assert.deepEqual(whereAsked(failed(10, { live: 50, cached: 50 })), { from: 50, to: 60, whole: 100 }); // a pool serves it itself
assert.equal(whereAsked(failed(2 ** 40, { live: 90, free: 10 })).whole, 130); // the bar stays readable
assert.equal(failed(0, {}), undefined);

// A bar fills its width, in order, and hides nothing.
const fill = () => ({ color: "#fff", hatch: "", ink: "" });
for (const sizes of [[1], [1, 1e12], [5, 0, 3, 1e-9], [1e12, 1, 1, 1, 1e12], Array(40).fill(3)]) {
  const whole = sizes.reduce((sum, one) => sum + one, 0);
  const drawn = boxes(sizes.map((bytes) => ({ name: "", bytes, fill })), whole, 300);
  assert.equal(drawn.length, sizes.filter((one) => one > 0).length);
  assert.ok(Math.abs(drawn.at(-1).x + drawn.at(-1).width - 300) < 1e-6, `${sizes}`);
  drawn.forEach((box, i) => assert.ok(box.width >= 1.99 && (i === 0 || Math.abs(box.x - drawn[i - 1].x - drawn[i - 1].width) < 1e-9)));
}
assert.equal(boxes([{ name: "", bytes: 50, fill }], 100, 300)[0].width, 150); // what is not told stays empty
console.log("gauges and bars");
