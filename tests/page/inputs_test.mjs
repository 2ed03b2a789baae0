// What the page reads from `info`. usage: node inputs_test.mjs
import assert from "node:assert/strict";
import { load } from "./front_end.mjs";

const { readInputs } = await load("core/inputs.ts");

const [profile, history] = readInputs({ inputs: [
  { path: "a.prof", answers: ["top", "flame"], labels: ["kind"] },
  { path: "b.pickle", devices: [{ device: 1, name: "cuda:1", events: 7, peak_event: 3, peak_bytes: 2n ** 60n, oom_events: [5] }] },
] });
assert.equal(profile.name, "a.prof");
assert.deepEqual(["top", "flame", "segments"].map(profile.can), [true, true, false]);
assert.deepEqual([profile.hasHistory, profile.labels, profile.devices], [false, ["kind"], []]);
assert.equal(profile.defaultBy, "filefunction");
assert.equal(readInputs({ inputs: [{ path: "memory.log", default_by: "tag" }] })[0].defaultBy, "tag");
// Where the core does not say, every view is offered.
assert.ok(history.can("segments") && history.hasHistory);
assert.deepEqual(history.devices, [{ device: 1, name: "cuda:1", events: 7, peakEvent: 3, peakBytes: 2 ** 60, oomEvents: [5] }]);
console.log("inputs are read as info describes them");
