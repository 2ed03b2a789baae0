// One self-contained page: style, script, worker and the core as bytes, under a policy that forbids
// the network. usage: node build.mjs --core FOLDER --out FILE [--version V]
import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { deflateRawSync, constants } from "node:zlib";
import { buildSync, transformSync } from "esbuild";

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

// The letters that src/core/armour.ts reads; none of them means anything in HTML.
const letters = [...Array(94).keys()].map((i) => String.fromCharCode(33 + i)).filter((letter) => !"&<>".includes(letter));
function armoured(bytes) {
  let text = "", held = 0, bits = 0;
  const put = (value) => { text += letters[Math.trunc(value / letters.length)] + letters[value % letters.length]; };
  for (const byte of bytes) {
    held = (held << 8) | byte;
    bits += 8;
    if (bits >= 13) {
      bits -= 13;
      put(held >> bits);
      held &= (1 << bits) - 1;
    }
  }
  // What is left is filled up with zeros, fewer than would make a byte of their own.
  if (bits > 5) {
    put(held << (13 - bits));
  } else if (bits > 0) {
    text += letters[held << (5 - bits)];
  }
  return text;
}
const deflated = (text) => armoured(deflateRawSync(text, { level: 9, memLevel: 9, strategy: constants.Z_DEFAULT_STRATEGY }));
// Code of WebAssembly has no alignment, and its bytes are best told by the one before (lc=4).
const xz = (path) => execFileSync("xz", ["--format=lzma", "--lzma1=preset=9e,lc=4,lp=0,pb=0", "--stdout", path], { maxBuffer: 1 << 28 });
const hash = (text) => `'sha256-${createHash("sha256").update(text).digest("base64")}'`;

const style = buildSync({ entryPoints: [join(here, "src/ui/style.css")], minify: true, write: false }).outputFiles[0].text;
const main = bundle("src/main.ts", "iife");
const boot = bundle("src/boot.ts", "iife");
// Emscripten shortens little of its own script.
const glue = transformSync(readFileSync(join(values.core, "memtool.js"), "utf8"), { minify: true, target: "es2022" }).code;
const worker = `${glue}\n${bundle("src/core/worker.ts", "iife")}`;

const policy = [
  "default-src 'none'",
  `script-src ${hash(boot)} ${hash(main)} 'wasm-unsafe-eval'`,
  `style-src ${hash(style)}`,
  "worker-src blob:",
  "img-src data: blob:",
  "base-uri 'none'",
  "form-action 'none'",
].join("; ");

const parts = {
  POLICY: policy, VERSION: values.version, STYLE: style, BOOT: boot,
  CORE: armoured(xz(join(values.core, "memtool.wasm"))), WORKER: deflated(worker), MAIN: deflated(main),
};
for (const text of [boot, style]) {
  if (/<\/(script|style)|<!--/i.test(text)) {
    throw new Error("a script or style would end its element");
  }
}
const page = readFileSync(join(here, "page.html"), "utf8")
  .replace(/@([A-Z]+)@/g, (_all, name) => parts[name]);
mkdirSync(dirname(values.out), { recursive: true });
writeFileSync(values.out, page);
const sizes = Object.entries(parts).map(([name, text]) => `${name.toLowerCase()} ${text.length}`);
console.log(`${values.out}: ${page.length} bytes (${sizes.join(", ")})`);
