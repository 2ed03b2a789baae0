// Saved tables: what a spreadsheet would run as a formula is text, and figures stay figures.
// usage: node csv_test.mjs
import assert from "node:assert/strict";
import { load } from "./front_end.mjs";

const { toCsv } = await load("core/csv.ts");
const { count, percent, size } = await load("core/format.ts");

const cell = (text) => toCsv([[text]]).slice(1, -3);
for (const formula of ["=1+1", "+cmd|' /C calc'!A0", "-2+3", "-1.5 MiB+A1", "@SUM(A1)", "\t=1+1", "\r=1+1", "\n=1+1", "=", "-",
  "+1,A1", "-x", "-[NSArray count]"]) {
  assert.equal(cell(formula), `'${formula}`);
}
const figures = [-5, 0, 1023, -1_234_567, 5.8e6, 2n ** 62n, -(2n ** 62n)].flatMap((value) => [count(value), size(value), size(value, true)]);
for (const text of [...figures, percent(-1, 3), "-0.25", "+12", "", "a = b", "operator-", "x@y", " =1"]) {
  assert.equal(cell(text), text);
}
assert.equal(toCsv([["Flat", "Where"], ["-1.00 KiB", 'f("=", a)']]), '"Flat","Where"\r\n"-1.00 KiB","f(""="", a)"\r\n');
assert.equal(toCsv([['="a"']]), '"\'=""a"""\r\n');
console.log("no cell of a saved table is a formula");
