// The layers of a plot by name, with their bytes at the place that is spoken of.
import { clear, h } from "../core/dom";
import { size, visible } from "../core/format";
import { shortName } from "../core/words";
import { dye, theme, toFill } from "./palette";
import type { Picture } from "./pen";
import { kLeft } from "./plot";
import type { Layer, Series } from "./series";

export function layerName(layer: Layer): string {
  const name = shortName(layer.name);
  return layer.file === "" ? name : `${name}  ${layer.file}${layer.line ? `:${layer.line}` : ""}`;
}

// A function may be called "(the rest)", too.
function isSame(one: Layer, other: Layer): boolean {
  const ranked = (layer: Layer): boolean => layer.key.startsWith("layer_");
  return ranked(one) && ranked(other) ? one.name === other.name && one.file === other.file && one.line === other.line
    : one.key === other.key;
}

// None where the series may hold it in its rest.
export function layerBytes(series: Series, layer: Layer, point: number): number | undefined {
  const at = series.layers.findIndex((one) => isSame(one, layer));
  const rest = series.layers.findIndex((one) => one.key === "rest");
  const own = (i: number): number => series.tops[i]![point]! - (i > 0 ? series.tops[i - 1]![point]! : 0);
  return at >= 0 ? own(at) : rest >= 0 && own(rest) > 0 ? undefined : 0;
}

// Nothing was there before the recording, or all has a name.
function isEmpty({ tops }: Series, layer: number): boolean {
  return layer > 0 && tops[layer]!.every((value, i) => value === tops[layer - 1]![i]);
}

// Below a picture of the plot.
export function legendPicture(layers: Layer[], width: number): Picture {
  return { width, height: 10 + Math.ceil(layers.length / 2) * 18, draw: (pen, dark) => layers.forEach((layer, i) => {
    const x = kLeft + (i % 2) * (width - kLeft) / 2;
    const y = 12 + Math.trunc(i / 2) * 18;
    pen.rect(x, y - 5, 10, 10, toFill(layer.color, dark));
    pen.text(x + 16, y, layerName(layer), { color: theme(dark).ink, room: (width - kLeft) / 2 - 30 });
  }) };
}

export class Legend {
  readonly element = h("div", { class: "legend" });
  private cells: (HTMLElement | undefined)[] = []; // of the layers that have any

  constructor(private readonly pick: (layer: Layer) => void, private readonly light: (layer: number | undefined) => void) {}

  fill(series: Series): void {
    this.cells = series.layers.map((_, i) => (isEmpty(series, i) ? undefined : h("span", { class: "size" })));
    clear(this.element, ...series.layers.map((layer, i) => {
      const cell = this.cells[i];
      if (cell === undefined) {
        return false;
      }
      const swatch = h("span", { class: "swatch" });
      dye(swatch, (dark) => toFill(layer.color, dark));
      return h("button", { type: "button", title: visible(layer.name.slice(0, 2000)),
        click: () => layer.key.startsWith("layer_") && this.pick(layer),
        mouseenter: () => this.light(i), mouseleave: () => this.light(undefined),
        focus: () => this.light(i), blur: () => this.light(undefined) },
        swatch, h("span", { class: "name" }, layerName(layer)), cell);
    }));
  }

  // `layers`: those that are listed; `series`: where their bytes stand.
  sizes(layers: Layer[], series: Series, point: number): void {
    const bytes = layers.map((layer) => layerBytes(series, layer, point));
    const rest = layers.findIndex((layer) => layer.key === "rest");
    if (rest >= 0) { // what the layers that are drawn leave
      const others = bytes.filter((_, i) => i !== rest);
      bytes[rest] = others.includes(undefined) ? undefined
        : series.tops.at(-1)![point]! - others.reduce<number>((sum, one) => sum + one!, 0);
    }
    this.cells.forEach((cell, i) => {
      const text = bytes[i] === undefined ? "" : size(bytes[i]);
      if (cell !== undefined && cell.textContent !== text) {
        cell.textContent = text;
      }
    });
  }
}
