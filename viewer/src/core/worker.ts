// The core in a thread of its own. The first message brings the module; every later one asks for
// something and is answered with its number.
import { unarmoured } from "./armour";
import { unpacked } from "./lzma";
import type { FromWorker, Mounted, ToWorker } from "./protocol";

interface Core {
  FS: {
    mkdir(path: string): void;
    chdir(path: string): void;
    mount(type: unknown, options: unknown, path: string): void;
    unmount(path: string): void;
    writeFile(path: string, data: Uint8Array): void;
    filesystems: { WORKERFS: { stream_ops: { read: Read } } };
  };
  WORKERFS: unknown;
  HEAPU8: Uint8Array;
  _malloc(size: number): number;
  _free(at: number): void;
  _memtool_run(line: number, size: number): number;
  _memtool_forget(): void;
  _memtool_out(): number;
  _memtool_out_size(): number;
  _memtool_err(): number;
  _memtool_err_size(): number;
}
declare const memtoolCore: (options: unknown) => Promise<Core>;
declare const self: DedicatedWorkerGlobalScope;

const kFirst = 256 << 10;
const kAhead = 4 << 20;
let core: Core | undefined;
const folders: string[] = [];
let readBytes = 0;
let told = 0;

const post = (message: FromWorker): void => self.postMessage(message);

async function start(module: string): Promise<void> {
  core = await memtoolCore({
    wasmBinary: unpacked(unarmoured(module)),
    stdin: () => null,
    print: (text: string) => console.log(text),
    printErr: (text: string) => console.warn(text),
  });
  core.FS.mkdir("/in");
  core.FS.mkdir("/own");
  readAhead(core.FS.filesystems.WORKERFS.stream_ops);
}

interface OpenFile {
  node: { contents: Blob; size: number };
}
type Read = (stream: OpenFile, into: Uint8Array, offset: number, length: number, position: number) => number;

// Each read of a browser's file asks another process: few large ones, where reading goes on from
// where it ended.
function readAhead(operations: { read: Read }): void {
  const reader = new FileReaderSync();
  let file: OpenFile["node"] | undefined;
  let begin = 0;
  let held = new Uint8Array();
  operations.read = (stream, into, offset, length, position) => {
    const { node } = stream;
    const wanted = Math.min(length, node.size - position);
    if (wanted <= 0) {
      return 0;
    }
    const inside = node === file && position >= begin && position + wanted <= begin + held.length;
    if (!inside) {
      const goesOn = node === file && position >= begin && position <= begin + held.length;
      const size = Math.max(wanted, goesOn ? kAhead : kFirst);
      held = new Uint8Array(reader.readAsArrayBuffer(node.contents.slice(position, position + size)));
      file = node;
      begin = position;
    }
    into.set(held.subarray(position - begin, position - begin + wanted), offset);
    tell(wanted);
    return wanted;
  };
}

function tell(got: number): void {
  readBytes += got;
  const now = Date.now();
  if (now - told > 100) {
    told = now;
    post({ kind: "progress", bytes: readBytes });
  }
}

// Names are paths below one folder, in which lines are run.
function mount(inputs: Mounted[]): void {
  const { FS, _memtool_forget: forget } = core!;
  forget();
  FS.chdir("/");
  for (const folder of folders.splice(0)) {
    FS.unmount(folder);
  }
  const blobs = inputs.map((input) => ({ name: input.name.replace(/^\.\//, ""), data: input.data }));
  FS.mount(core!.WORKERFS, { blobs }, "/in");
  folders.push("/in");
  FS.chdir("/in");
}

function text(at: number, size: number): string {
  return new TextDecoder().decode(core!.HEAPU8.slice(at, at + size));
}

function run(words: string[]): { code: number; out: string; err: string } {
  const line = new TextEncoder().encode(words.map((word) => `${word}\0`).join(""));
  const at = core!._malloc(line.length);
  core!.HEAPU8.set(line, at);
  readBytes = 0;
  try {
    const code = core!._memtool_run(at, line.length);
    return {
      code,
      out: text(core!._memtool_out(), core!._memtool_out_size()),
      err: text(core!._memtool_err(), core!._memtool_err_size()),
    };
  } finally {
    core!._free(at);
  }
}

async function answer(message: ToWorker): Promise<unknown> {
  switch (message.kind) {
    case "start":
      return start(message.module);
    case "mount":
      return mount(message.inputs);
    case "write":
      return core!.FS.writeFile(message.path, new TextEncoder().encode(message.text));
    case "run":
      return run(message.words);
  }
}

// One at a time, in their order: the first answer of the module comes late.
let last: Promise<unknown> = Promise.resolve();
self.onmessage = (event: MessageEvent<ToWorker>) => {
  const message = event.data;
  last = last
    .then(() => answer(message))
    .then(
      (result) => post({ kind: "done", id: message.id, result }),
      (error: unknown) => post({ kind: "failed", id: message.id, error: String(error) }),
    );
};
