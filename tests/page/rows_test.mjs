// Rows of a table: what cells say, order, search, and what is in sight. usage: node rows_test.mjs
import assert from "node:assert/strict";
import { load } from "./front_end.mjs";

const { cellText, inOrder, inSight, kPlace, kWhere, rowText } = await load("ui/rows.ts");

const rows = [
  { name: "b", file: "x/a.py", line: 7, flat: 2048 }, { name: "a", file: "x/b.py", line: 0, flat: 5 }, { name: "c", file: "", flat: 2048 },
];
const flat = { key: "flat", title: "Flat", kind: "size" };
assert.deepEqual(rows.map((row) => cellText(flat, row)), ["2.00 KiB", "5 B", "2.00 KiB"]);
assert.deepEqual(rows.map((row) => cellText(kPlace, row)), ["a.py:7", "b.py", ""]);
assert.equal(cellText({ key: "saves", title: "", kind: "size", value: () => undefined }, rows[0]), "");
assert.equal(cellText({ key: "saves", title: "", kind: "change", value: (row) => row.flat }, rows[0]), "+2.00 KiB");

// Equal rows stay in the order in which the program gave them, both ways.
const names = (found) => found.map((row) => row.name).join("");
assert.equal(names(inOrder(rows, flat, true)), "bca");
assert.equal(names(inOrder(rows, flat, false)), "abc");
assert.equal(names(inOrder(rows, kWhere, false)), "abc");
assert.equal(names(inOrder(rows, kWhere, true)), "cba");
assert.equal(names(rows), "bac");

assert.equal(rowText([flat, kWhere, kPlace], rows[0]), "b x/a.py:7");
assert.equal(rowText([kPlace, kWhere], rows[0]), "b x/a.py:7"); // ^b finds the name

// What is in sight and some around it; never more than there is.
assert.deepEqual(inSight(0, 220, 22, 100_000), { from: 0, to: 22 });
assert.deepEqual(inSight(22_000, 220, 22, 100_000), { from: 988, to: 1022 });
assert.deepEqual(inSight(1e9, 220, 22, 1000), { from: 987, to: 1000 });
assert.deepEqual(inSight(0, 220, 22, 3), { from: 0, to: 3 });
console.log("rows are shown as they should be");
