// The core of the page in node: command lines in, what they write out.
import { readdirSync, readFileSync, statSync } from "node:fs";
import { createRequire } from "node:module";
import { join, resolve } from "node:path";

export async function startCore(folder) {
  const make = createRequire(import.meta.url)(resolve(folder, "memtool.js"));
  const core = await make({
    wasmBinary: readFileSync(join(folder, "memtool.wasm")),
    stdin: () => null,
    print: console.log,
    printErr: console.error,
  });
  const text = (at, size) => Buffer.from(core.HEAPU8.subarray(at, at + size));
  return {
    FS: core.FS,
    // What a folder holds, at the same path in the core's file system.
    copy(from, to) {
      core.FS.mkdirTree(to);
      for (const name of readdirSync(from)) {
        const path = join(from, name);
        if (statSync(path).isDirectory()) {
          this.copy(path, `${to}/${name}`);
        } else {
          core.FS.writeFile(`${to}/${name}`, readFileSync(path));
        }
      }
    },
    run(words) {
      const line = Buffer.from(words.map((word) => `${word}\0`).join(""));
      const at = core._malloc(line.length);
      core.HEAPU8.set(line, at);
      const code = core._memtool_run(at, line.length);
      core._free(at);
      return {
        code,
        out: text(core._memtool_out(), core._memtool_out_size()),
        err: text(core._memtool_err(), core._memtool_err_size()),
      };
    },
    forget: () => core._memtool_forget(),
  };
}
