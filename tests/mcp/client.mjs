// A session of `memtool mcp` with the protocol's own client (npm: @modelcontextprotocol/sdk).
//
// usage: node client.mjs SDK MEMTOOL FOLDER    SDK: node_modules that has the client; FOLDER: of memtool demo
import assert from "node:assert/strict";
import { cpSync, mkdtempSync, symlinkSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";

const [sdk, memtool, folder] = process.argv.slice(2);
const require = createRequire(join(sdk, "package.json"));
const load = (name) => import(pathToFileURL(require.resolve(`@modelcontextprotocol/sdk/client/${name}`)));
const { Client } = await load("index.js");
const { StdioClientTransport } = await load("stdio.js");

const client = new Client({ name: "memtool-test", version: "1" });
const transport = new StdioClientTransport({ command: memtool, args: ["mcp", "--root", folder] });
await client.connect(transport);
assert.equal(client.getServerVersion().name, "memtool");
assert.match(client.getInstructions(), /overview/);

const { tools } = await client.listTools();
const names = tools.map((tool) => tool.name);
assert.deepEqual(names, ["overview", "top", "diff", "oom", "timeline", "buckets", "leaks", "ranks", "run"]);
for (const tool of tools) {
  assert.equal(tool.inputSchema.type, "object");
  assert.ok(tool.annotations.readOnlyHint && tool.description);
}

let calls = 0;
async function call(name, args) {
  const result = await client.callTool({ name, arguments: args });
  calls += 1;
  const text = result.content[0].text;
  assert.ok(text.split("\n").length <= 42, `${name}: more than 40 lines`);
  return { ...result, text };
}

// Good questions.
const top = await call("top", { files: ["memory9.prof"], options: { by: "line", limit: 2 } });
assert.equal(top.structuredContent.schema, "memtool.top/1");
assert.equal(top.structuredContent.total, 5800000);
assert.equal(top.structuredContent.rows.length, 2);
assert.equal(top.structuredContent.rows[0].name, "afunction");
const diff = await call("diff", { files: ["memory1.prof", "memory9.prof"] });
assert.equal(diff.structuredContent.total, 1760000);
const leaks = await call("leaks", { files: [1, 2, 3, 4, 5, 6, 7, 8, 9].map((n) => `memory${n}.prof`) });
assert.equal(leaks.structuredContent.rows[0].name, "anotherfunc");
assert.match(leaks.text, /^GROWING/);
const oom = await call("oom", { files: ["train.log"] });
assert.equal(oom.structuredContent.verdict, "fragmentation");
const line = await call("timeline", { files: ["base.json.gz"] });
assert.equal(Math.max(...line.structuredContent.rows.map((row) => row.allocated)) > 1e8, true);
assert.ok(line.structuredContent.rows.length < 200);
const buckets = await call("buckets", {
  files: ["memory.log"], options: { keywords: "SETME.yaml", "expected-sum": "11GB" } });
assert.ok(buckets.structuredContent.untrackable > 11e9);
const ranks = await call("ranks", { files: ["memory_snapshot"] });
assert.equal(ranks.structuredContent.rows.length, 15);
const overview = await call("overview", { files: ["base.json.gz"] });
assert.ok(overview.structuredContent.answers.top.total > 0 && overview.structuredContent.rows.length > 0);
const whatif = await call("run", {
  command: "whatif", files: ["oom_fragmented.json"], options: { conf: "expandable_segments:True" } });
assert.equal(whatif.structuredContent.schema, "memtool.whatif/1");
const peek = await call("run", { command: "peek", pattern: "^afunction$", files: ["memory9.prof"] });
assert.equal(peek.structuredContent.rows.find((row) => row.relation === "self").name, "afunction");
const some = await call("run", { command: "events", files: ["base.json.gz"] });
assert.equal(some.structuredContent.rows.length, 20);
const many = await call("run", { command: "events", files: ["base.json.gz"], options: { limit: 100 } });
assert.equal(many.structuredContent.rows.length, 100);
assert.match(many.text, /more lines/);

// What is changed is read again.
const changing = join(folder, "changing.prof");
cpSync(join(folder, "memory1.prof"), changing);
const before = await call("top", { files: ["changing.prof"] });
cpSync(join(folder, "memory9.prof"), changing);
const after = await call("top", { files: ["changing.prof"] });
assert.deepEqual([before.structuredContent.total, after.structuredContent.total], [4040000, 5800000]);

// What is outside stays outside, whatever leads there.
const outside = mkdtempSync(join(tmpdir(), "outside-"));
cpSync(join(folder, "memory9.prof"), join(outside, "secret.prof"));
symlinkSync(join(outside, "secret.prof"), join(folder, "link.prof"));
writeFileSync(join(folder, "names.yaml"), `profile: ${join(outside, "secret.prof")}\nlayer:\n  a: [b]\n`);
for (const [name, args] of [
  ["top", { files: [join(outside, "secret.prof")] }],
  ["top", { files: ["link.prof"] }],
  ["top", { files: ["../" + join(outside, "secret.prof")] }],
  ["top", { files: ["memory9.prof"], options: { "diff-base": join(outside, "secret.prof") } }],
  ["top", { files: ["memory9.prof"], options: { output: "written" } }],
  ["top", { files: ["memory9.prof"], options: { "files-from": "names.yaml" } }],
  ["top", { files: ["--output=written", "memory9.prof"] }],
  ["buckets", { files: ["memory.log"], options: { plot: "written.svg" } }],
  ["buckets", { files: ["memory.log"], options: { "expected-sum": "@/etc/hostname" } }],
  ["run", { command: "check", files: ["memory9.prof"], options: { "write-baseline": "written" } }],
  ["run", { command: "convert", files: ["memory9.prof"] }],
  ["run", { command: "demo", files: ["."] }],
  ["top", {}],
  ["buckets", { files: [], options: { keywords: "names.yaml" } }],
]) {
  const refused = await call(name, args);
  assert.ok(refused.isError, `${name} ${JSON.stringify(args)}: was answered`);
  assert.equal(refused.structuredContent, undefined);
}
await assert.rejects(client.callTool({ name: "nonesuch", arguments: {} }), /there is no tool/);
await client.ping();
await client.close();
console.log(`${calls} calls, 0 wrong`);
