// The whole recording as a small picture, with the moment on it; a click goes to another.
import type { Oom } from "../charts/marks";
import { kLeft, kRight, Plot } from "../charts/plot";
import { pointAt, readLayers, readSeries, type Colors, type Mark, type Series } from "../charts/series";
import { kRest } from "../charts/palette";
import type { Picture } from "../charts/pen";
import { asNumber, type Answer } from "../core/answers";
import { h } from "../core/dom";
import { count, size } from "../core/format";
import type { DeviceFacts } from "../core/inputs";
import { filterWords } from "../core/state";
import { canvasOf } from "./canvas";
import type { Context } from "./context";
import { chosenEvent } from "./moment";

const kPlots = 4; // devices
const kPoints = 500;
const kFaint = 20; // times less than another device: a line at the bottom

function picture(series: Series, device: DeviceFacts, ooms: Oom[], ceiling: number, high: number) {
  const end = Math.max((series.x[0] ?? 0) + 1, device.events - 1);
  return (width: number): Plot => new Plot({ series, width, height: high, ceiling, low: series.x[0] ?? 0, high: end, end,
    time: false, reserved: series.reserved.some((bytes) => bytes > 0), lit: undefined, marks: [], ooms, shapes: undefined, capacity: undefined });
}

function plot(context: Context, answer: Answer, device: DeviceFacts, colors: Colors, ceiling: number, high: number): { element: HTMLElement; picture: (width: number) => Picture } {
  const series = readSeries(answer, device.device, false, undefined, colors);
  const ooms = ((answer.inputs[0]?.["ooms"] as (Mark & { asked?: number })[] | undefined) ?? []).filter((oom) => oom.device === device.device).map((oom): Oom => ({ x: asNumber(oom.event), asked: asNumber(oom.asked) }));
  let pointer: number | undefined;
  const make = picture(series, device, ooms, ceiling, high);
  const drawn = (width: number): Picture => ({ width, height: high, draw: (pen, dark) => {
    const made = make(width);
    made.draw(pen, dark);
    made.over(pen, dark, { chosen: chosenEvent(context, device), pointer, brush: undefined, block: undefined, picked: undefined });
  } });
  const says = h("p", { class: "says note" });
  const { canvas, draw } = canvasOf(drawn, { class: "small", tabindex: 0,
    "aria-label": `live memory of device ${device.name} over ${count(device.events)} events, peak ${size(device.peakBytes)}; arrows and Enter choose a moment` });
  const layerAt = (event: MouseEvent): string => {
    const layer = make(canvas.clientWidth).layerAt(event.offsetX, event.offsetY);
    return layer === undefined ? "" : ` · ${series.layers[layer]!.name}`;
  };
  const usual = `peak ${size(device.peakBytes)}${device.peakEvent >= 0 ? ` at event ${count(device.peakEvent)}` : ""}${ooms.length > 0 ? ` · out of memory at event ${ooms.map(({ x }) => count(x)).join(", ")}` : ""}`;
  const point = (event: number | undefined, layer = ""): void => {
    pointer = event;
    const at = event === undefined ? -1 : pointAt(series.x, event);
    says.textContent = event === undefined ? usual : `event ${count(event)} · about ${size(series.tops.at(-1)![Math.max(0, at)]!)} live${layer}`;
    draw();
  };
  const eventAt = (event: MouseEvent): number => {
    const part = (event.offsetX - kLeft) / Math.max(1, canvas.clientWidth - kLeft - kRight);
    return Math.max(0, Math.min(device.events - 1, Math.round(part * (device.events - 1))));
  };
  const go = (event: number): void => context.change({ at: `event:${event}`, ...(context.first.devices.length > 1 ? { device: device.name } : {}) });
  canvas.addEventListener("mousemove", (event) => point(eventAt(event), layerAt(event)));
  canvas.addEventListener("mouseleave", () => point(undefined));
  canvas.addEventListener("blur", () => point(undefined));
  canvas.addEventListener("click", (event) => go(eventAt(event)));
  canvas.addEventListener("keydown", (event) => {
    const by = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (by !== undefined) {
      const step = event.shiftKey ? 1 : Math.max(1, Math.round(device.events / 60));
      point(Math.max(0, Math.min(device.events - 1, (pointer ?? chosenEvent(context, device) ?? 0) + by * step)));
      event.preventDefault();
    } else if (event.key === "Enter" && pointer !== undefined) {
      go(pointer);
    }
  });
  says.textContent = usual;
  return { element: h("div", {}, canvas, says), picture: drawn };
}

export async function overTime(context: Context, colors: Colors, growth: string): Promise<HTMLElement> {
  const words = ["timeline", "--by", "bucket", "--top", "7", "--points", String(kPoints), ...filterWords(context.state, ["device"]), context.first.name];
  const answer = await context.json(words);
  const { device } = context.state;
  const devices = context.first.devices.filter((one) => one.events > 1 && (device === "" || one.name === device || String(one.device) === device));
  // Of one scale, where they can be read so.
  const most = devices.map((one) => Math.max(1, ...answer.rows.filter((row) => row["device"] === one.device)
    .map((row) => Math.max(asNumber(row["allocated"]), asNumber(row["reserved"])))));
  const ceiling = (i: number): number => (most[i]! * kFaint > Math.max(...most) ? Math.max(...most) : most[i]!);
  const all = devices.slice(0, kPlots).map((one, i) => ({ one, ...plot(context, answer, one, colors, ceiling(i), devices.length > 1 ? 110 : 190) }));
  const first = all[0];
  context.pictureWords = words;
  context.picture = first === undefined ? undefined : () => first.picture(900);
  const colored = readLayers(answer, colors).some((layer) => layer.key.startsWith("layer_") && layer.color !== kRest);
  const before = answer.rows.some((row) => asNumber(row["before_recording"]) > 0);
  return first === undefined ? h("div") : h("section", { class: "card" },
    h("h2", {}, "Over time ", h("button", { type: "button", class: "link", click: () => context.change({ view: "timeline" }) }, "the whole timeline")),
    ...all.flatMap(({ one, element }) => [devices.length > 1 && h("h3", {}, /^\d+$/.test(one.name) ? `device ${one.name}` : one.name), element]),
    devices.length > kPlots && h("p", { class: "note" }, `${devices.length - kPlots} more devices`),
    colored && h("p", { class: "note" }, `Colours are those of the categories${before ? "; grey is from before the recording" : ""}. A click chooses the moment.`),
    growth !== "" && !growth.startsWith("too short") && h("p", { class: "note" }, h("button", { type: "button", class: "link", click: () => context.change({ view: "leaks" }) }, "Growth"), `: ${growth}`));
}
