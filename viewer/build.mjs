// One self-contained page: style, script, worker and the core as bytes, under a policy that forbids
// the network. usage: node build.mjs --core FOLDER --out FILE [--version V]
import { createHash } from "node:crypto";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { deflateRawSync, constants } from "node:zlib";
import { buildSync } from "esbuild";

const here = dirname(fileURLToPath(import.meta.url));
const { values } = parseArgs({
  options: { core: { type: "string" }, out: { type: "string" }, version: { type: "string", default: "" } },
});
if (values.core === undefined || values.out === undefined) {
  console.error("usage: node build.mjs --core FOLDER --out FILE [--version V]");
  process.exit(2);
}

function bundle(entry, format) {
  const { outputFiles } = buildSync({
    entryPoints: [join(here, entry)], bundle: true, minify: true, write: false, format,
    target: "es2022", legalComments: "none", charset: "utf8",
  });
  return outputFiles[0].text;
}

// In a script element no text may end the element.
const inert = (text) => text.replace(/<\/(script)/gi, "<\\/$1").replace(/<!--/g, "<\\!--");
const hash = (text) => `'sha256-${createHash("sha256").update(text).digest("base64")}'`;

const style = readFileSync(join(here, "node_modules/uplot/dist/uPlot.min.css"), "utf8") +
  buildSync({ entryPoints: [join(here, "src/style.css")], minify: true, write: false }).outputFiles[0].text;
const main = inert(bundle("src/main.ts", "iife"));
const glue = readFileSync(join(values.core, "memtool.js"), "utf8");
const worker = inert(`${glue}\n${bundle("src/worker.ts", "iife")}`);
const core = deflateRawSync(readFileSync(join(values.core, "memtool.wasm")), {
  level: 9, memLevel: 9, strategy: constants.Z_DEFAULT_STRATEGY,
}).toString("base64");

const policy = [
  "default-src 'none'",
  `script-src ${hash(main)} 'wasm-unsafe-eval'`,
  `style-src ${hash(style)}`,
  "worker-src blob:",
  "img-src data: blob:",
  "base-uri 'none'",
  "form-action 'none'",
].join("; ");

const parts = { POLICY: policy, VERSION: values.version, STYLE: style, CORE: core, WORKER: worker, MAIN: main };
const page = readFileSync(join(here, "page.html"), "utf8")
  .replace(/@([A-Z]+)@/g, (_all, name) => parts[name]);
mkdirSync(dirname(values.out), { recursive: true });
writeFileSync(values.out, page);
console.log(`${values.out}: ${page.length} bytes (core ${core.length}, worker ${worker.length}, page ${main.length}, style ${style.length})`);
