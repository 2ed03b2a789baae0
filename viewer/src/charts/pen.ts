// What pictures are drawn with: onto the screen, or into a file. A view draws once for both.
import { visible } from "../core/format";

export interface TextStyle {
  color: string;
  align?: "left" | "center" | "right";
  bold?: boolean;
  room?: number; // what does not fit ends in …
}

// Lengths in CSS pixels; y grows downwards; text is centred on its y.
export interface Pen {
  rect(x: number, y: number, width: number, height: number, fill: string, edge?: string): void;
  shape(points: ArrayLike<number>, fill: string): void; // x, y, x, y...
  line(points: ArrayLike<number>, color: string, width: number, dash?: number[]): void;
  curve(points: readonly [number, number, number, number], color: string, width: number): void;
  text(x: number, y: number, text: string, style: TextStyle): void;
  faint(part: number): void; // opacity of what follows
  // What follows is drawn inside the box alone, until the next call.
  within(box: readonly [number, number, number, number] | undefined): void;
}

export type Picture = { width: number; height: number; draw: (pen: Pen, dark: boolean) => void };

const kFont = "11.5px system-ui, -apple-system, 'Segoe UI', Roboto, sans-serif";
const font = (bold: boolean | undefined): string => (bold === true ? `600 ${kFont}` : kFont);

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

export class CanvasPen implements Pen {
  private clipped = false;
  constructor(private readonly to: CanvasRenderingContext2D) {
    to.textBaseline = "middle";
  }
  rect(x: number, y: number, width: number, height: number, fill: string, edge?: string): void {
    this.to.fillStyle = fill;
    this.to.fillRect(x, y, width, height);
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
  shape(points: ArrayLike<number>, fill: string): void {
    this.trace(points);
    this.to.fillStyle = fill;
    this.to.fill();
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
  rect(x: number, y: number, width: number, height: number, fill: string, edge?: string): void {
    this.put("rect", { x, y, width: Math.max(0, width), height: Math.max(0, height), fill,
      ...(edge === undefined ? {} : { stroke: edge }) });
  }
  shape(points: ArrayLike<number>, fill: string): void {
    this.put("polygon", { points: pairs(points), fill });
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

// Sharp on every screen.
export function paint(canvas: HTMLCanvasElement, picture: Picture, dark: boolean): void {
  const ratio = devicePixelRatio || 1;
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
  picture.draw(pen, dark);
  pen.within(undefined);
  pen.faint(1);
}
