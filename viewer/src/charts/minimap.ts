// The whole recording, small, with the part that is shown above it.
import { theme } from "./palette";
import type { Picture } from "./pen";
import { kLeft, kRight } from "./plot";
import type { Series } from "./series";

export const kMap = 44; // its height

export interface MapOptions {
  series: Series;
  width: number;
  least: number; // the ends of the axis
  most: number;
  end: number; // of the recording
  low: number; // the part that is shown
  high: number;
  chosen: number | undefined;
}

export function minimap({ series, width, least, most, end, low, high, chosen }: MapOptions): Picture {
  return { width, height: kMap, draw: (pen, dark) => {
    const colors = theme(dark);
    const inner = width - kLeft - kRight;
    const live = series.tops.at(-1)!;
    const top = live.reduce((highest, value) => Math.max(highest, value), 1);
    const toX = (x: number): number => kLeft + ((x - least) / (most - least)) * inner;
    const right = toX(end);
    const points = [toX(series.x[0]!), kMap];
    series.x.forEach((x, i) => {
      const y = kMap - 2 - ((kMap - 6) * live[i]!) / top;
      points.push(toX(x), y, i + 1 < series.x.length ? toX(series.x[i + 1]!) : right, y);
    });
    points.push(right, kMap);
    pen.rect(kLeft, 0, inner, kMap, colors.shade);
    pen.shape(points, dark ? "#4a5a70" : "#b9c6d8");
    const from = toX(low);
    const to = toX(high);
    pen.faint(0.55);
    pen.rect(kLeft, 0, Math.max(0, from - kLeft), kMap, colors.paper);
    pen.rect(to, 0, Math.max(0, kLeft + inner - to), kMap, colors.paper);
    pen.faint(1);
    pen.line([from, 0.5, Math.max(to, from + 3), 0.5, Math.max(to, from + 3), kMap - 0.5, from, kMap - 0.5, from, 0.5], colors.accent, 1.5);
    if (chosen !== undefined) {
      pen.line([toX(chosen), 0, toX(chosen), kMap], colors.ink, 1);
    }
  } };
}
