// Allocations as stacked shapes, against a stack that is built anew at every event. usage: node shapes_test.mjs
import assert from "node:assert/strict";
import { load } from "./front_end.mjs";

const { bottomAt, outline, Shapes } = await load("charts/shapes.ts");

let seed = 1;
const random = (below) => {
  seed = (seed * 48271) % 2147483647;
  return seed % below;
};

// One allocation or free per event; some from before, some never freed.
function history(events) {
  const lives = [];
  const live = [];
  for (let event = 0; event < events; ++event) {
    if (live.length > 0 && random(100) < 47) {
      live.splice(random(live.length), 1)[0].to = event;
    } else {
      live.push({ born: event, from: event, to: Infinity, bytes: 1 + random(1000) });
      lives.push(live.at(-1));
    }
  }
  return lives;
}

// From the bottom up, in order of birth.
function naive(lives, at) {
  let bottom = 0;
  return lives.filter((one) => one.from <= at && at < one.to).sort((a, b) => a.born - b.born)
    .map((life) => ({ life, bottom: (bottom += life.bytes) - life.bytes }));
}

let compared = 0;
for (const events of [1, 2, 3, 10, 60, 300]) {
  for (let turn = 0; turn < 20; ++turn) {
    const all = history(events);
    const drawn = all.filter((one) => one.bytes > 300); // the larger ones: the others are the band
    const low = random(events);
    const high = Math.max(low + 0.5, random(events + 1));
    const shapes = new Shapes(drawn, low, high, 0);
    for (let at = Math.ceil(low); at < high; ++at) {
      const wanted = naive(drawn, at);
      const stack = shapes.stackAt(at);
      assert.deepEqual(stack.map((shape) => [shape.life.born, bottomAt(shape, at)]), wanted.map(({ life, bottom }) => [life.born, bottom]));
      const live = naive(all, at).reduce((sum, { life }) => sum + life.bytes, 0);
      const band = naive(all, at).filter(({ life }) => life.bytes <= 300).reduce((sum, { life }) => sum + life.bytes, 0);
      assert.equal(shapes.sumAt(at) + band, live); // shapes and band are all that was live
      for (const { life, bottom } of wanted) {
        assert.equal(shapes.at(at, bottom).life, life);
        assert.equal(shapes.at(at, bottom + life.bytes - 0.5).life, life);
      }
      assert.equal(shapes.at(at, shapes.sumAt(at)), undefined); // there the band begins
      compared += stack.length + 1;
    }
  }
}
assert.ok(compared > 10_000);

// What is not seen is not kept: a step within a grain of the one before takes its place.
{
  const lives = history(2000);
  const steps = (shapes) => shapes.shapes.reduce((sum, shape) => sum + shape.x.length, 0);
  const fine = new Shapes(lives, 0, 2000, 0);
  const coarse = new Shapes(lives, 0, 2000, 20);
  assert.ok(steps(coarse) < steps(fine) / 4, `${steps(coarse)} of ${steps(fine)}`);
  for (const [i, shape] of coarse.shapes.entries()) {
    const exact = fine.shapes[i];
    shape.x.forEach((x, at) => at > 0 && assert.ok(x - shape.x[at - 1] > 20));
    const end = Math.min(shape.end, 1999) - 0.5;
    assert.equal(bottomAt(shape, end), bottomAt(exact, end)); // the last one always holds
  }
}

// Births and frees at one time: what lived for none is not drawn.
{
  const shapes = new Shapes([{ born: 0, from: 1, to: 1, bytes: 5 }, { born: 1, from: 1, to: 2, bytes: 3 }, { born: 3, from: 2, to: Infinity, bytes: 4 }], 0, 3, 0);
  assert.deepEqual(shapes.shapes.map((one) => one.life.born), [1, 3]);
  assert.deepEqual([0, 1, 2].map((x) => shapes.sumAt(x)), [0, 3, 4]);
}

// A shape steps down where one below it is freed.
{
  const shapes = new Shapes([{ born: 0, from: 0, to: 4, bytes: 10 }, { born: 1, from: 2, to: 6, bytes: 5 }], 0, 8, 0);
  const points = [];
  outline(shapes.shapes[1], (x) => x, (bytes) => -bytes, points);
  assert.deepEqual(points.map((one) => one + 0), [2, -10, 4, -10, 4, 0, 6, 0, 6, -5, 4, -5, 4, -15, 2, -15]);
}
console.log(`${compared} places in stacks of allocations are those of a stack that is built anew`);
