// One bar of parts, each with its name and size where they fit; a part too thin to be seen is
// widened to be seen.
import { size } from "../core/format";
import { textOn, theme, toFill, type Fill } from "./palette";
import { textWidth, type Pen } from "./pen";

export interface Part {
  name: string;
  bytes: number;
  fill: (dark: boolean) => Fill;
}
export interface Box {
  part: Part;
  x: number;
  width: number;
}

const kLeast = 2; // pixels

// `whole`: bytes of the full width. What thin parts gain, the thick ones lose in their proportions.
export function boxes(parts: Part[], whole: number, width: number): Box[] {
  const there = parts.filter((part) => part.bytes > 0);
  const plain = there.map((part) => (whole > 0 ? (part.bytes / whole) * width : 0));
  const gained = plain.reduce((sum, one) => sum + Math.max(0, kLeast - one), 0);
  const thick = plain.reduce((sum, one) => sum + (one > kLeast ? one : 0), 0);
  const used = plain.reduce((sum, one) => sum + one, 0);
  const over = Math.max(0, gained - (width - used));
  let x = 0;
  return there.map((part, i) => {
    const own = plain[i]! > kLeast ? plain[i]! * (1 - (thick > 0 ? over / thick : 0)) : kLeast;
    const box = { part, x, width: own };
    x += own;
    return box;
  });
}

export function drawBar(pen: Pen, dark: boolean, all: Box[], left: number, top: number, high: number): void {
  const colors = theme(dark);
  for (const { part, x, width } of all) {
    const fill = part.fill(dark);
    pen.rect(left + x, top, Math.max(kLeast - 1, width - 1), high, fill, fill.color === colors.paper || fill.color === colors.shade ? colors.line : undefined);
    const text = [`${part.name}  ${size(part.bytes)}`, size(part.bytes)].find((one) => textWidth(one) + 14 < width);
    if (text !== undefined) {
      // A pattern is no ground to read on.
      const middle = top + high / 2;
      if (fill.hatch !== "") {
        pen.rect(left + x + 4, middle - 8, textWidth(text) + 6, 16, fill.color);
      }
      pen.text(left + x + 7, middle, text, { color: fill.color === colors.paper || fill.color === colors.shade ? colors.ink : textOn(fill.color) });
    }
  }
}

export const layerFill = (color: string) => (dark: boolean): Fill => toFill(color, dark);
