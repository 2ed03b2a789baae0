// What colours stand for on the map: who holds a block, its stream, its pool, or its age. A name keeps
// its look from one event to the next.
import { asText } from "../core/answers";
import { count } from "../core/format";
import { place, shortName } from "../core/words";
import { kBefore, kLayers, kRest } from "./palette";
import { kFree, kGaps, type Space } from "./space";

export const kColorBy = ["holder", "stream", "pool", "age"] as const;
export type ColorBy = (typeof kColorBy)[number];

export interface Look {
  name: string;
  whole: string; // its name with the whole path
  color: string;
  banded: boolean; // a light band across it: the colours are fewer than the names
  bytes: number; // of its blocks
}

export interface Key {
  looks: Look[];
  of: Int16Array; // of each block: its look; free ones -1, -2, … by what can fill them
}

// Old to new; lightness alone tells them apart.
const kAges = ["#2c4a7c", "#3f71a8", "#5b98c4", "#82bcd6", "#b2dcdf", "#e3f5dc"];
const kMost = 2 * kLayers.length;

// Of a colour that blocks have, the text on it.
export function isDarkColor(color: string): boolean {
  const [red, green, blue] = [1, 3, 5].map((at) => parseInt(color.slice(at, at + 2), 16));
  return 0.299 * red! + 0.587 * green! + 0.114 * blue! < 128;
}

export class Looks {
  private readonly taken = new Map<string, number>(); // colour and band as one number

  // `names`: those at the moment, the largest first. A new name gets what fewest of them have.
  give(names: string[]): number[] {
    const used = new Array<number>(kMost).fill(0);
    const ever = new Array<number>(kMost).fill(0);
    this.taken.forEach((look) => (ever[look]! += 1));
    const given = names.map((name) => this.taken.get(name));
    given.forEach((look) => look !== undefined && (used[look]! += 1));
    return names.map((name, i) => {
      let look = given[i];
      if (look === undefined && i < kMost) {
        look = 0;
        for (let other = 1; other < kMost; ++other) {
          look = (used[other]! - used[look]! || ever[other]! - ever[look]!) < 0 ? other : look;
        }
        used[look]! += 1;
        ever[look]! += 1;
        this.taken.set(name, look);
      }
      return look ?? -1;
    });
  }
}

const ofGap = (space: Space, block: number): number => -1 - space.segments[space.segment[block]!]!.gap;
export const gapOfLook = (look: number): (typeof kGaps)[number] => kGaps[-1 - look]!;

function ages(space: Space, events: number): Key {
  const wide = Math.max(1, Math.ceil(events / kAges.length));
  const looks: Look[] = kAges.map((color, i) => ({ color, banded: false, bytes: 0, whole: "",
    name: `allocated in events ${count(i * wide)} to ${count((i + 1) * wide - 1)}` }));
  looks.push({ name: "before the recording", whole: "", color: kBefore, banded: false, bytes: 0 });
  const of = new Int16Array(space.state.length);
  for (let i = 0; i < of.length; ++i) {
    const event = space.event[i]!;
    of[i] = space.state[i] === kFree ? ofGap(space, i) : event < 0 ? kAges.length : Math.min(kAges.length - 1, Math.floor(event / wide));
    if (of[i]! >= 0) {
      looks[of[i]!]!.bytes += space.size[i]!;
    }
  }
  return { looks, of };
}

function holderName(space: Space, holder: number): string {
  const row = space.holders[holder];
  return row === undefined ? kNobody : `${asText(row["name"])}\0${place(row)}`;
}
const kNobody = "(holder not known)\0";

// The program's own words where nobody is known stand in brackets, without a place: they are grey.
const isNobody = (name: string): boolean => name.startsWith("(") && name.endsWith("\0");

function nameOf(key: string): { name: string; whole: string } {
  const [name, file] = key.split("\0") as [string, string | undefined];
  return { name: `${shortName(name)}  ${(file ?? "").split("/").at(-1)!}`.trim(), whole: `${name}  ${file ?? ""}`.trim() };
}

// Who holds a block, as short as the key says it.
export function holderOf(space: Space, block: number): string {
  return nameOf(holderName(space, space.holder[block]!)).name;
}

// `events`: of the whole recording, so that an age keeps its colour.
export function colorBy(space: Space, by: ColorBy, looks: Looks, events: number): Key {
  if (by === "age") {
    return ages(space, events);
  }
  const idOf = (block: number): number => (by === "holder" ? space.holder[block]! : space.segment[block]!);
  const names = new Map<number, string>(); // of a holder or a segment
  const bytes = new Map<string, number>();
  for (let i = 0; i < space.state.length; ++i) {
    if (space.state[i] === kFree) {
      continue;
    }
    const id = idOf(i);
    let name = names.get(id);
    if (name === undefined) {
      const row = by === "holder" ? undefined : space.segments[id]!.row;
      name = row === undefined ? holderName(space, id) : by === "stream" ? `stream ${asText(row["stream"])}`
        : [asText(row["pool"]), space.segments[id]!.envelope].filter((one) => one !== "").join(", ") || "no pool";
      names.set(id, name);
    }
    bytes.set(name, (bytes.get(name) ?? 0) + space.size[i]!);
  }
  const ranked = [...bytes].sort((a, b) => b[1] - a[1]);
  const known = ranked.filter(([name]) => !isNobody(name));
  const given = new Map(looks.give(known.map(([name]) => `${by}\0${name}`)).map((look, i) => [known[i]![0], look]));
  const listed: Look[] = [];
  const at = new Map<string, number>();
  let rest = -1;
  for (const [name, held] of ranked) {
    const look = given.get(name);
    if (look === undefined || look >= 0) {
      at.set(name, listed.length);
      listed.push({ ...nameOf(name), bytes: held, color: look === undefined ? kBefore : kLayers[look % kLayers.length]!,
        banded: look !== undefined && look >= kLayers.length });
      continue;
    }
    if (rest < 0) {
      rest = listed.length;
      listed.push({ name: "all others", whole: "", bytes: 0, color: kRest, banded: false });
    }
    listed[rest]!.bytes += held;
    at.set(name, rest);
  }
  const lookOf = new Map([...names].map(([id, name]) => [id, at.get(name)!]));
  const of = new Int16Array(space.state.length);
  for (let i = 0; i < of.length; ++i) {
    of[i] = space.state[i] === kFree ? ofGap(space, i) : lookOf.get(idOf(i))!;
  }
  return { looks: listed, of };
}
