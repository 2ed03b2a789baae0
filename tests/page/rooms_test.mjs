// Imports of the front end go one way: core, charts, ui, views, then the entry points beside them.
// usage: node rooms_test.mjs
import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { join, relative, resolve } from "node:path";
import { sources } from "./front_end.mjs";

const kRooms = ["core", "charts", "ui", "views"];
const kEntries = ["boot.ts", "main.ts"];

assert.deepEqual(readdirSync(sources).sort(), [...kRooms, ...kEntries].sort());
const rank = (path) => path.includes("/") ? kRooms.indexOf(path.split("/")[0]) : kRooms.length;
const paths = [...kEntries, ...kRooms.flatMap((room) => readdirSync(join(sources, room)).map((name) => `${room}/${name}`))];
let imports = 0;
for (const path of paths.filter((one) => one.endsWith(".ts"))) {
  for (const [, to] of readFileSync(join(sources, path), "utf8").matchAll(/^import [^"]*"(\.[^"]*)"/gm)) {
    const target = relative(sources, resolve(sources, path, "..", to));
    imports += 1;
    assert.ok(target.startsWith("..") || rank(target) <= rank(path), `${path} imports ${target}`);
  }
}
assert.ok(imports > 0);
console.log(`${imports} imports of the front end, none that runs back up`);
