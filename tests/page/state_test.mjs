// What the page shows: links, and what a choice makes meaningless. usage: node state_test.mjs
import assert from "node:assert/strict";
import { load } from "./front_end.mjs";

const { afresh, kDefaults, readState, readZoom, reduce, writeState, writeZoom } = await load("core/state.ts");

// Every state is a link and every link that state.
const state = { ...kDefaults, view: "table", at: "event:7", row: "a;b=c&d#e", focus: "^f\\(x\\)$", node: "1.2" };
assert.deepEqual(readState(writeState(state)), state);
assert.equal(writeState(kDefaults), "#");
assert.deepEqual(readState("#nonsense=1&view=flame"), { ...kDefaults, view: "flame" });

// Another input has its own moments; the same one keeps them.
const other = reduce(state, { input: "b" });
assert.deepEqual([other.at, other.row, other.node, other.focus], ["", "", "", state.focus]);
assert.equal(reduce({ ...state, input: "b" }, { input: "b" }).at, "event:7");
// What is given anew stays.
assert.equal(reduce(state, { input: "b", at: "peak" }).at, "peak");
// A view's order and zoom are its own; what is looked at goes along.
const view = reduce({ ...state, sort: "-cum" }, { view: "flame" });
assert.deepEqual([view.sort, view.node, view.row, view.at], ["", "", state.row, "event:7"]);
// What is in sight is of one view and one input; a moment keeps it.
const near = { ...state, zoom: "4096@0x7f00" };
assert.deepEqual([reduce(near, { at: "end" }).zoom, reduce(near, { view: "flame" }).zoom, reduce(near, { input: "b" }).zoom], ["4096@0x7f00", "", ""]);
assert.deepEqual(readZoom(writeZoom(1234.5678, "0x7f00")), { scale: 1235, place: "0x7f00" });
assert.deepEqual(readZoom(writeZoom(1e-5, "-3,4")), { scale: 1e-5, place: "-3,4" });
assert.deepEqual(["", "all", "0@x", "@x", "-1@x", "x@1"].map(readZoom), Array(6).fill(undefined));
assert.deepEqual(afresh(state), { ...kDefaults, view: "table" });
assert.equal(state.at, "event:7"); // states are never changed in place
console.log("states are links, and reduced as one table says");
