// Timeline: live bytes by layer over events, what is reserved above them. Drag or wheel to zoom,
// click to choose the moment that every other view shows.
import uPlot from "uplot";
import { asNumber, asText, type Answer } from "../answers";
import type { Context, View } from "../context";
import { clear, h } from "../dom";
import { count, size } from "../format";
import { isDark, kLayers, kRest } from "../palette";

interface Layer {
  key: string;
  name: string;
  file: string;
  line: number | null;
}

const kPoints = "1200";

function layersOf(answer: Answer): Layer[] {
  return (answer.inputs[0]?.["layers"] as Layer[] | undefined) ?? [];
}

export function eventOf(moment: string): number | undefined {
  const found = /^event:(\d+)$/.exec(moment);
  return found === null ? undefined : Number(found[1]);
}

function layerName(layer: Layer): string {
  const line = layer.line ? `:${layer.line}` : "";
  return layer.file === "" ? layer.name : `${layer.name}  ${layer.file}${line}`;
}

// Columns of uPlot: x, then layers stacked from the top one down, then what is reserved.
function columnsOf(answer: Answer, layers: Layer[], device: number): number[][] {
  const rows = answer.rows.filter((row) => asNumber(row["device"]) === device);
  const x = rows.map((row) => asNumber(row["event"]));
  const below = new Array<number>(rows.length).fill(0);
  const stacked: number[][] = [];
  const keys = layers.length > 0 ? layers.map((layer) => layer.key) : ["allocated"];
  for (const key of [...keys].reverse()) {
    rows.forEach((row, i) => (below[i] = below[i]! + asNumber(row[key])));
    stacked.unshift([...below]);
  }
  return [x, ...stacked, rows.map((row) => asNumber(row["reserved"]))];
}

// Round steps in units of 1024.
function axisSteps(high: number): number[] {
  const wanted = high / 6;
  const unit = 1024 ** Math.max(0, Math.floor(Math.log2(Math.max(wanted, 1)) / 10));
  const step = [1, 2, 5, 10, 20, 25, 50, 100, 200, 250, 500, 1000].find((one) => one * unit >= wanted) ?? 1024;
  const splits = [];
  for (let at = 0; at <= high; at += step * unit) {
    splits.push(at);
  }
  return splits;
}

function axisLabel(value: number): string {
  return size(Math.round(value)).replace(/\.00 /, " ").replace(/(\.\d)0 /, "$1 ");
}

class Plot {
  private readonly plot: uPlot;

  constructor(
    private readonly context: Context,
    answer: Answer,
    into: HTMLElement,
    private readonly device: number,
  ) {
    const dark = isDark();
    const ink = dark ? "#c8c8cc" : "#3a3a40";
    const lines = dark ? "#2c2c31" : "#e6e6ea";
    const layers = layersOf(answer);
    const names = layers.length > 0 ? layers.map(layerName) : ["live"];
    const marks = (answer.inputs[0]?.["ooms"] as { event: number; device: number }[] | undefined) ?? [];
    const stepped = uPlot.paths.stepped!({ align: 1 });
    const series: uPlot.Series[] = [
      { label: "event", value: (_plot, value) => (value === null ? "" : count(value)) },
      ...names.map((name, i): uPlot.Series => ({
        label: name,
        fill: name.startsWith("(") ? kRest : kLayers[i % kLayers.length]!,
        width: 0,
        paths: stepped,
        points: { show: false },
        value: (plot, _value, row, at) => {
          if (at === null || at === undefined) {
            return "";
          }
          const top = plot.data[row]![at] ?? 0;
          const under = row < names.length ? (plot.data[row + 1]![at] ?? 0) : 0;
          return size(top - under);
        },
      })),
      {
        label: "reserved", stroke: ink, width: 1, paths: stepped, points: { show: false },
        value: (_plot, value) => (value === null ? "" : size(value)),
      },
    ];
    this.plot = new uPlot(
      {
        width: into.clientWidth || 900,
        height: Math.max(240, Math.min(520, innerHeight - 360)),
        series,
        scales: { x: { time: false }, y: { range: (_plot, _low, high) => [0, high * 1.05 || 1] } },
        axes: [
          { stroke: ink, grid: { stroke: lines, width: 1 }, ticks: { stroke: lines, width: 1 },
            values: (_plot, values) => values.map((v) => (Number.isInteger(v) ? count(v) : "")) },
          { stroke: ink, size: 84, grid: { stroke: lines, width: 1 }, ticks: { stroke: lines, width: 1 },
            splits: (_plot, _axis, _low, high) => axisSteps(high),
            values: (_plot, values) => values.map(axisLabel) },
        ],
        cursor: { drag: { x: true, y: false, setScale: false, dist: 4 }, points: { show: false } },
        legend: { live: true },
        hooks: {
          setSelect: [(plot) => this.select(plot)],
          draw: [(plot) => this.marks(plot, marks, ink)],
          ready: [(plot) => this.listen(plot)],
        },
      },
      columnsOf(answer, layers, device) as uPlot.AlignedData,
      into,
    );
    new ResizeObserver(() => {
      if (into.clientWidth > 0 && Math.abs(into.clientWidth - this.plot.width) > 2) {
        this.plot.setSize({ width: into.clientWidth, height: this.plot.height });
      }
    }).observe(into);
  }

  private select(plot: uPlot): void {
    if (plot.select.width < 4) {
      return;
    }
    const from = Math.max(0, Math.floor(plot.posToVal(plot.select.left, "x")));
    const to = Math.ceil(plot.posToVal(plot.select.left + plot.select.width, "x"));
    this.context.change({ from: `event:${from}`, to: `event:${to}` });
  }

  private marks(plot: uPlot, ooms: { event: number; device: number }[], ink: string): void {
    const { ctx, bbox } = plot;
    const line = (event: number, color: string, dash: number[]): void => {
      const x = plot.valToPos(event, "x", true);
      if (x < bbox.left || x > bbox.left + bbox.width) {
        return;
      }
      ctx.save();
      ctx.strokeStyle = color;
      ctx.lineWidth = 1.5 * devicePixelRatio;
      ctx.setLineDash(dash);
      ctx.beginPath();
      ctx.moveTo(x, bbox.top);
      ctx.lineTo(x, bbox.top + bbox.height);
      ctx.stroke();
      ctx.restore();
    };
    for (const oom of ooms) {
      if (oom.device === this.device) {
        line(oom.event, "#d33", [6, 4]);
      }
    }
    const chosen = eventOf(this.context.state.at);
    if (chosen !== undefined) {
      line(chosen, ink, []);
    }
  }

  private listen(plot: uPlot): void {
    const over = plot.over;
    let pressed = 0;
    over.addEventListener("mousedown", (event) => (pressed = event.clientX));
    over.addEventListener("click", (event) => {
      if (Math.abs(event.clientX - pressed) < 4 && plot.cursor.idx !== null && plot.cursor.idx !== undefined) {
        const at = plot.data[0][plot.cursor.idx]!;
        this.context.change({ at: at < 0 ? "start" : `event:${at}` });
      }
    });
    over.addEventListener("dblclick", () => this.context.change({ from: "", to: "" }));
    let wait = 0;
    over.addEventListener("wheel", (event) => {
      event.preventDefault();
      const { min = 0, max = 1 } = plot.scales["x"] ?? {};
      const low = min ?? 0;
      const high = max ?? 1;
      const at = plot.posToVal(event.offsetX, "x");
      const factor = event.deltaY > 0 ? 1.25 : 0.8;
      const from = Math.max(-1, at - (at - low) * factor);
      const to = at + (high - at) * factor;
      plot.setScale("x", { min: from, max: to });
      clearTimeout(wait);
      wait = window.setTimeout(() => {
        this.context.change({ from: `event:${Math.max(0, Math.floor(from))}`, to: `event:${Math.ceil(to)}` });
      }, 150);
    }, { passive: false });
  }
}

// The whole recording, with the part that is shown above it.
function minimap(context: Context, answer: Answer, device: number, last: number): HTMLElement {
  const canvas = h("canvas", { class: "minimap", width: 1200, height: 56, "aria-label": "the whole recording" });
  const rows = answer.rows.filter((row) => asNumber(row["device"]) === device);
  const most = Math.max(...rows.map((row) => asNumber(row["allocated"])), 1);
  const x = (event: number): number => (1200 * Math.max(0, event)) / Math.max(1, last);
  const draw = canvas.getContext("2d")!;
  draw.fillStyle = isDark() ? "#4a5a70" : "#b9c6d8";
  rows.forEach((row, i) => {
    const from = x(asNumber(row["event"]));
    const to = i + 1 < rows.length ? x(asNumber(rows[i + 1]!["event"])) : 1200;
    const height = (54 * asNumber(row["allocated"])) / most;
    draw.fillRect(from, 56 - height, Math.max(1, to - from), height);
  });
  const from = eventOf(context.state.from) ?? 0;
  const to = Math.min(eventOf(context.state.to) ?? last, last);
  draw.strokeStyle = isDark() ? "#e0b060" : "#9a5b00";
  draw.lineWidth = 2;
  draw.strokeRect(x(from) + 1, 1, Math.max(4, x(to) - x(from) - 2), 54);
  canvas.addEventListener("click", (event) => {
    const at = (event.offsetX / canvas.clientWidth) * last;
    const half = (to - from) / 2;
    const begin = Math.max(0, Math.round(at - half));
    context.change({ from: `event:${begin}`, to: `event:${Math.round(begin + 2 * half)}` });
  });
  return canvas;
}

function pan(context: Context, part: number, last: number): void {
  const from = eventOf(context.state.from) ?? 0;
  const to = eventOf(context.state.to) ?? last;
  const step = Math.round((to - from) * part);
  const begin = Math.max(0, Math.min(from + step, last - (to - from)));
  context.change({ from: `event:${begin}`, to: `event:${begin + (to - from)}` });
}

function zoom(context: Context, factor: number, last: number): void {
  const from = eventOf(context.state.from) ?? 0;
  const to = eventOf(context.state.to) ?? last;
  const middle = eventOf(context.state.at) ?? (from + to) / 2;
  const half = Math.max(4, ((to - from) / 2) * factor);
  if (2 * half >= last) {
    context.change({ from: "", to: "" });
    return;
  }
  const begin = Math.max(0, Math.round(middle - half));
  context.change({ from: `event:${begin}`, to: `event:${Math.round(begin + 2 * half)}` });
}

export const timeline: View = {
  id: "timeline",
  title: "Timeline",
  shows: (context) => context.first.hasHistory,
  async draw(context, into) {
    const { state } = context;
    const by = state.by === "" ? "function" : state.by;
    const range = [
      ...(state.from === "" ? [] : ["--from", state.from]),
      ...(state.to === "" ? [] : ["--to", state.to]),
    ];
    const select = h("select", { id: "by", change: () => context.change({ by: select.value }) });
    for (const name of ["function", "filefunction", "line", "file", "module", "bucket"]) {
      select.append(h("option", { value: name, selected: name === by }, name));
    }
    const devices = context.first.devices.filter(
      (device) => state.device === "" || String(device.device) === state.device);
    const last = Math.max(...devices.map((device) => device.events), 1) - 1;
    const tools = h("div", { class: "tools", tabindex: 0 },
      h("label", {}, "layers ", select),
      h("button", { type: "button", title: "zoom in (+)", click: () => zoom(context, 0.5, last) }, "+"),
      h("button", { type: "button", title: "zoom out (-)", click: () => zoom(context, 2, last) }, "−"),
      h("button", { type: "button", title: "earlier (←)", click: () => pan(context, -0.5, last) }, "←"),
      h("button", { type: "button", title: "later (→)", click: () => pan(context, 0.5, last) }, "→"),
      h("button", { type: "button", click: () => context.change({ from: "", to: "" }) }, "whole"),
      h("button", { type: "button", click: () => context.change({ at: "peak" }) }, "peak"),
      h("span", { class: "note" }, "drag or wheel to zoom, click for the moment, double click for all"));
    tools.addEventListener("keydown", (event) => {
      const keys: Record<string, () => void> = {
        "+": () => zoom(context, 0.5, last), "-": () => zoom(context, 2, last),
        ArrowLeft: () => pan(context, -0.25, last), ArrowRight: () => pan(context, 0.25, last),
        Home: () => context.change({ from: "", to: "" }),
      };
      if (event.target === tools && keys[event.key] !== undefined) {
        keys[event.key]!();
        event.preventDefault();
      }
    });
    const answer = await context.json([
      "timeline", "--by", by, "--top", "7", "--points", kPoints, ...range, ...context.deviceAndFrames, context.first.name]);
    const all = range.length === 0 ? answer
      : await context.quietly(["timeline", "--points", "600", ...context.deviceAndFrames, context.first.name]);
    clear(into, tools,
      context.filtersStacks && h("p", { class: "note" }, "“only with” and “without” do not apply here: the layers are all that was live"));
    for (const device of devices) {
      if (!answer.rows.some((row) => asNumber(row["device"]) === device.device)) {
        continue;
      }
      const chart = h("div", { class: "chart" });
      into.append(h("h2", {}, devices.length > 1 ? `device ${asText(device.device)}` : ""), chart);
      into.append(minimap(context, all, device.device, last));
      new Plot(context, answer, chart, device.device);
    }
  },
};
