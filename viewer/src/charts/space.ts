// Memory by address: segments one after the other on one line of bytes, the blocks in them as columns.
// Devices lie together, and in each its private pools behind the rest.
import { asNumber, asText, type Answer, type Int, type Row } from "../core/answers";

export const kLive = 0;
export const kPending = 1; // freed, but a stream may still use it
export const kFree = 2;
const kStates: Record<string, number> = { live: kLive, pending: kPending, free: kFree };

// What can fill the free blocks of a segment.
export const kGaps = ["returnable", "partly", "reuse", "private"] as const;
export type Gap = (typeof kGaps)[number];

export interface Segment {
  row: Row;
  address: bigint;
  begin: number; // on the line
  size: number;
  first: number; // its blocks
  last: number; // the one behind them
  gap: number; // of kGaps
  envelope: string; // what it shares with its neighbours: a device, a private pool
}

export interface Space {
  total: number;
  segments: Segment[];
  holders: Row[];
  begin: Float64Array; // of blocks, on the line
  size: Float64Array;
  requested: Float64Array;
  event: Float64Array; // of the allocation; -1: before the recording, or not recorded
  state: Uint8Array;
  holder: Int32Array; // of `holders`; -1: nobody known
  segment: Int32Array;
}

// Of block_list (memtool-segments(1)).
type Block = [offset: Int, bytes: Int, requested: Int, state: string, holder: number | null, event: Int | null];

function gapOf(row: Row): number {
  const returnable = asNumber(row["returnable"]);
  const gap: Gap = returnable > 0 ? (returnable >= asNumber(row["free"]) ? "returnable" : "partly")
    : asText(row["pool_id"]) === "(0, 0)" || asText(row["pool_id"]) === "" ? "reuse" : "private";
  return kGaps.indexOf(gap);
}

export function isPrivate(row: Row): boolean {
  return !["", "(0, 0)"].includes(asText(row["pool_id"]));
}

// What is to be known of a segment beside its size.
export function marksOf(row: Row): string[] {
  return ["pinned", "expandable", "estimated"].filter((mark) => asNumber(row[mark]) === 1);
}

// Another file's addresses may be anything.
export function readAddress(text: string): bigint | undefined {
  return /^(?:0x[0-9a-f]{1,16}|\d{1,20})$/i.test(text) ? BigInt(text) : undefined;
}

function compare<T extends number | bigint | string>(a: T, b: T): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

export function readSpace(answer: Answer): Space {
  const several = new Set(answer.rows.map((row) => row["device"])).size > 1;
  const sorted = answer.rows
    .map((row) => ({ row, address: readAddress(asText(row["address"])) ?? 0n }))
    .sort((a, b) => asNumber(a.row["device"]) - asNumber(b.row["device"]) || Number(isPrivate(a.row)) - Number(isPrivate(b.row)) ||
      (isPrivate(a.row) ? compare(asText(a.row["pool_id"]), asText(b.row["pool_id"])) : 0) || compare(a.address, b.address));
  const listed = (row: Row): Block[] => (row["block_list"] as Block[] | undefined) ?? [];
  const count = sorted.reduce((sum, { row }) => sum + listed(row).length, 0);
  const column = (): Float64Array => new Float64Array(count);
  const space: Space = { total: 0, segments: [], holders: (answer["holders"] as Row[] | undefined) ?? [],
    begin: column(), size: column(), requested: column(), event: column(),
    state: new Uint8Array(count), holder: new Int32Array(count), segment: new Int32Array(count) };
  let at = 0;
  for (const { row, address } of sorted) {
    const begin = space.total;
    const size = Math.max(0, asNumber(row["size"]));
    const first = at;
    let free = begin;
    for (const [offset, bytes, requested, state, holder, event] of listed(row)) {
      // Those of a damaged file may overlap, or lie outside.
      const from = Math.max(free, begin + asNumber(offset));
      const to = Math.min(begin + size, begin + asNumber(offset) + asNumber(bytes));
      if (to <= from) {
        continue;
      }
      space.begin[at] = from;
      space.size[at] = to - from;
      space.requested[at] = Math.min(to - from, asNumber(requested));
      space.event[at] = event === null ? -1 : asNumber(event);
      space.state[at] = kStates[state] ?? kLive;
      space.holder[at] = holder ?? -1;
      space.segment[at] = space.segments.length;
      free = to;
      at += 1;
    }
    const envelope = [several ? `device ${asText(row["device"])}` : "", isPrivate(row) ? `private pool ${asText(row["pool_id"])}` : ""];
    space.segments.push({ row, address, begin, size, first, last: at, gap: gapOf(row), envelope: envelope.filter((one) => one !== "").join(", ") });
    space.total += size;
  }
  for (const key of ["begin", "size", "requested", "event"] as const) {
    space[key] = space[key].subarray(0, at);
  }
  space.state = space.state.subarray(0, at);
  space.holder = space.holder.subarray(0, at);
  space.segment = space.segment.subarray(0, at);
  return space;
}

// The last block that begins at or before the byte; -1 when there is none.
export function blockBefore(space: Space, byte: number): number {
  let low = -1;
  let high = space.begin.length;
  while (high - low > 1) {
    const middle = (low + high) >> 1;
    if (space.begin[middle]! <= byte) {
      low = middle;
    } else {
      high = middle;
    }
  }
  return low;
}

// The block that holds the byte; -1 where none is listed.
export function blockAt(space: Space, byte: number): number {
  const block = blockBefore(space, byte);
  return block >= 0 && byte < space.begin[block]! + space.size[block]! ? block : -1;
}

// The first segment that ends behind the byte.
export function segmentAt(space: Space, byte: number): number {
  let low = -1;
  let high = space.segments.length;
  while (high - low > 1) {
    const middle = (low + high) >> 1;
    const { begin, size } = space.segments[middle]!;
    if (begin + size <= byte) {
      low = middle;
    } else {
      high = middle;
    }
  }
  return high;
}

export function addressOf(space: Space, block: number): string {
  const segment = space.segments[space.segment[block]!]!;
  return `0x${(segment.address + BigInt(space.begin[block]! - segment.begin)).toString(16)}`;
}

// The block in which an address lies; of several devices, the first that has it; -1 when none has.
export function blockOf(space: Space, address: bigint): number {
  const block = blockAt(space, byteOf(space, address));
  const begin = block < 0 ? 0n : BigInt(addressOf(space, block));
  return block >= 0 && address >= begin && address < begin + BigInt(space.size[block]!) ? block : -1;
}

export function addressAt(space: Space, byte: number): bigint {
  const segment = space.segments[Math.min(space.segments.length - 1, segmentAt(space, byte))];
  return segment === undefined ? 0n : segment.address + BigInt(Math.max(0, Math.floor(byte - segment.begin)));
}

// Where an address lies on the line, or what comes next there.
export function byteOf(space: Space, address: bigint): number {
  let nearest: Segment | undefined;
  for (const segment of space.segments) {
    if (address >= segment.address && address < segment.address + BigInt(segment.size)) {
      return segment.begin + Number(address - segment.address);
    }
    if (segment.address > address && (nearest === undefined || segment.address < nearest.address)) {
      nearest = segment;
    }
  }
  return nearest?.begin ?? 0;
}

// The largest free block; -1 where nothing is free.
export function largestGap(space: Space): number {
  let largest = -1;
  for (let i = 0; i < space.state.length; ++i) {
    if (space.state[i] === kFree && (largest < 0 || space.size[i]! > space.size[largest]!)) {
      largest = i;
    }
  }
  return largest;
}

export interface Slice {
  begin: number; // parts of the segment
  end: number;
  kind: "free" | "live" | "pending";
  part: number; // how much of it is in use
}

// A segment as so many cells, each by what most of it is; equal neighbours are one.
export function slices(space: Space, segment: Segment, cells = 48): Slice[] {
  const live = new Float64Array(cells);
  const pending = new Float64Array(cells);
  const wide = Math.max(1, segment.size) / cells;
  for (let i = segment.first; i < segment.last; ++i) {
    if (space.state[i] === kFree) {
      continue;
    }
    const from = space.begin[i]! - segment.begin;
    const to = from + space.size[i]!;
    for (let cell = Math.floor(from / wide); cell < cells && cell * wide < to; ++cell) {
      (space.state[i] === kPending ? pending : live)[cell]! += (Math.min(to, (cell + 1) * wide) - Math.max(from, cell * wide)) / wide;
    }
  }
  const found: Slice[] = [];
  for (let cell = 0; cell < cells; ++cell) {
    const part = Math.max(0, Math.ceil(8 * Math.min(1, live[cell]! + pending[cell]!) - 1e-9)) / 8;
    const kind = part === 0 ? "free" : pending[cell]! > live[cell]! ? "pending" : "live";
    const last = found.at(-1);
    if (last !== undefined && last.kind === kind && last.part === part) {
      last.end = (cell + 1) / cells;
    } else {
      found.push({ begin: cell / cells, end: (cell + 1) / cells, kind, part });
    }
  }
  return found;
}
