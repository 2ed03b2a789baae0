// Timeline: live bytes by layer over events or time, what is reserved above them, and the largest
// blocks below. A click chooses the moment that every other view shows.
import { Chart } from "../charts/chart";
import { Colors } from "../charts/series";
import { asNumber, asText, type Answer, type Row } from "../core/answers";
import { clear, h } from "../core/dom";
import { count, size } from "../core/format";
import type { DeviceFacts } from "../core/inputs";
import { lifetime, place, shortName } from "../core/words";
import { byChoice } from "../ui/by";
import type { Context, View } from "../ui/context";
import { grid, kPlace, kWhere } from "../ui/grid";
import { chosenEvent, deviceWords, firstDevice } from "../ui/moment";
import { blocks } from "./blocks";

const kMaxEventsForBlocks = 200_000;

// What happened at the chosen event: size, life, where allocated, where freed.
async function story(context: Context, device: DeviceFacts, event: number): Promise<HTMLElement> {
  const words = (at: number): string[] =>
    ["events", "--from", `event:${at}`, "--to", `event:${at}`, ...deviceWords(context, device), context.first.name];
  const answer = await context.json(words(event));
  const row = answer.rows[0];
  if (row === undefined) {
    return h("p", { class: "note" }, "no event there");
  }
  const action = asText(row["action"]);
  const partner = row["partner"];
  const other = partner === null || partner === undefined || action.startsWith("segment") ? undefined
    : (await context.json(words(asNumber(partner)))).rows[0];
  const [born, gone] = action === "alloc" ? [row, other] : [other, row];
  const where = (one: Row | undefined, otherwise: string): string =>
    one === undefined ? otherwise : `${shortName(asText(one["name"])) || "(stack unknown)"}  ${place(one)}  at event ${count(asNumber(one["event"]))}`;
  const id = asText(row["id"]);
  const isBlock = id.startsWith("b");
  return h("dl", { class: "facts story" },
    h("dt", {}, `event ${count(event)}`), h("dd", {}, h("b", {}, action), ` ${size(asNumber(row["size"]))}  `,
      id !== "" && h("button", { type: "button", class: "link mono", title: "this block in the allocator",
        click: () => context.change({ view: "allocator", pick: id }) }, id)),
    isBlock && h("dt", {}, "allocated"), isBlock && h("dd", {}, where(born, "before the recording")),
    isBlock && h("dt", {}, "freed"), isBlock && h("dd", {}, where(gone, "not in the recording")),
    isBlock && h("dt", {}, "lived"), isBlock && h("dd", {}, lifetime(row)),
    !isBlock && h("dt", {}, "by"), !isBlock && h("dd", {}, where(row, "")));
}

async function holders(context: Context): Promise<HTMLElement> {
  const answer = await context.json(["top", "-n", "8", ...context.momentAndFilters, ...context.names]);
  const total = asNumber(answer.total);
  return grid({
    columns: [
      { key: "flat", title: "Live", kind: "size" },
      { key: "flat", title: "", kind: "percent", of: total },
      { key: "flat", title: "", kind: "bar", of: Math.max(1, ...answer.rows.map((row) => asNumber(row["flat"]))) },
      kWhere,
      kPlace,
    ],
    rows: answer.rows.filter((row) => asNumber(row["flat"]) !== 0),
    onPick: (row) => context.change({ view: "table", pick: asText(row["name"]) }),
  });
}

class Timeline {
  private readonly charts: Chart[] = [];
  private readonly below = h("div", { class: "beside below" });
  private readonly lane = h("div", { class: "lane" });
  private readonly colors = new Colors();

  constructor(private readonly context: Context, private readonly into: HTMLElement) {}

  private words(range: boolean): string[] {
    const { state } = this.context;
    return ["timeline", "--by", state.by === "" ? "function" : state.by, "--top", "7", "--points", "1200",
      ...(state.axis === "time" ? ["--axis", "time"] : []),
      ...(range && state.from !== "" ? ["--from", state.from] : []),
      ...(range && state.to !== "" ? ["--to", state.to] : []),
      ...this.context.deviceAndFrames, this.context.first.name];
  }

  private async ask(): Promise<{ whole: Answer; part: Answer | undefined }> {
    const { context } = this;
    const ranged = context.state.from !== "" || context.state.to !== "";
    context.list(this.words(true));
    return {
      whole: await context.quietly(this.words(false)),
      part: ranged ? await context.quietly(this.words(true)) : undefined,
    };
  }

  private async firstTime(): Promise<number | undefined> {
    const { rows } = await this.context.quietly(["events", "--from", "event:0", "--to", "event:0", this.context.first.name]);
    const times = rows.map((row) => row["time_us"]).filter((at) => at !== null).map(asNumber);
    return times.length > 0 ? Math.min(...times) : undefined;
  }

  async draw(): Promise<void> {
    const { context } = this;
    const { state } = context;
    const devices = context.first.devices.filter((one) => one.events > 0 && (state.device === "" || String(one.device) === state.device || one.name === state.device));
    const firstTime = state.axis === "time" ? await this.firstTime() : undefined;
    const { whole, part } = await this.ask();
    clear(this.into, this.tools(),
      context.filtersStacks && h("p", { class: "note" }, "“only with” and “without” do not apply to the layers: they are all that was live"));
    for (const device of devices) {
      // Ledgers of a device's part have its number, and no line of their own.
      if (this.charts.some((chart) => chart.device.device === device.device)) {
        continue;
      }
      if (!whole.rows.some((row) => asNumber(row["device"]) === device.device)) {
        continue;
      }
      const chart = new Chart({
        device, time: state.axis === "time" && firstTime !== undefined, firstTime, colors: this.colors, whole,
        name: devices.length > 1 ? (/^\d+$/.test(device.name) ? `device ${device.name}` : device.name) : "",
        height: Math.max(220, Math.min(460, innerHeight - 420) / Math.min(devices.length, 2)),
        state: () => context.state,
        range: (from, to) => this.range(from, to),
        choose: (event) => this.choose(event),
        layer: (layer) => context.change({ view: "table", pick: layer.name }),
      });
      chart.refine(part, chosenEvent(context, device));
      this.charts.push(chart);
      this.into.append(chart.element);
    }
    this.into.append(this.lane, this.below);
    const drawn = this.charts[0];
    context.picture = drawn === undefined ? undefined : () => drawn.picture();
    // What is drawn does not wait for it.
    if (state.axis !== "time") {
      const first = await this.firstTime();
      this.charts.forEach((chart) => chart.know(first));
    }
    await this.bringBelow();
    await this.bringBlocks();
  }

  private tools(): HTMLElement {
    const { context } = this;
    const { state } = context;
    const button = (text: string, title: string, click: () => void): HTMLElement =>
      h("button", { type: "button", title, click }, text);
    const all = (act: (chart: Chart) => void) => () => this.charts.slice(0, 1).forEach(act);
    const axis = h("select", { id: "axis", change: () => context.change({ axis: axis.value === "time" ? "time" : "" }) },
      h("option", { value: "", selected: state.axis !== "time" }, "events"),
      h("option", { value: "time", selected: state.axis === "time" }, "time"));
    const reserved = h("input", { type: "checkbox", id: "reserved", checked: state.reserved !== "off",
      change: () => context.refine({ reserved: reserved.checked ? "" : "off" }, async () => {
        this.remark((await this.ask()).part);
        this.relist();
      }) });
    return h("div", { class: "tools" },
      byChoice(context, "layers", ["function", "filefunction", "line", "file", "module", "stack", "bucket"], "function"),
      h("label", {}, "over ", axis), h("label", {}, reserved, " reserved"),
      h("span", { class: "group" },
        button("−", "zoom out (-)", all((chart) => chart.zoom(2))), button("+", "zoom in (+)", all((chart) => chart.zoom(0.5))),
        button("←", "earlier (Page Up)", all((chart) => chart.pan(-0.5))), button("→", "later (Page Down)", all((chart) => chart.pan(0.5))),
        button("all", "the whole recording (Home)", all((chart) => chart.show(undefined)))),
      button("peak", "the moment when most was live", () => this.choose("peak")),
      button("end", "the end of the recording", () => this.choose("end")),
      h("span", { class: "note" }, "wheel: zoom and pan · drag: range · click: moment"));
  }

  private range(from: string, to: string): void {
    this.context.refine({ from, to }, async () => {
      const { part } = await this.ask();
      this.remark(part);
      this.relist();
      await this.bringBlocks();
    });
  }

  private choose(at: number | string): void {
    this.context.refine({ at: typeof at === "string" ? at : at < 0 ? "start" : `event:${at}` }, async () => {
      const { part } = await this.ask();
      this.remark(part);
      await this.bringBelow();
      await this.bringBlocks();
    });
  }

  private remark(part: Answer | undefined): void {
    for (const chart of this.charts) {
      chart.refine(part, chosenEvent(this.context, chart.device));
    }
  }

  // The lines of what is below stay in force.
  private relist(): void {
    this.belowLines.forEach((words) => this.context.list(words));
  }
  private belowLines: string[][] = [];

  private async bringBelow(): Promise<void> {
    const { context } = this;
    const before = context.lines.length;
    const device = firstDevice(context);
    const event = device === undefined ? undefined : chosenEvent(context, device);
    const left = await holders(context);
    const right = device === undefined || event === undefined || event < 0 ? undefined : await story(context, device, event);
    this.belowLines = context.lines.slice(before);
    clear(this.below,
      h("section", {}, h("h2", {}, `live at ${context.state.at || (device?.oomEvents.length ? "oom" : "peak")}`), left),
      right === undefined ? "" : h("aside", {}, h("h2", {}, "the event"), right));
  }

  private async bringBlocks(): Promise<void> {
    const { context } = this;
    const events = context.first.devices.reduce((sum, device) => sum + device.events, 0);
    const chart = this.charts[0];
    if (chart === undefined) {
      return;
    }
    if (context.state.blocks !== "1" && events > kMaxEventsForBlocks) {
      clear(this.lane, h("button", { type: "button", click: () => context.change({ blocks: "1" }) }, "show the largest blocks"));
      return;
    }
    await blocks(context, chart, this.lane);
  }
}

export const timeline: View = {
  id: "timeline",
  title: "Timeline",
  shows: (context) => context.first.hasHistory,
  draw: (context, into) => new Timeline(context, into).draw(),
};
