// Steps, phases and layers as bands. usage: node bands_test.mjs
import assert from "node:assert/strict";
import { load } from "./front_end.mjs";

const { layerBands, phaseBands, placed, placedName, stepBands } = await load("charts/bands.ts");

const step = (device, number, begin, end) => ({ step: number, device, begin, end, peak: 1024, peak_event: begin + 1, allocations: 5, mark: null, complete: number > 1 });
const answer = {
  rows: [step(0, 1, 2, 9), step(1, 1, 0, 3), step(0, 2, 10, 19)],
  traces: [{ device: 1, phases: [] }, { device: 0, phases: [{ phase: "other", allocations: 1 }, { phase: "forward", allocations: 6 }, { phase: "backward", allocations: 3 }] }],
  loops: [{ device: 0, begin: 4, period: 2, repetitions: 3, kind: "layers", phase: "forward" }, { device: 0, begin: 4, period: 1, repetitions: 9, kind: "other", phase: "forward" },
    { device: 0, begin: 3, period: 1, repetitions: 9, kind: "layers", phase: "forward" }],
};
assert.deepEqual(stepBands(answer, 0).map(({ from, to, name }) => [from, to, name]), [[2, 9, "step 1"], [10, 19, "step 2"]]);
assert.ok(stepBands(answer, 0)[0].title.includes("cut off") && !stepBands(answer, 0)[1].title.includes("cut off"));

// Every second event allocates; of the stretch from event 4 on, the first allocation is number 2.
const births = { first: 2, events: [4, 6, 8, 10, 12, 14, 16, 18], end: 19 };
assert.deepEqual(phaseBands(answer, 0, births).map(({ from, to, name }) => [from, to, name]), [[4, 13, "forward"], [14, 19, "backward"]]);
assert.deepEqual(layerBands(answer, 0, births).map(({ from, to, name }) => [from, to, name]), [[4, 7, "layer 1"], [8, 11, "layer 2"], [12, 15, "layer 3"]]);
assert.deepEqual(layerBands(answer, 0, { ...births, events: [4, 6, 8], end: 9 }).map(({ from, to }) => [from, to]), [[4, 7], [8, 9]]);

// Those that are too narrow are drawn together; wide ones, and what is not seen, are not.
const many = Array.from({ length: 100 }, (_, i) => ({ row: 0, from: 10 * i, to: 10 * i + 9, name: `step ${i + 1}`, title: "" }));
const narrow = placed(many, (event) => event / 10, 0, 100, 3);
assert.deepEqual(narrow.map((one) => [one.bands.length, one.x, one.width]), [[100, 0, 100]]);
assert.equal(placedName(narrow[0]), "step 1 to 100");
const wide = placed(many, (event) => event, 205, 250, 3);
assert.deepEqual(wide.map((one) => [placedName(one), one.x, one.width]),
  [["step 21", 205, 5], ["step 22", 210, 10], ["step 23", 220, 10], ["step 24", 230, 10], ["step 25", 240, 10]]);
console.log("steps, phases and layers lie where the core counts them");
