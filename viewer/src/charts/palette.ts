// Tol's light scheme: quiet, distinct for people who see no red or no green, and dark text stands
// well on each.
export const kLayers = [
  "#77aadd", "#ee8866", "#eedd88", "#44bb99", "#ffaabb", "#99ddff", "#bbcc33", "#aaaa00",
];
export const kRest = "#d2d2d8";
export const kBefore = "#aeaeb8";

// Greys are as far from the paper on a dark screen as on a light one.
export function toShade(color: string, dark: boolean): string {
  return !dark ? color : color === kRest ? "#4a4a53" : color === kBefore ? "#6d6d78" : color;
}

export const kOnColor = "#1c1c20"; // text on any of these

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
}
const kLight: Theme = {
  ink: "#1c1c20", soft: "#63636b", line: "#e6e6ea", shade: "#f1f1f4", paper: "#fff", accent: "#1f5fa8",
  alarm: "#b3261e", mark: "#8a6d1f", live: "#4477aa", pending: "#ccbb44", root: "#dcdce2",
};
const kDark: Theme = {
  ink: "#e4e4e8", soft: "#9a9aa3", line: "#2b2b31", shade: "#232328", paper: "#151518", accent: "#7fb2ee",
  alarm: "#ff8a80", mark: "#d8b659", live: "#5b8fc7", pending: "#b8a840", root: "#3a3a40",
};
export const theme = (dark: boolean): Theme => (dark ? kDark : kLight);

export function hashText(text: string): number {
  let hash = 2166136261;
  for (let i = 0; i < text.length; ++i) {
    hash = Math.imul(hash ^ text.charCodeAt(i), 16777619);
  }
  return hash >>> 0;
}

// Frames of one file have one hue; functions differ a little in lightness.
export function frameColor(file: string, name: string, dark: boolean): string {
  const hue = 20 + (hashText(file) % 12) * 17;
  const light = (dark ? 30 : 76) + (hashText(name) % 5) * 2.5;
  return `hsl(${hue} ${dark ? 30 : 52}% ${light}%)`;
}

// Against a base: orange grew, blue shrank, by how much of the largest change.
export function changeColor(part: number, dark: boolean): string {
  const strength = Math.min(1, Math.abs(part)) ** 0.5;
  const light = dark ? 22 + 26 * strength : 94 - 34 * strength;
  return part === 0
    ? dark ? "#333" : "#eee"
    : `hsl(${part > 0 ? 28 : 212} ${Math.round(30 + 55 * strength)}% ${light}%)`;
}

export function isDark(): boolean {
  return matchMedia("(prefers-color-scheme: dark)").matches;
}
