// The open files: names, order, and what they are compared with. usage: node job_test.mjs
import assert from "node:assert/strict";
import { load } from "./front_end.mjs";

const { arranged, named, sameFiles } = await load("core/job.ts");

const file = (name) => ({ name, data: { of: name } });
const names = (job) => `${job.inputs.map((one) => one.name).join()} | ${job.bases.map((one) => one.name).join()}`;

// No two have one name, and none is an option.
assert.equal(names(named({ inputs: [file("a"), file("a"), file("--help")], bases: [file("a"), file("2/a")] })), "a,2/a,./--help | 3/a,4/a");
// Names that differ stay, whatever the order.
const job = { inputs: [file("2/a"), file("a"), file("b")], bases: [file("c")] };
assert.equal(names(named(job)), "2/a,a,b | c");

assert.equal(names(arranged(job, "up", "b")), "2/a,b,a | c");
assert.equal(names(arranged(job, "up", "2/a")), "2/a,a,b | c");
assert.equal(names(arranged(job, "down", "2/a")), "a,2/a,b | c");
assert.equal(names(arranged(job, "base", "a")), "2/a,b | a"); // instead of the one before
assert.equal(names(arranged(job, "input", "c")), "2/a,a,b,c | ");
assert.equal(names(arranged(job, "remove", "c")), "2/a,a,b | ");
assert.equal(names(arranged(job, "remove", "a")), "2/a,b | c");
const pair = { inputs: [file("new")], bases: [file("old")] };
assert.equal(names(arranged(pair, "swap", "")), "old | new");
assert.equal(names(arranged(pair, "base", "new")), "old | new");
assert.equal(names(arranged({ inputs: [file("one")], bases: [] }, "remove", "one")), "one | ");

assert.ok(sameFiles(job, arranged(job, "up", "b")));
assert.ok(sameFiles(pair, arranged(pair, "swap", "")));
assert.ok(!sameFiles(job, arranged(job, "remove", "c")));
assert.ok(!sameFiles(pair, { inputs: [file("new")], bases: pair.bases })); // another file of that name
console.log("files are named and put in order");
