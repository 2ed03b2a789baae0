// The layout of call graphs: callers above, room between boxes, cycles marked.
// usage: node layers_test.mjs
import assert from "node:assert/strict";
import { load } from "./front_end.mjs";

const { kBox, layOut, smooth } = await load("charts/layers.ts");
const { boxAt, readCalls } = await load("charts/call_graph.ts");

function holds(size, links) {
  const layout = layOut(size, links);
  links.forEach((link, i) => {
    if (link.from !== link.to) {
      assert.ok(layout.back[i] ? layout.y[link.from] > layout.y[link.to] : layout.y[link.from] < layout.y[link.to], "callers are above, or marked");
      const bends = layout.lines[i];
      assert.deepEqual([bends[0], bends[1], bends.at(-2), bends.at(-1)],
        [layout.x[link.from], layout.y[link.from], layout.x[link.to], layout.y[link.to]]);
    }
  });
  for (let a = 0; a < size; ++a) {
    assert.ok(layout.x[a] >= kBox.width / 2 - 1e-6 && layout.x[a] <= layout.width - kBox.width / 2 + 1e-6, "inside");
    for (let b = 0; b < a; ++b) {
      assert.ok(layout.y[a] !== layout.y[b] || Math.abs(layout.x[a] - layout.x[b]) >= kBox.width, "boxes do not cover each other");
    }
    assert.equal(boxAt(layout, { scale: 0.5, x: 10, y: 20 }, 10 + layout.x[a] / 2, 20 + layout.y[a] / 2), a);
  }
  return layout;
}
const link = (from, to, weight = 1) => ({ from, to, weight });

assert.deepEqual(holds(4, [link(0, 1), link(1, 2), link(0, 2), link(2, 3)]).back, [false, false, false, false]);
assert.deepEqual(holds(3, [link(0, 1), link(1, 2), link(2, 1), link(1, 1)]).back.slice(0, 3), [false, false, true]);
// A cycle that none enters has one line back.
assert.equal(holds(3, [link(0, 1), link(1, 2), link(2, 0)]).back.filter(Boolean).length, 1);
assert.equal(layOut(0, []).height, 0);
assert.equal(layOut(1, []).width, kBox.width);
// Two that cross are turned.
const crossed = holds(4, [link(0, 3), link(1, 2)]);
assert.ok((crossed.x[0] - crossed.x[1]) * (crossed.x[3] - crossed.x[2]) > 0);
// Any graph.
let seed = 1;
const random = (most) => (seed = (seed * 48271) % 2147483647) % most;
for (let turn = 0; turn < 30; ++turn) {
  const size = 1 + random(80);
  holds(size, Array.from({ length: random(200) }, () => link(random(size), random(size), random(1000))));
}
const line = smooth(Float64Array.from([0, 0, 10, 5, 0, 10]));
assert.deepEqual([line[0], line[1], ...line.slice(-2)], [0, 0, 0, 10]);

// Rows of peek.
const row = (relation, name, bytes, flat = 0) => (relation === "self" ? { relation, name, file: "t.py", line: 1, more_lines: 0, cum: bytes, flat }
  : { relation, name, file: "t.py", line: 1, more_lines: 0, weight: bytes });
const rows = [row("self", "main", 100), row("callee", "f", 90), row("callee", "tiny", 1),
  row("caller", "main", 90), row("self", "f", 90, 60), row("callee", "f", 30), row("caller", "main", 1), row("self", "tiny", 0.4, 0.4)];
const calls = readCalls(rows, 100, 80);
assert.deepEqual(calls.nodes.map((node) => [node.row.name, node.cum, node.flat]), [["main", 100, 0], ["f", 90, 60]]);
assert.deepEqual(calls.links, [link(0, 1, 90), link(1, 1, 30)]);
assert.equal(readCalls(rows, 100, 1).nodes.length, 1);
console.log("layout of call graphs: as it should be");
