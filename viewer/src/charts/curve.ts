// A curve of sizes over a number: what was recorded as points, what is predicted as a line, and a limit.
import { size } from "../core/format";
import { theme } from "./palette";
import type { Picture } from "./pen";

export interface CurvePoint {
  x: number;
  live: number;
  reserved: number;
  recorded: number | undefined; // reserved, as it was recorded
}
export interface Curve {
  name: string; // of x
  points: CurvePoint[]; // by x
  at: number; // the value that is looked at
  limit: number | undefined;
}

const kLeft = 76;
const kRight = 18;
const kTop = 12;
const kBottom = 34;

// Round steps, about so many of them.
export function steps(most: number, wanted: number, base: number): number[] {
  const raw = most / wanted;
  const power = base ** Math.floor(Math.log(raw) / Math.log(base));
  const step = [1, 2, 4, 5, 8, 10].filter((one) => base === 10 ? one !== 4 && one !== 8 : Math.log2(one) % 1 === 0)
    .map((one) => one * power).find((one) => one * wanted >= most) ?? base * power;
  return Array.from({ length: Math.floor(most / step) + 1 }, (_one, i) => i * step);
}

export function curvePicture(curve: Curve, width: number, height: number): Picture {
  const { points, limit, at } = curve;
  const mostX = Math.max(...points.map((one) => one.x), at);
  const mostY = 1.06 * Math.max(...points.map((one) => Math.max(one.live, one.reserved)), Math.min(limit ?? 0, 2 * Math.max(...points.map((one) => one.reserved))));
  const toX = (x: number): number => kLeft + ((width - kLeft - kRight) * x) / mostX;
  const toY = (y: number): number => height - kBottom - ((height - kTop - kBottom) * y) / mostY;
  return { width, height, draw: (pen, dark) => {
    const colors = theme(dark);
    for (const y of steps(mostY, 5, 2)) {
      pen.line([kLeft, toY(y), width - kRight, toY(y)], colors.line, 1);
      pen.text(kLeft - 8, toY(y), size(y), { color: colors.soft, align: "right" });
    }
    for (const x of steps(mostX, Math.max(2, Math.floor(width / 130)), 10)) {
      pen.text(toX(x), height - kBottom + 12, String(x), { color: colors.soft, align: "center" });
    }
    pen.text(width - kRight, height - 8, curve.name, { color: colors.soft, align: "right" });
    const along = (of: (point: CurvePoint) => number): number[] => points.flatMap((one) => [toX(one.x), toY(of(one))]);
    pen.line([toX(at), kTop, toX(at), height - kBottom], colors.mark, 1, [2, 3]);
    pen.line(along((one) => one.live), colors.live, 2, [6, 3]);
    pen.line(along((one) => one.reserved), colors.accent, 2);
    if (limit !== undefined && limit <= mostY) {
      pen.line([kLeft, toY(limit), width - kRight, toY(limit)], colors.alarm, 1.5, [8, 4]);
      pen.text(kLeft + 6, toY(limit) - 8, `the card: ${size(limit)}`, { color: colors.alarm });
    }
    for (const one of points) {
      if (one.recorded !== undefined) {
        pen.rect(toX(one.x) - 4, toY(one.recorded) - 4, 8, 8, colors.paper, colors.ink);
      }
    }
    // Where a curve that grows leaves room.
    pen.line([kLeft + 8, kTop + 8, kLeft + 34, kTop + 8], colors.accent, 2);
    pen.text(kLeft + 40, kTop + 8, "reserved", { color: colors.ink });
    pen.line([kLeft + 8, kTop + 26, kLeft + 34, kTop + 26], colors.live, 2, [6, 3]);
    pen.text(kLeft + 40, kTop + 26, "live", { color: colors.ink });
  } };
}
