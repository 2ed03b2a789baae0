// What pictures are drawn with: onto the screen, or into a file. A view draws once for both.
import { visible } from "../core/format";
import { kTile, theme, tile, tileWidth, type Fill, type Paint } from "./palette";

export interface TextStyle {
  color: string;
  align?: "left" | "center" | "right";
  bold?: boolean;
  room?: number; // what does not fit ends in …
}

// Lengths in CSS pixels; y grows downwards; text is centred on its y.
export interface Pen {
  rect(x: number, y: number, width: number, height: number, fill: Paint, edge?: string): void;
  shape(points: ArrayLike<number>, fill: Paint): void; // x, y, x, y...
  line(points: ArrayLike<number>, color: string, width: number, dash?: number[]): void;
  curve(points: readonly [number, number, number, number], color: string, width: number): void;
  text(x: number, y: number, text: string, style: TextStyle): void;
  faint(part: number): void; // opacity of what follows
  // Cells of one pixel each, line by line, as red + green * 256 + blue * 65536 + opacity * 2^24; as a
  // picture, because a rectangle for each would take longer than a frame.
  cells(x: number, y: number, width: number, height: number, colors: Uint32Array): void;
  // What follows is drawn inside the box alone, until the next call.
  within(box: readonly [number, number, number, number] | undefined): void;
}

export interface Picture {
  width: number;
  height: number;
  draw: (pen: Pen, dark: boolean) => void;
  same?: string; // a canvas whose last picture had an equal text is not painted again
}

const kFont = "11.5px system-ui, -apple-system, 'Segoe UI', Roboto, sans-serif";
const font = (bold: boolean | undefined): string => (bold === true ? `600 ${kFont}` : kFont);

let sheet: HTMLCanvasElement | undefined; // cells on their way to a picture
let ruler: CanvasRenderingContext2D | undefined;
export function textWidth(text: string, bold?: boolean): number {
  ruler ??= document.createElement("canvas").getContext("2d")!;
  ruler.font = font(bold);
  return ruler.measureText(text).width;
}

// Half of a character that takes two units is none.
const kLone = /[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/g;
const kMaxLetters = 400;  // no picture is wider

function fitting(raw: string, style: TextStyle): string {
  const text = visible(raw.slice(0, kMaxLetters)).replace(/[\t\n]/g, " ");
  if (style.room === undefined || textWidth(text, style.bold) <= style.room) {
    return text;
  }
  let fits = 0;
  let over = text.length;
  while (over - fits > 1) {
    const half = (fits + over) >> 1;
    if (textWidth(`${text.slice(0, half)}…`, style.bold) <= style.room) {
      fits = half;
    } else {
      over = half;
    }
  }
  return fits === 0 ? "" : `${text.slice(0, fits).replace(kLone, "")}…`;
}

const kFine = 2; // dots of a screen in a pixel of a pattern
const patterns = new Map<string, CanvasPattern>();
function patternOf(fill: Fill): CanvasPattern {
  const key = `${fill.hatch} ${fill.ink}`;
  let pattern = patterns.get(key);
  if (pattern === undefined) {
    const canvas = document.createElement("canvas");
    canvas.width = canvas.height = kTile * kFine;
    const to = canvas.getContext("2d")!;
    to.scale(kFine, kFine);
    to.strokeStyle = fill.ink;
    to.lineWidth = tileWidth(fill.hatch);
    to.stroke(new Path2D(tile(fill.hatch)));
    pattern = to.createPattern(canvas, "repeat")!;
    pattern.setTransform(new DOMMatrix().scale(1 / kFine));
    patterns.set(key, pattern);
  }
  return pattern;
}

export class CanvasPen implements Pen {
  private clipped = false;
  constructor(private readonly to: CanvasRenderingContext2D) {
    to.textBaseline = "middle";
  }
  // Once for a color, twice for one with a pattern.
  private filled(paint: Paint, fill: () => void): void {
    this.to.fillStyle = typeof paint === "string" ? paint : paint.color;
    fill();
    if (typeof paint !== "string" && paint.hatch !== "") {
      this.to.fillStyle = patternOf(paint);
      fill();
    }
  }
  rect(x: number, y: number, width: number, height: number, fill: Paint, edge?: string): void {
    this.filled(fill, () => this.to.fillRect(x, y, width, height));
    if (edge !== undefined) {
      this.to.strokeStyle = edge;
      this.to.lineWidth = 1;
      this.to.strokeRect(x + 0.5, y + 0.5, Math.max(0, width - 1), Math.max(0, height - 1));
    }
  }
  private trace(points: ArrayLike<number>): void {
    this.to.beginPath();
    for (let i = 0; i + 1 < points.length; i += 2) {
      this.to.lineTo(points[i]!, points[i + 1]!);
    }
  }
  shape(points: ArrayLike<number>, fill: Paint): void {
    this.trace(points);
    this.filled(fill, () => this.to.fill());
  }
  line(points: ArrayLike<number>, color: string, width: number, dash: number[] = []): void {
    this.trace(points);
    this.to.strokeStyle = color;
    this.to.lineWidth = width;
    this.to.setLineDash(dash);
    this.to.stroke();
    this.to.setLineDash([]);
  }
  curve([x, y, toX, toY]: readonly [number, number, number, number], color: string, width: number): void {
    const middle = (x + toX) / 2;
    this.to.beginPath();
    this.to.moveTo(x, y);
    this.to.bezierCurveTo(middle, y, middle, toY, toX, toY);
    this.to.strokeStyle = color;
    this.to.lineWidth = width;
    this.to.stroke();
  }
  text(x: number, y: number, text: string, style: TextStyle): void {
    this.to.font = font(style.bold);
    this.to.fillStyle = style.color;
    this.to.textAlign = style.align ?? "left";
    this.to.fillText(fitting(text, style), x, y + 0.5);
  }
  faint(part: number): void {
    this.to.globalAlpha = part;
  }
  cells(x: number, y: number, width: number, height: number, colors: Uint32Array): void {
    sheet ??= document.createElement("canvas");
    if (sheet.width !== width || sheet.height !== height) {
      sheet.width = width;
      sheet.height = height;
    }
    const bytes = new Uint8ClampedArray(colors.buffer as ArrayBuffer, colors.byteOffset, 4 * width * height);
    sheet.getContext("2d", { willReadFrequently: true })!.putImageData(new ImageData(bytes, width, height), 0, 0);
    this.to.imageSmoothingEnabled = false;
    this.to.drawImage(sheet, x, y);
  }
  within(box: readonly [number, number, number, number] | undefined): void {
    if (this.clipped) {
      this.to.restore();
    }
    this.clipped = box !== undefined;
    if (box !== undefined) {
      this.to.save();
      this.to.beginPath();
      this.to.rect(...box);
      this.to.clip();
    }
  }
}

// Draws further down.
class LowerPen implements Pen {
  constructor(private readonly to: Pen, private readonly by: number) {}
  private moved(points: ArrayLike<number>): number[] {
    return Array.from(points, (value, i) => (i % 2 === 1 ? value + this.by : value));
  }
  rect(x: number, y: number, width: number, height: number, fill: Paint, edge?: string): void {
    this.to.rect(x, y + this.by, width, height, fill, edge);
  }
  shape(points: ArrayLike<number>, fill: Paint): void {
    this.to.shape(this.moved(points), fill);
  }
  line(points: ArrayLike<number>, color: string, width: number, dash?: number[]): void {
    this.to.line(this.moved(points), color, width, dash);
  }
  curve([x, y, toX, toY]: readonly [number, number, number, number], color: string, width: number): void {
    this.to.curve([x, y + this.by, toX, toY + this.by], color, width);
  }
  text(x: number, y: number, text: string, style: TextStyle): void {
    this.to.text(x, y + this.by, text, style);
  }
  faint(part: number): void {
    this.to.faint(part);
  }
  cells(x: number, y: number, width: number, height: number, colors: Uint32Array): void {
    this.to.cells(x, y + this.by, width, height, colors);
  }
  within(box: readonly [number, number, number, number] | undefined): void {
    this.to.within(box === undefined ? undefined : [box[0], box[1] + this.by, box[2], box[3]]);
  }
}

// One below the other.
export function stacked(pictures: Picture[]): Picture {
  return { width: Math.max(0, ...pictures.map((one) => one.width)), height: pictures.reduce((sum, one) => sum + one.height, 0), draw: (pen, dark) => {
    let y = 0;
    for (const picture of pictures) {
      picture.draw(new LowerPen(pen, y), dark);
      y += picture.height;
    }
  } };
}

function escaped(text: string): string {
  return text.replace(kLone, "\ufffd").replace(/[\ufffe\uffff]/g, "\ufffd")
    .replace(/[&<>"']/g, (c) => `&#${c.charCodeAt(0)};`);
}
const rounded = (value: number): string => String(Math.round(value * 100) / 100);
const pairs = (points: ArrayLike<number>): string => {
  const words = [];
  for (let i = 0; i + 1 < points.length; i += 2) {
    words.push(`${rounded(points[i]!)},${rounded(points[i + 1]!)}`);
  }
  return words.join(" ");
};

class SvgPen implements Pen {
  private readonly parts: string[] = [];
  private opacity = "";
  private boxes = 0;
  private clipped = false;
  private put(tag: string, attributes: Record<string, string | number>, content?: string): void {
    const words = Object.entries(attributes)
      .map(([key, value]) => ` ${key}="${typeof value === "number" ? rounded(value) : escaped(value)}"`).join("");
    this.parts.push(`<${tag}${words}${this.opacity}${content === undefined ? "/>" : `>${escaped(content)}</${tag}>`}`);
  }
  private readonly patterns = new Map<string, string>();
  private patternOf(fill: Fill): string {
    const key = `${fill.hatch} ${fill.ink}`;
    let id = this.patterns.get(key);
    if (id === undefined) {
      id = `p${this.patterns.size + 1}`;
      this.patterns.set(key, id);
      this.parts.push(`<pattern id="${id}" patternUnits="userSpaceOnUse" width="${kTile}" height="${kTile}">` +
        `<path d="${tile(fill.hatch)}" fill="none" stroke="${escaped(fill.ink)}" stroke-width="${tileWidth(fill.hatch)}"/></pattern>`);
    }
    return `url(#${id})`;
  }
  private filled(tag: string, attributes: Record<string, string | number>, paint: Paint): void {
    this.put(tag, { ...attributes, fill: typeof paint === "string" ? paint : paint.color });
    if (typeof paint !== "string" && paint.hatch !== "") {
      this.put(tag, { ...attributes, fill: this.patternOf(paint) });
    }
  }
  rect(x: number, y: number, width: number, height: number, fill: Paint, edge?: string): void {
    this.filled("rect", { x, y, width: Math.max(0, width), height: Math.max(0, height),
      ...(edge === undefined ? {} : { stroke: edge }) }, fill);
  }
  shape(points: ArrayLike<number>, fill: Paint): void {
    this.filled("polygon", { points: pairs(points) }, fill);
  }
  line(points: ArrayLike<number>, color: string, width: number, dash: number[] = []): void {
    this.put("polyline", { points: pairs(points), fill: "none", stroke: color, "stroke-width": width,
      ...(dash.length === 0 ? {} : { "stroke-dasharray": dash.join(" ") }) });
  }
  curve([x, y, toX, toY]: readonly [number, number, number, number], color: string, width: number): void {
    const middle = rounded((x + toX) / 2);
    this.put("path", { fill: "none", stroke: color, "stroke-width": width,
      d: `M${rounded(x)} ${rounded(y)}C${middle} ${rounded(y)} ${middle} ${rounded(toY)} ${rounded(toX)} ${rounded(toY)}` });
  }
  text(x: number, y: number, text: string, style: TextStyle): void {
    const anchors = { left: "start", center: "middle", right: "end" };
    const shown = fitting(text, style);
    if (shown !== "") {
      this.put("text", { x, y: y + 4, fill: style.color, "text-anchor": anchors[style.align ?? "left"],
        ...(style.bold === true ? { "font-weight": "600" } : {}) }, shown);
    }
  }
  faint(part: number): void {
    this.opacity = part === 1 ? "" : ` opacity="${rounded(part)}"`;
  }
  // Equal ones above each other are one.
  cells(x: number, y: number, width: number, height: number, colors: Uint32Array): void {
    for (let column = 0; column < width; ++column) {
      for (let row = 0; row < height;) {
        const color = colors[row * width + column]!;
        let end = row + 1;
        while (end < height && colors[end * width + column] === color) {
          end += 1;
        }
        const opacity = color >>> 24;
        if (opacity > 0) {
          const fill = `#${[0, 8, 16].map((shift) => ((color >>> shift) & 255).toString(16).padStart(2, "0")).join("")}`;
          this.put("rect", { x: x + column, y: y + row, width: 1, height: end - row, fill, ...(opacity < 255 ? { "fill-opacity": opacity / 255 } : {}) });
        }
        row = end;
      }
    }
  }
  within(box: readonly [number, number, number, number] | undefined): void {
    if (this.clipped) {
      this.parts.push("</g>");
    }
    this.clipped = box !== undefined;
    if (box !== undefined) {
      const [x, y, width, height] = box.map(rounded);
      this.boxes += 1;
      this.parts.push(`<clipPath id="b${this.boxes}"><rect x="${x}" y="${y}" width="${width}" height="${height}"/></clipPath>` +
        `<g clip-path="url(#b${this.boxes})">`);
    }
  }
  ended(width: number, height: number, title: string): string {
    this.within(undefined);
    const size = `width="${rounded(width)}" height="${rounded(height)}" viewBox="0 0 ${rounded(width)} ${rounded(height)}"`;
    return `<svg xmlns="http://www.w3.org/2000/svg" ${size} font-family="system-ui, 'Segoe UI', Roboto, sans-serif" font-size="11.5">` +
      `<title>${escaped(visible(title))}</title><rect width="100%" height="100%" fill="#fff"/>${this.parts.join("\n")}</svg>\n`;
  }
}

// For paper: always light. The title is the command line that gives the same figures.
export function toSvg(picture: Picture, title: string): string {
  const pen = new SvgPen();
  picture.draw(pen, false);
  return pen.ended(picture.width, picture.height, title);
}

const painted = new WeakMap<HTMLCanvasElement, Picture>();
const shown = new WeakMap<HTMLCanvasElement, string>();
let printing = false;

const pictureOver = (canvas: HTMLCanvasElement): Picture | undefined =>
  printing && canvas.nextElementSibling instanceof HTMLCanvasElement ? painted.get(canvas.nextElementSibling) : undefined;

// Sharp on every screen.
function put(canvas: HTMLCanvasElement, picture: Picture, dark: boolean): void {
  const ratio = devicePixelRatio || 1;
  const look = picture.same === undefined || printing ? ""
    : [picture.same, picture.width, picture.height, ratio, ...Object.values(theme(dark))].join(" ");
  if (look !== "" && look === shown.get(canvas)) {
    return;
  }
  shown.set(canvas, look);
  const width = Math.round(picture.width * ratio);
  const height = Math.round(picture.height * ratio);
  if (canvas.width !== width || canvas.height !== height) {
    canvas.width = width;
    canvas.height = height;
    canvas.style.height = `${picture.height}px`;
  }
  const to = canvas.getContext("2d")!;
  to.setTransform(ratio, 0, 0, ratio, 0, 0);
  to.clearRect(0, 0, picture.width, picture.height);
  const pen = new CanvasPen(to);
  for (const each of [picture, pictureOver(canvas)]) {
    each?.draw(pen, dark);
    pen.within(undefined);
    pen.faint(1);
  }
}

export function paint(canvas: HTMLCanvasElement, picture: Picture, dark: boolean): void {
  painted.set(canvas, picture);
  put(canvas, picture, dark);
  const below = canvas.previousElementSibling;
  const picturedBelow = printing && below instanceof HTMLCanvasElement ? painted.get(below) : undefined;
  if (picturedBelow !== undefined) {
    put(below as HTMLCanvasElement, picturedBelow, dark);
  }
}

// All that is shown, in the colours of now: before it is printed, and after.
// `onPaper`: until the next call what lies over a canvas is drawn into it, because a canvas above another
// is printed as if it were not transparent.
export function paintAgain(dark: boolean, onPaper = false): void {
  printing = onPaper;
  for (const canvas of document.querySelectorAll("canvas")) {
    const picture = painted.get(canvas);
    if (picture !== undefined) {
      put(canvas, picture, dark);
    }
  }
}
