// Answers that are asked for again and again are kept, however many others there are between.
import assert from "node:assert/strict";
import { load } from "./front_end.mjs";

const asked = [];
globalThis.Worker = class {
  postMessage(message) {
    asked.push(message);
    queueMicrotask(() => this.onmessage({ data: { kind: "done", id: message.id, result: { code: 0, out: "", err: "" } } }));
  }
};
const { Core } = await load("core/core.ts");
const core = await Core.start(new Blob([""]), "");
const times = (word) => asked.filter((one) => one.kind === "run" && one.words[0] === word).length;
for (let moment = 0; moment < 1000; ++moment) {
  await core.run(["leaks"]);
  await core.run(["segments", `event:${moment}`]);
}
assert.equal(times("leaks"), 1);
assert.equal(times("segments"), 1000);
await core.run(["segments", "event:999"]);
assert.equal(times("segments"), 1000, "what was asked last");
await core.run(["segments", "event:0"]);
assert.equal(times("segments"), 1001, "not all are kept");
console.log("the most used of 1001 answers is asked for once");
