// Colours and patterns. There are three palettes, each on light and on dark paper; where two colours
// are hard to tell apart, their patterns differ. tests/page/palette_test.mjs holds them to that.
export type PaletteName = "" | "safe" | "contrast";
export type Hatch = "" | "rise" | "fall" | "fine" | "level" | "upright" | "dots" | "net" | "cross";

export interface Fill {
  color: string;
  hatch: Hatch;
  ink: string; // of the pattern
}
export type Paint = string | Fill;

// What layers and categories are called by, wherever they are drawn: the first palette's own colours.
// Tol's light scheme: quiet, distinct for people who see no red or no green, and dark text stands
// well on each.
export const kLayers = [
  "#77aadd", "#ee8866", "#eedd88", "#44bb99", "#ffaabb", "#99ddff", "#bbcc33", "#aaaa00",
];
// Lines on the paper, light and dark: Tol's bright and light schemes.
export const kOnPaper: [string, string][] = [["#4477aa", "#77aadd"], ["#b3412e", "#ee8866"], ["#1d7a3e", "#44bb99"], ["#8a3377", "#ffaabb"]];
// Steps, phases and layers above a timeline, light and dark: quieter than what is below them.
export const kBands: [string, string][] = [["#dde4ee", "#2f3a4a"], ["#ece5d3", "#403a29"], ["#dfeae3", "#2b3d33"]];
export const kRest = "#d2d2d8";
export const kBefore = "#aeaeb8";
const kPatterns: Hatch[] = ["", "rise", "dots", "fall", "level", "net", "upright", "cross"];

interface Palette {
  layers: string[];
  hatches: Hatch[]; // of the layers
  ink: string;
}
const kPalettes: Record<PaletteName, Palette> = {
  "": { layers: kLayers, hatches: kPatterns, ink: "#1c1c2038" },
  // Okabe and Ito, with blue and vermilion a little lighter: dark text stands on them.
  safe: { layers: ["#56b4e9", "#e69f00", "#f0e442", "#1fa97f", "#cc79a7", "#a8d5f2", "#e8743b", "#4d93cc"],
    hatches: kPatterns, ink: "#1c1c2070" },
  // Greys: the patterns tell them apart.
  contrast: { layers: ["#b4b4b4", "#ffffff", "#d0d0d0", "#ffffff", "#b4b4b4", "#ffffff", "#d0d0d0", "#ffffff"],
    hatches: kPatterns, ink: "#000" },
};
const kContrastRest: Record<string, string> = { [kRest]: "#8c8c8c", [kBefore]: "#606060" };

export interface Theme {
  ink: string;
  soft: string;
  line: string;
  shade: string;
  paper: string;
  accent: string;
  alarm: string;
  mark: string;
  live: string;
  pending: string;
  root: string;
  bar: string; // behind figures in tables
}
const kLight: Theme = {
  ink: "#1c1c20", soft: "#63636b", line: "#e3e3e8", shade: "#f5f5f7", paper: "#fff", accent: "#1f5fa8",
  alarm: "#b3261e", mark: "#80641a", live: "#4477aa", pending: "#ccbb44", root: "#dcdce2", bar: "#b9cbe2",
};
const kDark: Theme = {
  ink: "#e4e4e8", soft: "#9a9aa3", line: "#2b2b31", shade: "#1d1d21", paper: "#151518", accent: "#7fb2ee",
  alarm: "#ff8a80", mark: "#d8b659", live: "#5b8fc7", pending: "#b8a840", root: "#3a3a40", bar: "#34485f",
};
const kOwn: Record<PaletteName, [light: Partial<Theme>, dark: Partial<Theme>]> = {
  "": [{}, {}],
  safe: [{ live: "#0072b2", pending: "#e69f00", alarm: "#a84300", bar: "#a8d5f2" },
    { live: "#4d93cc", pending: "#e69f00", alarm: "#ff9d5c", accent: "#7cc4f0", bar: "#1f4f6f" }],
  contrast: [
    { ink: "#000", soft: "#3a3a3a", line: "#8a8a8a", shade: "#efefef", accent: "#0000b0", alarm: "#900000", mark: "#000", live: "#333", pending: "#ddd", bar: "#b4b4b4" },
    { ink: "#fff", soft: "#d0d0d0", line: "#7a7a7a", shade: "#1c1c1c", paper: "#000", accent: "#9fd0ff", alarm: "#ffb0a8", mark: "#fff", live: "#ccc", pending: "#9a9a9a", bar: "#5a5a5a" }],
};

let worn: PaletteName = "";
let dark = false;
export function wear(palette: PaletteName, onDark: boolean): void {
  worn = palette;
  dark = onDark;
}
export const isDark = (): boolean => dark;
export const theme = (onDark: boolean, of = worn): Theme => ({ ...(onDark ? kDark : kLight), ...kOwn[of][onDark ? 1 : 0] });

// Greys are as far from the paper on a dark screen as on a light one.
export function toShade(color: string, onDark: boolean, of = worn): string {
  if (color === kRest || color === kBefore) {
    return of === "contrast" ? kContrastRest[color]! : !onDark ? color : color === kRest ? "#4a4a53" : "#6d6d78";
  }
  const layer = kLayers.indexOf(color);
  return layer < 0 ? color : kPalettes[of].layers[layer]!;
}

// With the pattern that belongs to it.
export function toFill(color: string, onDark: boolean, of = worn): Fill {
  const { hatches, ink } = kPalettes[of];
  return { color: toShade(color, onDark, of), hatch: hatches[kLayers.indexOf(color)] ?? "", ink };
}

// Parts of a card, from what the program holds to what is free.
export type Role = "live" | "pools" | "pending" | "cached" | "outside" | "others" | "unknown" | "free";
export function roleFill(role: Role, onDark: boolean, of = worn): Fill {
  const colors = theme(onDark, of);
  const fill = (color: string, hatch: Hatch, ink = `${colors.ink}60`): Fill => ({ color, hatch, ink: of === "contrast" ? colors.ink : ink });
  switch (role) {
    case "live": return fill(colors.live, "");
    case "pools": return fill(toShade(kLayers[3]!, onDark, of), "net", "#1c1c2070");
    case "pending": return fill(colors.pending, "fall", "#1c1c2070");
    case "cached": return fill(colors.bar, "rise");
    case "outside": return fill(toShade(kLayers[4]!, onDark, of), "dots", "#1c1c2070");
    case "others": return fill(toShade(kBefore, onDark, of), "fall");
    case "unknown": return fill(colors.shade, "dots");
    case "free": return fill(colors.paper, "");
  }
}

const kTiles: Record<Exclude<Hatch, "">, string> = {
  rise: "M-2 2L2-2M0 8L8 0M6 10L10 6",
  fall: "M-2 6L2 10M0 0L8 8M6-2L10 2",
  fine: "M-2 2L2-2M-2 6L6-2M-2 10L10-2M2 10L10 2M6 10L10 6",
  level: "M0 2H8M0 6H8",
  upright: "M2 0V8M6 0V8",
  dots: "M1.5 2h1M5.5 6h1",
  net: "M0 4H8M4 0V8",
  cross: "M0 8L8 0M0 0L8 8",
};
export const kTile = 8; // pixels
export const tile = (hatch: Hatch): string => (hatch === "" ? "" : kTiles[hatch]);
export const tileWidth = (hatch: Hatch): number => (hatch === "dots" ? 1.6 : 1);

function cssFill(fill: Fill): string {
  if (fill.hatch === "") {
    return fill.color;
  }
  const svg = `<svg xmlns="http://www.w3.org/2000/svg" width="${kTile}" height="${kTile}"><path d="${tile(fill.hatch)}" fill="none" stroke="${fill.ink}" stroke-width="${tileWidth(fill.hatch)}"/></svg>`;
  return `url("data:image/svg+xml,${encodeURIComponent(svg)}") ${fill.color}`;
}

// Beside a name; it stays right when the paper changes.
export function dye(swatch: HTMLElement, fill: (onDark: boolean) => Fill): void {
  swatch.style.setProperty("--light", cssFill(fill(false)));
  swatch.style.setProperty("--dark", cssFill(fill(true)));
}

export const kOnColor = "#1c1c20"; // text on any layer

// Of a color as #rgb or #rrggbb, as WCAG defines it.
export function luminance(color: string): number {
  const full = color.length < 6 ? color.replace(/[\da-f]/gi, "$&$&") : color;
  const [red, green, blue] = [1, 3, 5].map((at) => parseInt(full.slice(at, at + 2), 16) / 255)
    .map((value) => (value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4));
  return 0.2126 * red! + 0.7152 * green! + 0.0722 * blue!;
}
export function textOn(color: string): string {
  return luminance(color) > 0.2 ? kOnColor : "#fff";
}

export function hashText(text: string): number {
  let hash = 2166136261;
  for (let i = 0; i < text.length; ++i) {
    hash = Math.imul(hash ^ text.charCodeAt(i), 16777619);
  }
  return hash >>> 0;
}

// Against a base.
export const grew = (dark: boolean): string => (dark ? "#9c5a1c" : "#f0a35e");
export const shrank = (dark: boolean): string => (dark ? "#2f639e" : "#8fbbe8");

// How much, from nothing to all.
export function shadeOf(part: number, dark: boolean): string {
  const strength = Math.sqrt(part);
  return `hsl(212 ${Math.round(20 + 40 * strength)}% ${Math.round(dark ? 20 + 30 * strength : 94 - 32 * strength)}%)`;
}
