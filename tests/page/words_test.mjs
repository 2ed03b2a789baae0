// What names say of inputs, and the curve. usage: node words_test.mjs
import assert from "node:assert/strict";
import { load } from "./front_end.mjs";

const { guessParameter, readParameter, writeParameter } = await load("core/guess.ts");
const { loopsOf, loopText } = await load("core/words.ts");
const { steps } = await load("charts/curve.ts");

assert.equal(guessParameter(["batch8.pickle", "batch16.pickle"]), "batch=8,16");
assert.equal(guessParameter(["a/ctx512_v2.pickle", "b/ctx1024_v2.pickle"]), "ctx=512,1024");
assert.equal(guessParameter(["train_512.json.gz", "train_1024.json.gz"]), "x=512,1024");
assert.equal(guessParameter(["seq_512.json.gz", "seq_1024.json.gz"]), "seq=512,1024");
assert.equal(guessParameter(["rank0.pickle", "rank1.pickle"]), ""); // one job, not two sizes
assert.equal(guessParameter(["a8_1.pickle", "a16_2.pickle"]), ""); // two numbers differ
assert.equal(guessParameter(["a8.pickle", "a08.pickle"]), "");
assert.equal(guessParameter(["a8.pickle", "b.pickle"]), "");
assert.equal(guessParameter(["a8.pickle"]), "");
assert.deepEqual(readParameter("seq=512,1024@4096"), { name: "seq", values: ["512", "1024"], at: "4096" });
assert.deepEqual(readParameter(""), { name: "", values: [""], at: "" });
assert.equal(writeParameter(readParameter("seq=512,1024@4096")), "seq=512,1024@4096");

assert.equal(loopText({ kind: "layers", phase: "forward" }), "layers in the forward");
assert.equal(loopText({ kind: "steps", phase: "backward" }), "passes in the backward");
assert.equal(loopText({ kind: "steps", phase: "other" }), "repetitions");
assert.deepEqual(loopsOf({ loops: [{ kind: "other" }, { kind: "parameters" }] }), [{ kind: "parameters" }]);
assert.deepEqual(loopsOf({}), []);

assert.deepEqual(steps(8192, 8, 10), [0, 2000, 4000, 6000, 8000]);
assert.deepEqual(steps(11 * 2 ** 30, 5, 2).map((one) => one / 2 ** 30), [0, 4, 8]);
console.log("words and names are read as they should be");
