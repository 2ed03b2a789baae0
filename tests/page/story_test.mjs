// How a stack is told: own code stands out, what others put between is folded. usage: node story_test.mjs
import assert from "node:assert/strict";
import { load } from "./front_end.mjs";

const { foldStack } = await load("ui/story.ts");
const frames = (text) => text.split(" ").map((name) => ({ name, file: `${name}.py`, line: 1 }));
const told = (own, all) => foldStack(own === "" ? [] : frames(own), frames(all)).map((part) =>
  "own" in part ? part.own.name : part.folded.map((one) => one.name).join("+"));

assert.deepEqual(told("step main", "malloc alloc step call main start"), ["malloc+alloc", "step", "call", "main", "start"]);
assert.deepEqual(told("f f", "f lib f"), ["f", "lib", "f"]); // a function that calls itself
assert.deepEqual(told("", "a b"), ["a+b"]);
assert.deepEqual(told("a b", "a b"), ["a", "b"]);
// One that is no part of the whole is shown as it is.
assert.deepEqual(told("a other b", "a x b"), ["a", "other", "b"]);
console.log("stacks are folded around one's own frames");
