// .lzma files (LZMA alone: properties, size, stream), through the decoder of a library. Its front
// door, which the package lists, would bring five times as much: the encoder.
import { Decoder } from "../../node_modules/lzma1/lib/decoder.js";
import { InputBuffer, OutputBuffer } from "../../node_modules/lzma1/lib/streams.js";

export function unpacked(file: Uint8Array): Uint8Array {
  const size = new DataView(file.buffer, file.byteOffset).getUint32(5, true);
  const out = new OutputBuffer(size);
  new Decoder().decompress(new InputBuffer(file), out);
  return out.count === out.buf.length ? out.buf : out.toArray();
}
