// The page's reading of the program's JSON: integers of any size, fractions of any length, names that
// look like either. usage: node answers_test.mjs
import assert from "node:assert/strict";
import { load } from "./front_end.mjs";

const { parseAnswer, asNumber } = await load("core/answers.ts");

const read = (text) => parseAnswer(`{"x":${text}}`).x;
for (const whole of ["9007199254740993", "-9223372036854775808", "18446744073709551615", "123456789012345678901234567890"]) {
  assert.equal(read(whole), BigInt(whole));
  assert.deepEqual(read(`[${whole},1,${whole}]`), [BigInt(whole), 1, BigInt(whole)]);
}
for (const number of ["0", "-1", "9007199254740991", "1700000000000007", "0.0306443798449612412345", "98.76543210987654321", "-0.1234567890123456789",
  "1.2345678901234567890e-7", "12345678901234567890.5", "1e300"]) {
  assert.equal(read(number), Number(number));
}
for (const name of ["9007199254740993", "\\\"9007199254740993", "\u0000int:5", "\\u0000int:9007199254740993x", "a\\\\", "0.12345678901234567890"]) {
  const text = JSON.stringify({ x: name, y: 1 });
  assert.deepEqual(parseAnswer(text), { x: name, y: 1 });
}
// Columns are read as rows.
const { rows } = parseAnswer('{"columns":{"size":[1,9007199254740993],"at":["a",null],"list":[[1],[]]}}');
assert.deepEqual(rows.map((row) => [row.size, row.at, row.list, row.other]), [[1, "a", [1], undefined], [9007199254740993n, null, [], undefined]]);
assert.deepEqual([parseAnswer('{"columns":{"size":[]}}').rows, parseAnswer('{"columns":{}}').rows], [[], []]);
assert.equal(asNumber(10n ** 18n), 1e18);
console.log("answers are read as they are written");
