// A call graph in layers, callers above: each function below all that call it, lines around the boxes between, few
// crossings. Cycles run back up. Figures are the program's; here are only places.

export interface Link {
  from: number;
  to: number;
  weight: number;
}

export interface Layout {
  x: Float64Array; // centres
  y: Float64Array;
  lines: Float64Array[]; // of each link, x and y of its bends, from its caller to its callee
  back: boolean[]; // links that run back up
  width: number;
  height: number;
}

export const kBox = { width: 168, height: 46, beside: 26, below: 44, line: 14 };

// Links that end at a function that is being followed; functions that nobody calls are followed first.
function backLinks(size: number, links: Link[], out: number[][]): boolean[] {
  const back = new Array<boolean>(links.length).fill(false);
  const state = new Uint8Array(size); // 1: being followed, 2: done
  const called = new Set(links.filter((link) => link.from !== link.to).map((link) => link.to));
  const all = [...state.keys()];
  for (const first of [...all.filter((i) => !called.has(i)), ...all.filter((i) => called.has(i))]) {
    if (state[first] !== 0) {
      continue;
    }
    const open = [{ node: first, next: 0 }];
    state[first] = 1;
    while (open.length > 0) {
      const top = open[open.length - 1]!;
      const link = out[top.node]![top.next++];
      if (link === undefined) {
        state[top.node] = 2;
        open.pop();
        continue;
      }
      const { to } = links[link]!;
      if (state[to] === 1) {
        back[link] = true;
      } else if (state[to] === 0) {
        state[to] = 1;
        open.push({ node: to, next: 0 });
      }
    }
  }
  return back;
}

function layersOf(size: number, links: Link[], back: boolean[]): Int32Array {
  const layer = new Int32Array(size);
  const waits = new Int32Array(size);
  const ends = (link: Link, i: number): [number, number] => (back[i] ? [link.to, link.from] : [link.from, link.to]);
  const below: number[][] = Array.from({ length: size }, () => []);
  links.forEach((link, i) => {
    const [from, to] = ends(link, i);
    if (from !== to) {
      below[from]!.push(to);
      waits[to] = waits[to]! + 1;
    }
  });
  const ready = [...waits.keys()].filter((i) => waits[i] === 0);
  for (let i = ready.pop(); i !== undefined; i = ready.pop()) {
    for (const to of below[i]!) {
      layer[to] = Math.max(layer[to]!, layer[i]! + 1);
      waits[to] = waits[to]! - 1;
      if (waits[to] === 0) {
        ready.push(to);
      }
    }
  }
  return layer;
}

interface Spot {
  node: number; // -1: a bend of a line
  layer: number;
  x: number;
  up: { to: Spot; weight: number }[];
  down: { to: Spot; weight: number }[];
}

function tie(upper: Spot, lower: Spot, weight: number): void {
  upper.down.push({ to: lower, weight });
  lower.up.push({ to: upper, weight });
}

const roomOf = (spot: Spot): number => (spot.node < 0 ? kBox.line : kBox.width);
const wanted = (ends: Spot["up"], otherwise: number): number => {
  const sum = ends.reduce((all, end) => all + end.weight, 0);
  return sum === 0 ? otherwise : ends.reduce((all, end) => all + end.to.x * end.weight, 0) / sum;
};

// As near to where each wants to be as the order and the room allow (pool adjacent violators).
function settle(layer: Spot[], where: number[]): void {
  let used = 0;
  const pools: { sum: number; count: number }[] = [];
  const offsets = layer.map((spot, i) => {
    used += i === 0 ? 0 : (roomOf(layer[i - 1]!) + roomOf(spot)) / 2 + kBox.beside;
    return used;
  });
  layer.forEach((_spot, i) => {
    pools.push({ sum: where[i]! - offsets[i]!, count: 1 });
    while (pools.length > 1) {
      const [a, b] = [pools[pools.length - 2]!, pools[pools.length - 1]!];
      if (a.sum / a.count <= b.sum / b.count) {
        break;
      }
      pools.splice(-2, 2, { sum: a.sum + b.sum, count: a.count + b.count });
    }
  });
  let i = 0;
  for (const pool of pools) {
    for (const end = i + pool.count; i < end; ++i) {
      layer[i]!.x = pool.sum / pool.count + offsets[i]!;
    }
  }
}

function arrange(layers: Spot[][]): void {
  layers.forEach((layer) => settle(layer, layer.map(() => 0)));
  for (let turn = 0; turn < 12; ++turn) {
    const down = turn % 2 === 0;
    for (const layer of down ? layers : [...layers].reverse()) {
      const where = new Map(layer.map((spot) => [spot, wanted(down ? spot.up : spot.down, spot.x)]));
      layer.sort((a, b) => where.get(a)! - where.get(b)!);
      settle(layer, layer.map((spot) => where.get(spot)!));
    }
  }
  // The order stays; both sides pull.
  for (let turn = 0; turn < 6; ++turn) {
    for (const layer of layers) {
      settle(layer, layer.map((spot) => wanted([...spot.up, ...spot.down], spot.x)));
    }
  }
}

export function layOut(size: number, links: Link[]): Layout {
  const out: number[][] = Array.from({ length: size }, () => []);
  links.forEach((link, i) => out[link.from]!.push(i));
  const back = backLinks(size, links, out);
  const layer = layersOf(size, links, back);
  const spots: Spot[] = Array.from({ length: size }, (_none, node) => ({ node, layer: layer[node]!, x: 0, up: [], down: [] }));
  const layers: Spot[][] = [];
  spots.forEach((spot) => (layers[spot.layer] ??= []).push(spot));
  const bends = links.map((link, i): Spot[] => {
    if (link.from === link.to) {
      return [];
    }
    const [upper, lower] = back[i] ? [spots[link.to]!, spots[link.from]!] : [spots[link.from]!, spots[link.to]!];
    const path = [upper];
    for (let at = upper.layer + 1; at < lower.layer; ++at) {
      const bend: Spot = { node: -1, layer: at, x: 0, up: [], down: [] };
      layers[at]!.push(bend);
      path.push(bend);
    }
    path.push(lower);
    path.forEach((spot, at) => at > 0 && tie(path[at - 1]!, spot, Math.max(1e-9, link.weight)));
    return back[i] ? path.reverse() : path;
  });
  arrange(layers);
  const left = Math.min(0, ...layers.flat().map((spot) => spot.x - roomOf(spot) / 2));
  const right = Math.max(0, ...layers.flat().map((spot) => spot.x + roomOf(spot) / 2));
  const step = kBox.height + kBox.below;
  const yOf = (spot: Spot): number => spot.layer * step + kBox.height / 2;
  return {
    x: Float64Array.from(spots, (spot) => spot.x - left), y: Float64Array.from(spots, yOf), back,
    lines: bends.map((path) => Float64Array.from(path.flatMap((spot) => [spot.x - left, yOf(spot)]))),
    width: right - left, height: Math.max(0, layers.length * step - kBox.below),
  };
}

// A smooth line through the bends, straight up and down at its ends.
export function smooth(bends: Float64Array): number[] {
  const points: number[] = [];
  for (let i = 0; i + 3 < bends.length; i += 2) {
    const [x, y, toX, toY] = [bends[i]!, bends[i + 1]!, bends[i + 2]!, bends[i + 3]!];
    for (let step = i === 0 ? 0 : 1; step <= 8; ++step) {
      const t = step / 8;
      points.push(x + (toX - x) * t * t * (3 - 2 * t), y + (toY - y) * t);
    }
  }
  return points;
}
