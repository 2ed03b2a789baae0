// Trees of the flame graph: turned over, around one function, of stacks; and their places.
// usage: node tree_test.mjs
import assert from "node:assert/strict";
import { load } from "./front_end.mjs";

const { around, findPath, fromLeaves, fromStacks, pathKeys, readNodes } = await load("charts/tree.ts");
const { FlameShape, kRow } = await load("charts/flame.ts");

// [depth, name, bytes, self, base, base of self]
const rowsOf = (list) => list.map(([depth, name, bytes, self, base, baseSelf], id) => ({ id, depth, name, file: depth === 0 ? "" : "t.py", line: null,
  bytes, self, base_bytes: base ?? null, base_self: baseSelf ?? null, change: base === undefined ? null : bytes - base }));
const sums = (nodes) => nodes.map((node) => [node.depth, node.name, node.now, node.self]);

// main calls walk, which calls itself, and load; setup calls load.
const nodes = readNodes(rowsOf([
  [0, "(all)", 100, 0], [1, "main", 70, 0], [2, "walk", 50, 10], [3, "walk", 40, 30], [4, "load", 10, 10], [2, "load", 20, 20],
  [1, "setup", 30, 0], [2, "load", 30, 30],
]));

// By who holds: all is there once, and what a function holds itself is its own.
const leaves = fromLeaves(nodes);
assert.equal(leaves[0].now, 100);
assert.deepEqual(sums(leaves).filter(([depth]) => depth === 1), [[1, "load", 60, 60], [1, "walk", 40, 40]]);
assert.equal(leaves.filter((node) => node.depth === 1).reduce((sum, node) => sum + node.bytes, 0), 100);

// Around a function that calls itself: counted where it was first called.
const walk = around(nodes, (node) => node.name === "walk");
assert.deepEqual(sums(walk.callers), [[0, "walk", 50, 10], [1, "main", 50, 0]]);
assert.deepEqual(sums(walk.callees), [[0, "walk", 50, 10], [1, "walk", 40, 30], [2, "load", 10, 10]]);
const loads = around(nodes, (node) => node.name === "load");
assert.deepEqual(sums(loads.callers), [[0, "load", 60, 60], [1, "setup", 30, 0], [1, "main", 20, 0], [1, "walk", 10, 0], [2, "walk", 10, 0], [3, "main", 10, 0]]);
assert.equal(loads.callers.filter((node) => node.depth === 1).reduce((sum, node) => sum + node.now, 0), 60);
assert.equal(nodes[loads.callers[1].of].name, loads.callers[1].name);
const places = readNodes([{ depth: 0, name: "(all)" }, { depth: 1, name: "f", file: "a.py", line: 1 }, { depth: 1, name: "f", file: "a.py", line: 2 }, { depth: 1, name: "f", file: "b.py", line: 2 }]);
const placeOf = (is) => (({ file, line }) => [file, line])(around(places, is).callers[0].row);
assert.deepEqual(placeOf((node) => node.row.line === 1), ["a.py", 1]);
assert.deepEqual(placeOf((node) => node.file === "a.py"), ["a.py", null]);
assert.deepEqual(placeOf((node) => node.name === "f"), ["", null]);
assert.equal(around(nodes, (node) => node.name === "none"), undefined);
assert.equal(around(nodes, (node) => node.name === "(all)"), undefined);

// Against a base: what is gone keeps its room.
const grown = readNodes(rowsOf([[0, "(all)", 50, 0, 80, 0], [1, "old", 0, 0, 60, 60], [1, "new", 50, 50, 20, 20]]));
assert.deepEqual(grown.map((node) => node.bytes), [110, 60, 50]);
assert.equal(fromLeaves(grown).find((node) => node.name === "old").change, -60);
assert.equal(around(grown, (node) => node.name === "old").callers[0].change, -60);

// Of stacks, with and without lines; one without frames has its place.
const at = (name, line) => ({ name, file: "t.py", line });
const stacks = [{ frames: [at("main", 1), at("f", 2)], bytes: 5 }, { frames: [at("main", 1), at("f", 3)], bytes: 7 }, { frames: [], bytes: 1 }];
assert.deepEqual(sums(fromStacks(stacks, false)), [[0, "(all)", 13, 0], [1, "main", 12, 0], [2, "f", 12, 12], [1, "(no stack)", 1, 1]]);
assert.equal(fromStacks(stacks, true).filter((node) => node.name === "f").length, 2);

// Links find a frame again, also where its line is another; equal names elsewhere are others.
const keys = pathKeys(nodes);
assert.equal(new Set(keys).size, nodes.length);
keys.forEach((key, i) => i > 0 && assert.equal(findPath(keys, key), i));
assert.equal(findPath(keys, ""), -1);
assert.equal(findPath(keys, "zz.zz"), -1);
const moved = pathKeys(readNodes(nodes.map((node) => ({ ...node.row, line: 7 }))));
assert.equal(findPath(moved, keys[4]), 4);

// Deep and many: the tree has a bound, and all of the bytes.
const deep = [[0, "(all)", 95_000, 0], ...Array.from({ length: 5000 }, (_none, i) => [i + 1, `f${i % 7}`, 95_000, 0]),
  ...Array.from({ length: 95_000 }, (_none, i) => [5001, `leaf${i}`, 1, 1])];
const begun = performance.now();
const turned = fromLeaves(readNodes(rowsOf(deep)));
assert.equal(turned[0].now, 95_000);
assert.ok(turned.length < 500_000 && turned.some((node) => node.name === "(further callers)"), String(turned.length));
const inner = around(readNodes(rowsOf(deep)), (node) => node.name === "f6");
assert.equal(inner.callees[0].now, 95_000);
assert.equal(inner.callers.at(-1).name, "f0");
assert.ok(performance.now() - begun < 30_000, "a tree of 100,000 frames is turned over at once");
console.log(`100,000 frames turned over in ${Math.round(performance.now() - begun)} ms`);

// What is under the pointer is what was drawn there, in each direction and at each zoom.
for (const upwards of [false, true]) {
  const shape = new FlameShape(nodes, upwards);
  assert.equal(shape.height, 5 * kRow);
  for (const root of [0, 2, 7]) {
    shape.zoom(root);
    const drawn = [];
    const pen = { faint() {}, text() {}, rect: (x, y, wide) => drawn.push([x, y, wide]) };
    const seen = [];
    shape.draw(pen, false, { paint: (node) => (seen.push(node), { fill: "", ink: "" }), marked: -1, changes: false }, 1000, 0, shape.height);
    assert.ok(seen.includes(nodes[root]));
    drawn.forEach(([x, y, wide], i) => assert.equal(nodes[shape.at(x + wide / 2, y + 2, 1000)], seen[i]));
  }
}
assert.equal(new FlameShape(nodes, false).at(999, kRow * 4 + 3, 1000), -1);

// A thousand pixels of 95,000 frames are not 95,000 rectangles.
const wide = new FlameShape(readNodes(rowsOf(deep)), false);
let rectangles = 0;
wide.draw({ faint() {}, text() {}, rect: () => (rectangles += 1) }, false, { paint: () => ({ fill: "", ink: "" }), marked: -1, changes: false }, 1000, 5001 * kRow, 5002 * kRow);
assert.ok(rectangles > 1000 && rectangles <= 2100, String(rectangles));
console.log("trees of the flame graph: as they should be");
