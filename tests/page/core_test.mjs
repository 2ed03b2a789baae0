// Answers that are asked for again and again are kept, however many others there are between.
import assert from "node:assert/strict";
import { load } from "./front_end.mjs";

const asked = [];
let out = "";
globalThis.Worker = class {
  postMessage(message) {
    asked.push(message);
    queueMicrotask(() => this.onmessage({ data: { kind: "done", id: message.id, result: { code: 0, out, err: "" } } }));
  }
};
const { Core } = await load("core/core.ts");
const core = await Core.start(new Blob([""]), "");
const times = (word) => asked.filter((one) => one.kind === "run" && one.words[0] === word).length;
// What is asked, so often, between two questions that are the same.
async function moments(command, many) {
  for (let moment = 0; moment < many; ++moment) {
    await core.run(["leaks"]);
    await core.run([command, `event:${moment}`]);
  }
  assert.equal(times("leaks"), 1);
  assert.equal(times(command), many);
  await core.run([command, `event:${many - 1}`]);
  assert.equal(times(command), many, "what was asked last");
  await core.run([command, "event:0"]);
  assert.equal(times(command), many + 1, "not all are kept");
}
await moments("segments", 1200);
out = "x".repeat(1_000_000);
await moments("segments --blocks", 100);
await core.run(["segments --blocks", "event:60"]);
assert.equal(times("segments --blocks"), 101, "of large ones as many as there is room for");
out = "x".repeat(100_000_000);
await core.run(["one"]);
await core.run(["one"]);
assert.equal(times("one"), 1, "one is kept, however large");
console.log("what is asked for again and again is asked once, whatever is between; what is kept has an end");
