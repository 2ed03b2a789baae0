// One self-contained page: style, script, worker and the core as bytes, under a policy that forbids
// the network. usage: node build.mjs --core FOLDER --out FILE [--version V]
import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { gunzipSync } from "node:zlib";
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
// What browsers unpack by themselves; zopfli takes a twentieth less room for it than zlib.
function zopfli(data, form) {
  const folder = mkdtempSync(join(tmpdir(), "memtool-page-"));
  try {
    writeFileSync(join(folder, "data"), data);
    return execFileSync("zopfli", [form, "--i50", "-c", join(folder, "data")], { maxBuffer: 1 << 28 });
  } finally {
    rmSync(folder, { recursive: true });
  }
}
const deflated = (text) => armoured(zopfli(text, "--deflate"));
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

// Two examples of the welcome: files of testdata, which are gzip.
const examples = [
  ["leak", "input", "memory9.prof", "pprof/jax_leak/memory9.prof"],
  ["leak", "base", "memory1.prof", "pprof/jax_leak/memory1.prof"],
  ["oom", "input", "training_oom.json.gz", "advise/oom.json.gz"],
].map(([example, role, name, path]) =>
  `<script type="application/octet-stream" data-example="${example}" data-role="${role}" data-name="${name}">` +
  `${armoured(zopfli(gunzipSync(readFileSync(join(here, "../testdata", path))), "--gzip"))}</script>`).join("\n");

const parts = {
  POLICY: policy, VERSION: values.version, STYLE: style, BOOT: boot,
  EXAMPLES: examples, CORE: armoured(xz(join(values.core, "memtool.wasm"))), WORKER: deflated(worker), MAIN: deflated(main),
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
