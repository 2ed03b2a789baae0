// A bar and its key: what each part is called, its size, and what share it has.
import { boxes, drawBar, type Part } from "../charts/bar";
import { gaugePicture, type Gauge } from "../charts/gauge";
import { dye } from "../charts/palette";
import type { Picture } from "../charts/pen";
import { h } from "../core/dom";
import { percent, size, visible } from "../core/format";
import { canvasOf } from "./canvas";

interface Keyed extends Part {
  note?: string;
}

export function key(parts: Keyed[], whole: number, pick?: (part: Keyed) => void): HTMLElement {
  return h("ul", { class: "parts" }, ...parts.map((part) => {
    const swatch = h("span", { class: "swatch" });
    dye(swatch, part.fill);
    const name = visible(part.name.slice(0, 2000));
    return h("li", {}, swatch,
      pick === undefined ? h("span", { class: "name", title: name }, part.name)
        : h("button", { type: "button", class: "link name", title: name, click: () => pick(part) }, part.name),
      h("b", {}, size(part.bytes)), h("span", { class: "share" }, percent(part.bytes, whole)),
      part.note !== undefined && h("span", { class: "note" }, part.note));
  }));
}

const said = (parts: Part[]): string => parts.map((part) => `${part.name} ${size(part.bytes)}`).join(", ");
const kHigh = 24;

export function barPicture(parts: Part[], whole: number, width: number): Picture {
  return { width, height: kHigh, draw: (pen, dark) => drawBar(pen, dark, boxes(parts, whole, width), 0, 0, kHigh) };
}

export function bar(parts: Part[], whole: number, pick?: (part: Part) => void): HTMLElement {
  const { canvas } = canvasOf((width) => barPicture(parts, whole, width), { class: "parts", "aria-label": said(parts).slice(0, 2000) });
  return h("div", {}, canvas, key(parts, whole, pick));
}

export function gaugeBar(gauge: Gauge): HTMLElement {
  const { canvas } = canvasOf((width) => gaugePicture(gauge, width), { class: "gauge",
    "aria-label": `${said(gauge.parts)}${gauge.asked === undefined ? "" : `; ${gauge.asked.text}`}` });
  return h("div", {}, canvas, key(gauge.parts, gauge.end));
}
