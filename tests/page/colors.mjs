// Colours as eyes see them: contrast (WCAG 2.1), and distance (CIE76 in Lab) for people who see no
// red, no green or no blue (Machado, Oliveira and Fernandes 2009, of full severity).
const linear = (value) => (value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4);

export function rgb(color) {
  const full = color.length === 4 ? color.replace(/[\da-f]/gi, "$&$&") : color;
  return [1, 3, 5].map((at) => linear(parseInt(full.slice(at, at + 2), 16) / 255));
}

export function contrast(one, other) {
  const light = (color) => rgb(color).reduce((sum, value, i) => sum + [0.2126, 0.7152, 0.0722][i] * value, 0);
  const [low, high] = [light(one), light(other)].sort((a, b) => a - b);
  return (high + 0.05) / (low + 0.05);
}

export const kEyes = {
  usual: [[1, 0, 0], [0, 1, 0], [0, 0, 1]],
  protanopia: [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]],
  deuteranopia: [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]],
  tritanopia: [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.303900]],
};

function lab(color, eyes) {
  const seen = kEyes[eyes].map((row) => row.reduce((sum, part, i) => sum + part * rgb(color)[i], 0)).map((value) => Math.min(1, Math.max(0, value)));
  const toXyz = [[0.4124564, 0.3575761, 0.1804375], [0.2126729, 0.7151522, 0.0721750], [0.0193339, 0.1191920, 0.9503041]];
  const white = [0.95047, 1, 1.08883];
  const [x, y, z] = toXyz.map((row, i) => row.reduce((sum, part, k) => sum + part * seen[k], 0) / white[i])
    .map((value) => (value > 216 / 24389 ? Math.cbrt(value) : (24389 / 27 * value + 16) / 116));
  return [116 * y - 16, 500 * (x - y), 200 * (y - z)];
}

export function distance(one, other, eyes) {
  const [a, b] = [lab(one, eyes), lab(other, eyes)];
  return Math.hypot(...a.map((value, i) => value - b[i]));
}
