// One run's events at the places of another. usage: node lines_test.mjs
import assert from "node:assert/strict";
import { load } from "./front_end.mjs";

const { ascending, mapped } = await load("charts/lines.ts");

// Pairs that go backwards in either run are left out; the ends never are.
assert.deepEqual(ascending([[10, 5], [4, 8], [20, 30], [99, 1]], [-1, -1], [50, 100]), [[-1, -1], [4, 8], [20, 30], [50, 100]]);
const anchors = [[-1, -1], [9, 19], [29, 29]];
const places = mapped(Float64Array.from([-1, 4, 9, 19, 29, 39]), anchors);
assert.deepEqual([...places], [-1, 9, 19, 24, 29, 34]); // in proportion, and on beyond the last
for (let i = 1; i < places.length; ++i) {
  assert.ok(places[i] > places[i - 1]);
}
assert.deepEqual([...mapped(Float64Array.from([0, 3]), [[0, 0], [0, 5]])], [0, 0]); // of a run of one event
console.log("runs of other lengths share an axis");
