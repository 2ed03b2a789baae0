// Rows of `timeline` as columns, and the colours of their layers.
import { asNumber, type Answer } from "../core/answers";
import { kBefore, kLayers, kRest } from "./palette";

export interface Layer {
  key: string;
  name: string;
  file: string;
  line: number | null;
  color: string;
}

export interface Series {
  layers: Layer[];
  x: Float64Array; // events, or seconds since the first one
  events: Float64Array;
  seconds: Float64Array | undefined;
  tops: Float64Array[]; // of the layers, stacked; the last one is what is live
  reserved: Float64Array;
  lowest: Float64Array | undefined; // live at least, in the part that a point is the highest of; none where points are all
}

export interface Mark {
  name: string;
  event?: number;
  begin_us?: number;
  end_us?: number;
  time_us?: number | null;
  device?: number | null;
}

const kPerPoint = 3; // events: fewer are drawn as they are

// One layer keeps its colour from one range to the next.
export class Colors {
  private readonly taken = new Map<string, string>();
  keep(id: string, color: string): void {
    this.taken.set(id, color);
  }
  of(key: string, id: string): string {
    if (key === "before_recording" || key === "rest") {
      return key === "rest" ? kRest : kBefore;
    }
    let color = this.taken.get(id);
    if (color === undefined) {
      const used = [...this.taken.values()];
      const times = (one: string): number => used.filter((other) => other === one).length;
      color = [...kLayers].sort((a, b) => times(a) - times(b) || kLayers.indexOf(a) - kLayers.indexOf(b))[0]!;
      this.taken.set(id, color);
    }
    return color;
  }
}

export function readLayers(answer: Answer, colors: Colors): Layer[] {
  const given = (answer.inputs[0]?.["layers"] as Omit<Layer, "color">[] | undefined) ?? [];
  const layers = given.map((layer): Layer =>
    ({ ...layer, color: colors.of(layer.key, `${layer.name}\0${layer.file}\0${layer.line}`) }));
  return layers.length > 0 ? layers
    : [{ key: "allocated", name: "live", file: "", line: null, color: kLayers[0]! }];
}

export function readSeries(answer: Answer, device: number, time: boolean, firstUs: number | undefined, colors: Colors): Series {
  const rows = answer.rows.filter((row) => asNumber(row["device"]) === device);
  const layers = readLayers(answer, colors);
  const column = (key: string): Float64Array => Float64Array.from(rows, (row) => asNumber(row[key]));
  const events = column("event");
  const seconds = firstUs === undefined ? undefined
    : Float64Array.from(rows, (row) => row["time_us"] === null ? 0 : (asNumber(row["time_us"]) - firstUs) / 1e6);
  const tops: Float64Array[] = [];
  for (const layer of layers) {
    const own = column(layer.key);
    const below = tops.at(-1);
    tops.push(below === undefined ? own : own.map((value, i) => value + below[i]!));
  }
  const perPoint = (events.at(-1)! - events[0]!) / events.length;
  const lowest = perPoint > kPerPoint && rows[0]?.["lowest"] !== undefined ? column("lowest") : undefined;
  return { layers, events, seconds, x: time && seconds !== undefined ? seconds : events, tops, reserved: column("reserved"), lowest };
}

// The last point at or before x; -1 when all come later.
export function pointAt(xs: ArrayLike<number>, x: number): number {
  let low = -1;
  let high = xs.length;
  while (high - low > 1) {
    const middle = (low + high) >> 1;
    if (xs[middle]! <= x) {
      low = middle;
    } else {
      high = middle;
    }
  }
  return low;
}
