declare module "*/lzma1/lib/streams.js" {
  export class InputBuffer {
    constructor(data: Uint8Array);
  }
  export class OutputBuffer {
    buf: Uint8Array;
    count: number;
    constructor(capacity: number);
    toArray(): Uint8Array;
  }
}
declare module "*/lzma1/lib/decoder.js" {
  import type { InputBuffer, OutputBuffer } from "../../node_modules/lzma1/lib/streams.js";
  export class Decoder {
    decompress(input: InputBuffer, output: OutputBuffer): void;
  }
}
