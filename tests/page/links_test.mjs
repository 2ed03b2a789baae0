// Command lines as ways into the page. usage: node links_test.mjs
import assert from "node:assert/strict";
import { load } from "./front_end.mjs";

const { linkOf, piecesOf, wordsOf } = await load("core/links.ts");
const { shellWord } = await load("core/format.ts");

for (const word of ["plain", "two words", "it's", "''", "a'b'c d", "$(x)"]) {
  assert.deepEqual(wordsOf(`memtool top ${shellWord(word)}`), ["memtool", "top", word]);
}

const all = () => true;
const none = () => false;
assert.deepEqual(linkOf("memtool segments --at oom x.pickle", (view) => view === "allocator"), { view: "allocator", at: "oom" });
assert.deepEqual(linkOf("memtool segments --at oom x.pickle", all), { view: "map", at: "oom" }); // the better one first
assert.deepEqual(linkOf("memtool top --device 2 x.pickle", all), { view: "table", device: "2" });
assert.deepEqual(linkOf("memtool buckets --explain Others x.pickle", all), { view: "table", by: "bucket", row: "Others" });
assert.deepEqual(linkOf("memtool timeline 'my file.pickle'", all), { view: "timeline" });
assert.equal(linkOf("memtool timeline x.pickle", none), undefined);
assert.equal(linkOf("memtool index x > job.jsonl", all), undefined);
assert.equal(linkOf("rm top x", all), undefined);
assert.equal(linkOf("memtool constructor x", all), undefined);
assert.equal(linkOf("", all), undefined);

const said = "a step fits: checkpoint:model.py:22 with 102.00 MiB to spare, checkpoint:model.py:67,every=2 with 130.00 MiB";
const pieces = piecesOf(said, all);
assert.equal(pieces.map((piece) => piece.text).join(""), said);
assert.deepEqual(pieces.filter((piece) => piece.link).map((piece) => piece.link),
  [{ view: "advise", change: "checkpoint:model.py:22" }, { view: "advise", change: "checkpoint:model.py:67,every=2" }]);
const setting = piecesOf("PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True, so that", all);
assert.deepEqual(setting.map((piece) => piece.text), ["PYTORCH_CUDA_ALLOC_CONF=", "expandable_segments:True", ", so that"]);
assert.equal(setting[1].link.view, "whatif");
assert.deepEqual(piecesOf(said, none), [{ text: said }]);
console.log("command lines and changes lead into the page");
