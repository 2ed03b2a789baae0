// The page's core answers as the program does, byte for byte: every golden of the command line that
// needs no terminal, no other program and no picture.
// usage: node core_answers.mjs CORE_FOLDER TESTDATA CASES... [--all]
import { readFileSync, existsSync } from "node:fs";
import { join } from "node:path";
import { startCore } from "./core.mjs";

const all = process.argv.includes("--all");
const [coreFolder, testdata, ...files] = process.argv.slice(2).filter((word) => word !== "--all");

// Of memtool's command lines: quotes as in a shell.
function words(line) {
  const found = [];
  const pattern = /((?:[^\s'"\\]|\\.|'[^']*'|"(?:[^"\\]|\\.)*")+)/g;
  for (const [word] of line.matchAll(pattern)) {
    found.push(word.replace(/'([^']*)'|"((?:[^"\\]|\\.)*)"|\\(.)/g, (_all, single, double, bare) =>
      single ?? double?.replace(/\\(["\\$`])/g, "$1") ?? bare));
  }
  return found;
}

function casesOf(path) {
  const cases = [];
  for (const line of readFileSync(path, "utf8").split("\n").map((one) => one.trim())) {
    const name = /^\[(.+)\]$/.exec(line);
    if (name !== null) {
      cases.push({ name: name[1] });
    } else if (line !== "" && !line.startsWith("#")) {
      const colon = line.indexOf(":");
      cases.at(-1)[line.slice(0, colon)] = line.slice(colon + 1).trim();
    }
  }
  return cases;
}

// What a page cannot: folders of a job, terminals, files that are written, other programs, formats that it leaves out.
const kNeedsMore = ["stdin", "env", "widths", "writes", "then", "stdout", "scratch"];
// They list what a build has.
const kAboutTheBuild = new Set(["convert-help", "help-overview", "help-option", "help-formats"]);
const kLeftOut = /not in this build|pictures are not drawn|a folder without a profiler's trace|a folder of .*, and no profiler's trace/;

const core = await startCore(coreFolder);
core.copy(testdata, "/testdata");
// Formats that it cannot read, and `oom` may take for any text.
const readable = new Set(/^Reads: *(.*)$/m.exec(core.run(["--version"]).out.toString())[1].split(", "));
const isOfLeftOut = (golden) =>
  [...golden.split('"sample_type"')[0].matchAll(/"format":"([^"]+)"/g)].some(([, format]) => !readable.has(format));
let equal = 0;
let skipped = 0;
const failed = [];
for (const file of files) {
  for (const test of casesOf(file)) {
    const line = words(test.run);
    const json = line.some((word, i) => word === "json" && line[i - 1] === "--format");
    const golden = join(testdata, test.in, "expected", `${test.name}.txt`);
    if (kNeedsMore.some((key) => key in test) || (!all && !json) || kAboutTheBuild.has(test.name) || !existsSync(golden)) {
      skipped += 1;
      continue;
    }
    core.FS.chdir(`/testdata/${test.in}`);
    core.forget();
    // Asked twice: the second time of what is kept.
    const first = core.run(line);
    const second = core.run(line);
    if (kLeftOut.test(first.err.toString()) || /there is no command/.test(first.err.toString())) {
      skipped += 1;
      continue;
    }
    const wanted = readFileSync(golden);
    if (isOfLeftOut(wanted.toString())) {
      skipped += 1;
      continue;
    }
    if (first.out.equals(wanted) && second.out.equals(wanted) && first.code === Number(test.exit ?? 0)) {
      equal += 1;
    } else {
      failed.push(test.name);
      console.log(`${test.name}: ${line.join(" ")} (exit ${first.code}, ${second.code})\n${first.err}`);
      const got = first.out.equals(wanted) ? second.out : first.out;
      const lines = got.toString().split("\n");
      const others = wanted.toString().split("\n");
      const at = lines.findIndex((one, i) => one !== others[i]);
      console.log(`  line ${at + 1}\n  core:    ${lines[at]?.slice(0, 300)}\n  program: ${others[at]?.slice(0, 300)}`);
    }
  }
}
console.log(`${equal} answers equal, ${failed.length} differ, ${skipped} not for a page`);
process.exit(failed.length > 0 || equal === 0 ? 1 : 0);
