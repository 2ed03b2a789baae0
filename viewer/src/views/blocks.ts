// The largest blocks of a range, each as a bar from its allocation to its free.
import type { Chart } from "../charts/chart";
import { isDark, kOnColor, kRest, toShade, theme } from "../charts/palette";
import { paint, type Picture } from "../charts/pen";
import { kLeft, kRight } from "../charts/plot";
import { asNumber, asText, type Row } from "../core/answers";
import { clear, h } from "../core/dom";
import { size } from "../core/format";
import type { DeviceFacts } from "../core/inputs";
import { lifetime, place } from "../core/words";
import type { Context } from "../ui/context";
import { deviceWords } from "../ui/moment";

const kWanted = 24; // at least, where there are as many
const kMaxBlocks = 300;
const kRows = 40;
const kHeight = 15;

interface Bar {
  row: Row;
  from: number;
  to: number; // events
  lane: number;
}

// Allocations of at least some size: as large as leaves enough of them. Counting is the core's.
async function largest(context: Context, device: DeviceFacts): Promise<Row[]> {
  const words = (least: number): string[] =>
    ["events", "--action", "alloc", "--size", `${Math.max(1, Math.floor(least))}:`, ...(context.state.device === "" ? deviceWords(context, device) : []), ...context.filters];
  let low = 0;
  let high = device.peakBytes + 1;
  for (let turn = 0; turn < 12 && high - low > Math.max(1, high / 50); ++turn) {
    const middle = (low + high) / 2;
    const answer = await context.quietly([...words(middle), "-n", "1", context.first.name]);
    const found = answer.rows.length + asNumber(answer["rows_cut"]);
    if (found >= kWanted && found <= kMaxBlocks) {
      low = middle;
      break;
    }
    [low, high] = found > kMaxBlocks ? [middle, high] : [low, middle];
  }
  return (await context.json([...words(low), "-n", String(kMaxBlocks), context.first.name])).rows;
}

function makeBars(rows: Row[], last: number, from: number, to: number): Bar[] {
  const bars = rows
    .map((row): Bar => ({ row, lane: 0, from: asNumber(row["event"]),
      to: row["partner"] === null ? last + 1 : asNumber(row["partner"]) }))
    .filter((bar) => bar.from <= to && bar.to >= from)
    .sort((a, b) => asNumber(b.row["size"]) - asNumber(a.row["size"]) || a.from - b.from);
  const lanes: Bar[][] = [];
  for (const bar of bars) {
    let lane = lanes.findIndex((others) => others.every((other) => other.to <= bar.from || other.from >= bar.to));
    if (lane < 0) {
      lane = lanes.length;
      lanes.push([]);
    }
    bar.lane = lane;
    lanes[lane]!.push(bar);
  }
  return bars.filter((bar) => bar.lane < kRows);
}

export async function blocks(context: Context, chart: Chart, into: HTMLElement): Promise<void> {
  const { device } = chart;
  const rows = await largest(context, device);
  const says = h("p", { class: "says" });
  const canvas = h("canvas", { class: "blocks", tabindex: 0, role: "img", "aria-label": "the largest blocks; arrows move, Enter opens one" });
  let at = -1;
  let bars: Bar[] = [];
  const { from, to } = chart.span;
  bars = makeBars(rows, device.events, from, to);
  clear(into, h("div", { class: "tools" }, h("h2", {}, "the largest blocks"), says), canvas);
  if (bars.length === 0) {
    clear(into);
    return;
  }
  const lanes = 1 + Math.max(...bars.map((bar) => bar.lane));
  const toBox = (bar: Bar, width: number): [number, number, number, number] => {
    const { low, high } = chart.span;
    const inner = width - kLeft - kRight;
    const toX = (event: number): number =>
      kLeft + Math.max(0, Math.min(inner, (((chart.eventX(event) ?? 0) - low) / (high - low)) * inner));
    const begin = toX(bar.from);
    const end = bar.to > device.events - 1 ? Math.max(begin, toX(device.events - 1)) : toX(bar.to);
    return [begin, bar.lane * kHeight, Math.max(2, end - begin - 0.5), kHeight - 2];
  };
  const picture = (width: number): Picture => ({ width, height: lanes * kHeight, draw: (pen, dark) => {
    const colors = theme(dark);
    bars.forEach((bar, i) => {
      const [x, y, wide, high] = toBox(bar, width);
      const name = asText(bar.row["name"]) || "(stack unknown)";
      const color = chart.layerColor(bar.row);
      pen.rect(x, y, wide, high, color ?? toShade(kRest, dark), i === at ? colors.ink : undefined);
      if (wide > 40) {
        pen.text(x + 4, y + high / 2, `${size(asNumber(bar.row["size"]))}  ${name}`, { color: color === undefined ? colors.ink : kOnColor, room: wide - 8 });
      }
    });
  } });
  const draw = (): void => {
    const width = into.clientWidth;
    if (width > 0) {
      paint(canvas, picture(width), isDark());
    }
  };
  const hover = (bar: number): void => {
    at = bar;
    const row = bars[bar]?.row;
    clear(says, row === undefined ? "size, life, where allocated; a click shows where it was freed"
      : `${size(asNumber(row["size"]))} · ${asText(row["name"]) || "(stack unknown)"}  ${place(row)} · lived ${lifetime(row)} · ${asText(row["id"])}`);
    draw();
  };
  const barAt = (event: MouseEvent): number => bars.findIndex((bar) => {
    const [x, y, wide, high] = toBox(bar, into.clientWidth);
    return event.offsetX >= x && event.offsetX <= x + wide && event.offsetY >= y && event.offsetY <= y + high;
  });
  const open = (bar: number): void => {
    if (bars[bar] !== undefined) {
      context.change({ view: "allocator", pick: asText(bars[bar]!.row["id"]) });
    }
  };
  canvas.addEventListener("mousemove", (event) => hover(barAt(event)));
  canvas.addEventListener("mouseleave", () => hover(-1));
  canvas.addEventListener("click", (event) => open(barAt(event)));
  canvas.addEventListener("keydown", (event) => {
    const by = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
    if (by !== undefined) {
      hover(Math.max(0, Math.min(bars.length - 1, at + by)));
      event.preventDefault();
    } else if (event.key === "Enter") {
      open(at);
    }
  });
  hover(-1);
  chart.onMove = draw;
  new ResizeObserver(draw).observe(into);
}
