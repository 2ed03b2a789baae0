// What a card holds, as one bar: from `account`, whose steps go from the card down to the program.
import { asNumber, asText, type Row } from "../core/answers";
import { boxes, drawBar, type Part } from "./bar";
import { roleFill, theme, type Role } from "./palette";
import { textWidth, type Pen, type Picture } from "./pen";

export interface GaugePart extends Part {
  role: Role;
  note: string;
}
export interface Gauge {
  parts: GaugePart[];
  end: number; // bytes that the bar stands for
  capacity: number | undefined; // of the card, where it is known
  asked?: { bytes: number; text: string }; // by the request that failed
}

const kNames: Record<Role, [name: string, note: string]> = {
  live: ["live", "what the program holds"],
  pools: ["private pools", "kept for CUDA graphs"],
  pending: ["freed, not yet free", "a stream still uses it"],
  cached: ["cached", "reserved by the allocator, and free in it"],
  outside: ["outside the allocator", "of this process: context, libraries, other allocators"],
  others: ["held by others", "by other processes, or by the driver"],
  unknown: ["free, or held by others", "the file does not say which"],
  free: ["free", "the driver can give it"],
};

const kBeyond: [string, string] = ["reserved beyond that", "free in the allocator, or rounding: the file does not say which"];

const part = (role: Role, bytes: number | undefined, [name, note] = kNames[role]): GaugePart[] =>
  bytes === undefined || bytes <= 0 ? [] : [{ role, bytes, name, note, fill: (dark) => roleFill(role, dark) }];

// Rows of one device. What no part of a step explains belongs to what lies between the two.
export function gaugeOf(rows: Row[]): Gauge | undefined {
  const known = new Map(rows.filter((row) => row["bytes"] !== null).map((row) => [asText(row["step"]), row]));
  const of = (step: string): number | undefined => (known.has(step) ? asNumber(known.get(step)!["bytes"]) : undefined);
  const rest = (step: string): number | undefined => (typeof known.get(step)?.["rest"] === "number" ? asNumber(known.get(step)!["rest"]) : undefined);
  // With what the program says of such a step, where the file has it.
  const named = (role: Role, ...steps: string[]): [string, string] =>
    [kNames[role][0], steps.map((step) => asText(known.get(step)?.["note"])).find((note) => note !== "") ?? kNames[role][1]];
  const live = of("allocated") ?? of("requested");
  const cached = of("cached") ?? (live === undefined ? undefined : rest("reserved"));
  const own = [...part("live", live ?? rest("reserved") ?? of("reserved"), named("live", "allocated", "requested", "reserved")),
    ...part("cached", cached, known.has("cached") ? named("cached", "cached") : kBeyond)];
  const sum = (parts: GaugePart[]): number => parts.reduce((total, one) => total + one.bytes, 0);
  const outside = part("outside", of("below_framework") ?? rest("process"), named("outside", "below_framework"));
  const others = part("others", of("other_processes") ?? rest("used") ?? (own.length === 0 ? of("used") : undefined),
    own.length === 0 ? ["in use", named("others", "used")[1]] : named("others", "other_processes"));
  const capacity = of("capacity");
  const free = part("free", of("free"), named("free", "free"));
  const between = others.length > 0 && free.length > 0 ? [] : part(free.length > 0 ? "others" : "unknown", rest("capacity"));
  const parts = [...own, ...outside, ...others, ...between, ...free];
  return parts.length === 0 ? undefined : { parts, end: Math.max(capacity ?? 0, sum(parts)), capacity };
}

// Of rows of `oom`: what there was when the request failed.
const kRoles: Record<string, Role> = {
  live: "live", private_pools: "pools", pending: "pending", cached: "cached", non_framework: "outside", outside: "outside", other: "others", free: "free",
};
export function gaugeOfFailure(answer: Record<string, unknown>, text: (bytes: number) => string): Gauge | undefined {
  const rows = (answer["rows"] as Row[] | undefined) ?? [];
  const parts = Object.entries(kRoles).flatMap(([name, role]) => part(role, asNumber(rows.find((row) => row["kind"] === "part" && row["name"] === name)?.["bytes"])));
  const capacity = answer["capacity"] === null || answer["capacity"] === undefined ? undefined : asNumber(answer["capacity"]);
  const asked = asNumber(answer["asked"]);
  const sum = parts.reduce((total, one) => total + one.bytes, 0);
  return parts.length === 0 ? undefined
    : { parts, end: Math.max(capacity ?? 0, sum), capacity, ...(asked > 0 ? { asked: { bytes: asked, text: text(asked) } } : {}) };
}

// What was asked for begins where the free memory of the driver does; in a pool that has none, where
// that of the pool does.
export function whereAsked(gauge: Gauge): { from: number; to: number; whole: number } | undefined {
  if (gauge.asked === undefined) {
    return undefined;
  }
  const roles = gauge.parts.map((one) => one.role);
  const first = roles.includes("free") ? roles.indexOf("free") : roles.includes("cached") ? roles.indexOf("cached") : roles.length;
  const from = gauge.parts.slice(0, first).reduce((sum, one) => sum + one.bytes, 0);
  const to = from + gauge.asked.bytes;
  return { from, to, whole: Math.max(gauge.end, Math.min(to, gauge.end * 1.3)) };
}

const kHigh = 30;

export function gaugePicture(gauge: Gauge, width: number): Picture {
  const asked = whereAsked(gauge);
  const scale = width / (asked?.whole ?? gauge.end);
  const all = boxes(gauge.parts, gauge.end, gauge.end * scale);
  return { width, height: asked === undefined ? kHigh : kHigh + 24, draw: (pen, dark) => {
    drawBar(pen, dark, all, 0, 0, kHigh);
    if (asked !== undefined) {
      drawAsked(pen, dark, gauge.asked!.text, asked.from * scale, Math.min(width - 1, asked.to * scale), width, asked.to > asked.whole);
    }
  } };
}

function drawAsked(pen: Pen, dark: boolean, text: string, from: number, to: number, width: number, beyond: boolean): void {
  const { alarm } = theme(dark);
  const y = kHigh + 4;
  const right = Math.max(from + 2, to);
  pen.line(beyond ? [from + 0.5, y - 4, from + 0.5, y + 4, right - 6, y + 4] : [from + 0.5, y - 4, from + 0.5, y + 4, right, y + 4, right, y - 4], alarm, 2);
  if (beyond) {
    pen.shape([right - 7, y, right - 7, y + 8, right, y + 4], alarm);
  }
  const wide = textWidth(text, true);
  pen.text(Math.max(0, Math.min(from, width - wide)), y + 14, text, { color: alarm, bold: true, room: width });
}
