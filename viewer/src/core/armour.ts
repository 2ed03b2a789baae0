// Bytes as letters of an HTML file, 13 bits in two of them: the printable ones of ASCII without
// those that markup is made of, which are 91. base64 would be an eighth longer.
const letters = 91;

// In build.mjs the same in the other direction.
function valueOf(code: number): number {
  return code - 33 - (code > 38 ? 1 : 0) - (code > 60 ? 1 : 0) - (code > 62 ? 1 : 0);
}

export function unarmoured(text: string): Uint8Array {
  const values = new Uint8Array(128);
  for (let code = 33; code < 127; ++code) {
    values[code] = valueOf(code);
  }
  const bytes = new Uint8Array((text.length >> 1) * 13 + (text.length & 1) * 5 >> 3);
  let at = 0;
  let bits = 0;
  let held = 0;
  const take = (value: number, width: number): void => {
    held = (held << width) | value;
    bits += width;
    for (; bits >= 8; bits -= 8) {
      bytes[at++] = held >> (bits - 8);
    }
    held &= (1 << bits) - 1;
  };
  for (let i = 0; i + 1 < text.length; i += 2) {
    take(values[text.charCodeAt(i)]! * letters + values[text.charCodeAt(i + 1)]!, 13);
  }
  if (text.length % 2 === 1) {  // a last one alone has five
    take(values[text.charCodeAt(text.length - 1)]!, 5);
  }
  return bytes;
}
