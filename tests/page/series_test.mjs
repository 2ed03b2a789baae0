// Columns of a timeline and its colours. usage: node series_test.mjs
import assert from "node:assert/strict";
import { load } from "./front_end.mjs";

const { Colors, pointAt, readSeries } = await load("charts/series.ts");

const row = (device, event, layer_1, rest) => ({ device, event, time_us: 1000 + 10 * event, allocated: Number(layer_1) + Number(rest), reserved: 64, layer_1, rest });
const answer = {
  inputs: [{ layers: [{ key: "layer_1", name: "f", file: "a.py", line: 1 }, { key: "rest", name: "others", file: "", line: null }] }],
  rows: [row(0, -1, 0, 0), row(1, 0, 9, 9), row(0, 0, 3, 1), row(0, 5, 2n ** 40n, 7)],
};
const series = readSeries(answer, 0, false, 1000, new Colors());
assert.deepEqual([...series.x], [-1, 0, 5]);
// Layers are stacked, and the last one is all that is live.
assert.deepEqual(series.tops.map((top) => [...top]), [[0, 3, 2 ** 40], [0, 4, 2 ** 40 + 7]]);
assert.deepEqual([...series.seconds], [-1e-5, 0, 5e-5]);
assert.deepEqual([...readSeries(answer, 0, true, 1000, new Colors()).x], [...series.seconds]);

// Lows are of parts: where every event has its row there are none.
const low = (device, event) => ({ ...row(device, event, 3, 1), lowest: 2 });
const parts = { inputs: answer.inputs, rows: [low(0, 0), low(0, 10), low(0, 20)] };
assert.deepEqual([...readSeries(parts, 0, false, 1000, new Colors()).lowest], [2, 2, 2]);
assert.equal(readSeries({ ...parts, rows: [low(0, 0), low(0, 1), low(0, 2)] }, 0, false, 1000, new Colors()).lowest, undefined);
assert.equal(series.lowest, undefined);

// The last point at or before a place, as a scan finds it.
const xs = Float64Array.from({ length: 100 }, (_, i) => Math.trunc(i / 3) * 2);
for (let x = -1; x < 70; x += 0.5) {
  assert.equal(pointAt(xs, x), xs.reduce((found, one, i) => (one <= x ? i : found), -1), `${x}`);
}

// A layer keeps its colour; new ones take those that are least used.
const colors = new Colors();
const first = colors.of("layer_1", "f");
const second = colors.of("layer_2", "g");
assert.notEqual(first, second);
assert.equal(colors.of("layer_7", "f"), first);
assert.equal(new Set(Array.from({ length: 8 }, (_, i) => colors.of("layer_1", `n${i}`))).size > 5, true);
assert.notEqual(colors.of("rest", "x"), colors.of("before_recording", "x"));
console.log("timelines are read as columns");
