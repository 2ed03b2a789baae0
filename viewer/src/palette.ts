// Colours that differ in lightness too (after Okabe and Ito), for layers and frames.
export const kLayers = [
  "#4477aa", "#ccbb44", "#228833", "#ee6677", "#66ccee", "#aa3377", "#997700", "#77aadd",
];
export const kRest = "#b4b4ba";

export function hashOf(text: string): number {
  let hash = 2166136261;
  for (let i = 0; i < text.length; ++i) {
    hash = Math.imul(hash ^ text.charCodeAt(i), 16777619);
  }
  return hash >>> 0;
}

// Frames of one file look alike.
export function frameColor(file: string, dark: boolean): string {
  const hue = 20 + (hashOf(file) % 12) * 16;
  const light = (dark ? 34 : 74) + ((hashOf(file) >>> 8) % 4) * 3;
  return `hsl(${hue} ${dark ? 35 : 55}% ${light}%)`;
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
