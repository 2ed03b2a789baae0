// The map of memory as it is drawn: segments with what is to be said of them, blocks in the colours of
// the key, what is free by what can fill it.
import { asNumber, asText } from "../core/answers";
import { size } from "../core/format";
import { gapOfLook, holderOf, isDarkColor, type Key, type Look } from "./looks";
import { kOnColor, theme, toShade, type Fill, type Hatch, type Theme } from "./palette";
import type { Pen } from "./pen";
import { eachBox, heightOf, kBar, kLine, kPad, kStrip, perLine, perView, type Pieces, type View } from "./pieces";
import { isPrivate, kGaps, kPending, marksOf, segmentAt, type Gap, type Segment, type Space } from "./space";

export const kGapColors: Record<Gap, string> = { returnable: "#66ccee", partly: "#66ccee", reuse: "#ee6677", private: "#aa3377" };
export const kGapNames: Record<Gap, string> = {
  returnable: "free: empty_cache() gives it back", partly: "free: empty_cache() gives part of it back",
  reuse: "free: only reuse can fill it", private: "free: only its private pool can fill it",
};

const kGapHatches: Record<Gap, Hatch> = { returnable: "rise", partly: "rise", reuse: "fall", private: "cross" };
const gapFill = (gap: Gap, dark: boolean): Fill => ({ color: theme(dark).paper, hatch: kGapHatches[gap], ink: kGapColors[gap] });

export interface Drawn {
  space: Space;
  key: Key;
  view: View;
  pieces: Pieces;
  lit: number | undefined; // a look
}

const barTop = (line: number): number => kPad + line * kLine + kStrip;

// A block, or any other stretch, with a frame on each line that it touches.
export function frame(pen: Pen, view: View, from: number, to: number, color: string, width: number): void {
  eachBox(view, from, to, (x, line, wide) => {
    const [left, right, top] = [x - 0.5, x + Math.max(2, wide) + 0.5, barTop(line) - 0.5];
    pen.line([left, top, right, top, right, top + kBar + 1, left, top + kBar + 1, left, top - width / 2], color, width);
  });
}

function gapPiece(pen: Pen, dark: boolean, gap: Gap, x: number, y: number, width: number): void {
  if (width < 4) {
    pen.faint(kFaintGap);
    pen.rect(x, y, width, kBar, kGapColors[gap]);
    pen.faint(1);
    return;
  }
  pen.rect(x, y, width, kBar, gapFill(gap, dark));
}

// About as wide as it is drawn: to measure thousands of names would take longer than to draw them.
const kLetter = 6.4;
const widthOf = (text: string): number => kLetter * text.length;

// A size is whole or not there; a name may end in ….
function name(pen: Pen, drawn: Drawn, block: number, x: number, y: number, width: number, color: string): boolean {
  const { space } = drawn;
  const bytes = size(space.size[block]!);
  const room = width - 8;
  if (widthOf(bytes) > room) {
    return false;
  }
  const more = room - widthOf(bytes) > 40 ? `  ${holderOf(space, block)}` : "";
  pen.text(x + 4, y + kBar / 2, bytes + more, { color, ...(widthOf(bytes + more) > room ? { room } : {}) });
  return true;
}

function gapName(pen: Pen, dark: boolean, bytes: number, x: number, y: number, width: number): boolean {
  const text = `free ${size(bytes)}`;
  const wide = widthOf(text) + 8;
  if (wide + 8 > width) {
    return false;
  }
  pen.rect(x + 4, y + 2, wide, kBar - 4, theme(dark).paper);
  pen.text(x + 8, y + kBar / 2, text, { color: theme(dark).ink });
  return true;
}

const kFaint = 0.22; // what is not lit
const kFaintGap = 0.35;

function cellColor(color: string, opacity: number): number {
  const [red, green, blue] = [1, 3, 5].map((at) => parseInt(color.slice(at, at + 2), 16));
  return (red! | (green! << 8) | (blue! << 16) | (Math.round(255 * opacity) << 24)) >>> 0;
}

// What is smaller than a pixel: a line of cells at a time.
function drawMerged(pen: Pen, drawn: Drawn, looks: string[]): void {
  const { view, pieces, lit } = drawn;
  const width = Math.ceil(view.width);
  const opacity = (look: number): number => (lit === undefined || lit === look ? 1 : kFaint);
  const inUse = looks.map((color, look) => cellColor(color, opacity(look)));
  const gaps = kGaps.map((gap, i) => cellColor(kGapColors[gap], lit === -1 - i ? 1 : kFaintGap * opacity(-1 - i)));
  const cells = pieces.sheet(width);
  let line = -1;
  const finish = (): void => {
    if (line >= 0) {
      pen.cells(0, barTop(line), width, kBar, cells);
      cells.fill(0);
    }
  };
  for (let i = 0; i < pieces.count; ++i) {
    if (pieces.block[i]! >= 0) {
      continue;
    }
    if (pieces.line[i] !== line) {
      finish();
      line = pieces.line[i]!;
    }
    const look = pieces.look[i]!;
    const color = look < 0 ? gaps[-1 - look]! : inUse[look]!;
    const bottom = Math.round(kBar * (1 - pieces.low[i]!));
    const x = pieces.x[i]!;
    const end = Math.min(width, x + pieces.width[i]!);
    for (let at = Math.round(kBar * (1 - pieces.low[i]! - pieces.part[i]!)) * width; at < bottom * width; at += width) {
      for (let column = x; column < end; ++column) {
        cells[at + column] = color;
      }
    }
  }
  finish();
}

function drawPieces(pen: Pen, dark: boolean, drawn: Drawn): void {
  const { space, key, view, pieces, lit } = drawn;
  const colors = theme(dark);
  const looks = key.looks.map((look) => toShade(look.color, dark));
  const inks = looks.map((color) => (isDarkColor(color) ? "#fff" : kOnColor));
  pieces.fill(space, key, view);
  drawMerged(pen, drawn, looks);
  let named = -1; // a block that goes on in the next line has its name once
  for (let i = 0; i < pieces.count; ++i) {
    const block = pieces.block[i]!;
    if (block < 0) {
      continue;
    }
    const look = pieces.look[i]!;
    const [x, y, width] = [pieces.x[i]!, barTop(pieces.line[i]!), pieces.width[i]!];
    if (look < 0) {
      gapPiece(pen, dark, gapOfLook(look), x, y, width);
      if (block !== named && gapName(pen, dark, space.size[block]!, x, y, width)) {
        named = block;
      }
      continue;
    }
    if (lit !== undefined && lit !== look) {
      pen.faint(kFaint);
    }
    // A hair of paper between neighbours, where there is room.
    pen.rect(x, y, width > 4 ? width - 0.75 : width, kBar, looks[look]!);
    if (width > 3) {
      details(pen, drawn, block, x, y, width, looks[look]!, colors);
      if (block !== named && name(pen, drawn, block, x, y, width, inks[look]!)) {
        named = block;
      }
    }
    if (lit !== undefined && lit !== look) {
      pen.faint(1);
    }
  }
}

// Its band, its rounding, and whether a stream keeps it.
function details(pen: Pen, drawn: Drawn, block: number, x: number, y: number, width: number, color: string, colors: Theme): void {
  const { space, key, view } = drawn;
  if (key.looks[key.of[block]!]!.banded) {
    pen.rect(x, y + kBar - 4, width - 0.75, 2, isDarkColor(color) ? "#fff" : kOnColor);
  }
  if (space.state[block] === kPending) {
    pen.rect(x, y, width - 0.75, kBar, { color, hatch: "fine", ink: isDarkColor(color) ? "#fff" : kOnColor });
    return;
  }
  const asked = space.begin[block]! + space.requested[block]!;
  const end = space.begin[block]! + space.size[block]!;
  if (space.requested[block]! > 0 && (end - asked) / view.scale >= 1) {
    // In the part of the block that this piece is.
    const line = Math.round((y - kPad - kStrip) / kLine);
    const left = view.origin + line * perLine(view);
    const from = Math.max(x, (asked - left) / view.scale);
    if (from < x + width) {
      pen.rect(from, y + 1, x + width - from - 0.75, kBar - 2, toLighter(color, colors));
    }
  }
}

function toLighter(color: string, colors: Theme): string {
  const paper = colors.paper.length === 4 ? colors.paper.replace(/[0-9a-f]/g, "$&$&") : colors.paper;
  const at = (from: string, i: number): number => parseInt(from.slice(i, i + 2), 16);
  return `#${[1, 3, 5].map((i) => Math.round(0.35 * at(color, i) + 0.65 * at(paper, i)).toString(16).padStart(2, "0")).join("")}`;
}

// What a segment is, above it: what there is room for, its marks first.
function title(pen: Pen, segment: Segment, x: number, y: number, width: number, colors: Theme): void {
  const parts = [size(segment.size), asText(segment.row["address"]), asText(segment.row["pool"])].filter((one) => one !== "");
  parts.splice(1, 0, ...marksOf(segment.row));
  const roomy = (text: string): boolean => widthOf(text) + 6 < width;
  while (parts.length > 0 && !roomy(parts.join(" · "))) {
    parts.pop();
  }
  if (parts.length > 0) {
    pen.text(x + 5, y + kStrip / 2, parts.join(" · "), { color: colors.soft });
  }
}

function drawSegments(pen: Pen, dark: boolean, drawn: Drawn): void {
  const { space, view } = drawn;
  const colors = theme(dark);
  const end = view.origin + perView(view);
  // One lies behind the other.
  eachBox(view, view.origin, Math.min(end, space.total), (x, line, width) => pen.rect(x, barTop(line), width, kBar, colors.shade));
  for (let i = segmentAt(space, view.origin); i < space.segments.length && space.segments[i]!.begin < end; ++i) {
    const segment = space.segments[i]!;
    const wide = segment.size / view.scale;
    eachBox(view, segment.begin, segment.begin + segment.size, (x, line, width) => {
      const y = kPad + line * kLine;
      if (segment.envelope !== "") {
        pen.faint(0.16);
        pen.rect(x, y, width, kStrip, isPrivate(segment.row) ? kGapColors.private : colors.soft);
        pen.faint(1);
      }
      if (asNumber(segment.row["expandable"]) === 1) {
        pen.line([x, y + kStrip - 1.5, x + width, y + kStrip - 1.5], colors.accent, 2, [6, 2]);
      }
      if (asNumber(segment.row["pinned"]) === 1) {
        pen.rect(x, y + kStrip - 2.5, width, 2, colors.mark);
      }
    });
    if (wide > 2.5 && segment.begin >= view.origin) {
      eachBox(view, segment.begin, segment.begin + Math.min(segment.size, view.scale), (x, line) => {
        const y = kPad + line * kLine;
        pen.rect(Math.round(x), y + 2, 1, kStrip + kBar - 2, colors.soft);
      });
    }
  }
}

// Names stand above blocks of other segments, so they come last.
function drawTitles(pen: Pen, dark: boolean, drawn: Drawn): void {
  const { space, view } = drawn;
  const colors = theme(dark);
  const end = view.origin + perView(view);
  let envelope = "";
  const last: (() => void)[] = []; // on top of titles that they meet
  for (let i = segmentAt(space, view.origin); i < space.segments.length && space.segments[i]!.begin < end; ++i) {
    const segment = space.segments[i]!;
    if (segment.envelope !== envelope && segment.envelope !== "") {
      let until = i;
      while (until < space.segments.length && space.segments[until]!.envelope === segment.envelope) {
        until += 1;
      }
      const end = space.segments[until - 1]!;
      const wide = widthOf(segment.envelope) + 6;
      let first = true;
      eachBox(view, segment.begin, end.begin + end.size, (x, line, width) => {
        if (first && width > wide) {
          first = false;
          last.push(() => {
            pen.rect(x + width - wide - 2, kPad + line * kLine, wide + 2, kStrip - 1, colors.paper);
            pen.text(x + width - 4, kPad + line * kLine + kStrip / 2, segment.envelope, { color: colors.ink, align: "right" });
          });
        }
      });
    }
    envelope = segment.envelope;
    let named = false;
    eachBox(view, segment.begin, segment.begin + segment.size, (x, line, width) => {
      if (!named && width > 40) {
        title(pen, segment, x, kPad + line * kLine, width, colors);
        named = true;
      }
    });
  }
  last.forEach((draw) => draw());
}

export function drawMap(pen: Pen, dark: boolean, drawn: Drawn): void {
  pen.within([0, 0, drawn.view.width, heightOf(drawn.view.lines)]);
  drawSegments(pen, dark, drawn);
  drawPieces(pen, dark, drawn);
  drawTitles(pen, dark, drawn);
  pen.within(undefined);
}

// Of the key: a colour with its band, or the hatch of what is free.
export function drawSwatch(pen: Pen, dark: boolean, what: Look | Gap, x: number, y: number): void {
  if (typeof what === "string") {
    pen.rect(x, y, 10, 10, gapFill(what, dark), theme(dark).line);
    return;
  }
  const color = toShade(what.color, dark);
  pen.rect(x, y, 10, 10, color);
  if (what.banded) {
    pen.rect(x, y + 6, 10, 2, isDarkColor(color) ? "#fff" : kOnColor);
  }
}

// A request that failed and the largest block that is free, to one scale.
export function drawRequest(pen: Pen, dark: boolean, asked: number, gap: number, scale: number, width: number): void {
  const colors = theme(dark);
  const room = width - 250;
  const each = Math.max(scale, asked / room, gap / room);
  const bar = (y: number, bytes: number, text: string, fill: string): void => {
    const wide = Math.max(1, bytes / each);
    pen.rect(0, y, wide, 14, fill);
    pen.text(wide + 6, y + 7, text, { color: colors.ink, room: width - wide - 8 });
  };
  bar(2, asked, `asked for ${size(asked)}`, colors.alarm);
  if (gap === 0) {
    pen.text(0, 27, "no free block that it could use", { color: colors.ink });
    return;
  }
  pen.rect(0, 20, Math.max(1, gap / each), 14, gapFill("reuse", dark), colors.soft);
  pen.text(Math.max(1, gap / each) + 6, 27, `largest free block ${size(gap)}`, { color: colors.ink });
}
