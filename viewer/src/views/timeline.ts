// Timeline: live bytes by layer over events or time, or every allocation where few are shown, and what is
// reserved above them; for each device of each input. A click chooses the moment that every other view shows.
import { stacked } from "../charts/pen";
import { Colors } from "../charts/series";
import { asNumber, asText, type Row } from "../core/answers";
import { clear, h } from "../core/dom";
import { count } from "../core/format";
import type { State } from "../core/state";
import { byChoice } from "../ui/by";
import { Outdated, type Context, type View } from "../ui/context";
import { grid, kPlace, kWhere } from "../ui/grid";
import { story } from "../ui/story";
import { History, type Place } from "./history";

const kMaxCharts = 12;
const kColored = ["", "function", "filefunction", "line", "file"]; // what tells an allocation's layer

async function holders(context: Context): Promise<HTMLElement> {
  const answer = await context.json(["top", "-n", "8", ...context.momentAndFilters, context.first.name]);
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
    onPick: (row) => context.change({ view: "table", row: asText(row["name"]) }),
  });
}

// The devices that have a history, of the inputs that are shown.
function placesOf(context: Context): Place[] {
  const { device } = context.state;
  return context.inputs.flatMap((input) => input.devices
    .filter((one, i, all) => one.events > 0 && all.findIndex((other) => other.device === one.device) === i)
    .filter((one) => device === "" || String(one.device) === device || one.name === device)
    .map((one) => ({ input, device: one })));
}

class Timeline {
  private histories: History[] = [];
  private readonly below = h("div", { class: "beside below" });
  private readonly note = h("p", { class: "note" });
  private readonly shapesBox = h("input", { type: "checkbox", id: "shapes",
    change: () => this.context.refine({ shapes: this.shapesBox.checked ? "on" : "off" }, () => this.bring({ shapes: true })) });
  private belowLines: string[][] = [];
  private later = 0;

  constructor(private readonly context: Context, private readonly into: HTMLElement) {}

  async draw(): Promise<void> {
    const { context } = this;
    const places = placesOf(context);
    const shown = places.slice(0, kMaxCharts).map((place) => new History(context, place, places.length > 1));
    for (const history of shown) {
      await (context.state.axis === "time" ? history.askTime() : undefined);
      await history.ask();
    }
    // Ledgers of a device's part have its number, and no line of their own.
    this.histories = shown.filter(({ whole, place }) => whole.rows.some((row) => asNumber(row["device"]) === place.device.device));
    clear(this.into, this.tools(),
      context.filtersStacks && h("p", { class: "note" }, "“only with” and “without” do not apply to the layers: they are all that was live"),
      places.length > kMaxCharts && h("p", { class: "note" }, `${count(places.length - kMaxCharts)} more: an input or a device can be chosen above`));
    this.makeCharts();
    for (const history of this.histories) {
      await history.refine();
      await history.moment();
      this.into.append(history.chart.element);
    }
    this.into.append(this.note, this.below);
    context.picture = this.histories.length === 0 ? undefined : () => stacked(this.histories.map(({ chart }) => chart.picture()));
    await this.bring({ shapes: true, below: true });
    context.onMoment = () => this.bring({ range: true, moment: true, below: true });
  }

  // Of one scale and one axis.
  private makeCharts(): void {
    const { context, histories } = this;
    const colors = new Colors();
    const several = histories.length > 1;
    const most = Math.max(1, ...histories.map((history) => history.most));
    const height = histories.length > 2 ? 190 : Math.max(220, Math.min(460, innerHeight - 420) / Math.max(1, histories.length));
    const make = (history: History, extent: number | undefined): void => history.make({ colors, height, extent, mapped: history === histories[0],
      ceiling: several ? most : undefined,
      range: (from, to, chosen) => this.range(from, to, chosen, history),
      choose: (event, block) => this.choose(event, history, block),
      layer: (layer) => context.change({ view: "table", row: layer.name }),
      moved: () => this.others(history).forEach(({ chart }) => chart.at(history.chart.span.low, history.chart.span.high)),
      pointed: (x) => this.others(history).forEach(({ chart }) => chart.follow(x)) });
    histories.forEach((history) => make(history, undefined));
    if (several) {
      const extent = Math.max(...histories.map(({ chart }) => chart.end));
      histories.forEach((history) => make(history, extent));
    }
  }
  private others(one: History): History[] {
    return this.histories.filter((other) => other !== one);
  }

  private tools(): HTMLElement {
    const { context } = this;
    const { state } = context;
    const button = (text: string, title: string, click: () => void): HTMLElement =>
      h("button", { type: "button", title, click }, text);
    const all = (act: (chart: History["chart"]) => void) => () => this.histories.slice(0, 1).forEach(({ chart }) => act(chart));
    const axis = h("select", { id: "axis", change: () => context.change({ axis: axis.value === "time" ? "time" : "" }) },
      h("option", { value: "", selected: state.axis !== "time" }, "events"),
      h("option", { value: "time", selected: state.axis === "time" }, "time"));
    const reserved = h("input", { type: "checkbox", id: "reserved", checked: state.reserved !== "off",
      change: () => context.refine({ reserved: reserved.checked ? "" : "off" }, () => this.bring({})) });
    return h("div", { class: "tools" },
      byChoice(context, "layers", ["function", "filefunction", "line", "file", "module", "stack", "bucket"], "function"),
      h("label", {}, "over ", axis), h("label", {}, reserved, " reserved"), h("label", {}, this.shapesBox, " every block"),
      h("span", { class: "group" },
        button("−", "zoom out (-)", all((chart) => chart.zoom(2))), button("+", "zoom in (+)", all((chart) => chart.zoom(0.5))),
        button("←", "earlier (Page Up)", all((chart) => chart.pan(-0.5))), button("→", "later (Page Down)", all((chart) => chart.pan(0.5))),
        button("all", "the whole recording (Home)", all((chart) => chart.show(undefined)))),
      button("peak", "the moment when most was live", () => this.choose("peak")),
      button("end", "the end of the recording", () => this.choose("end")),
      h("span", { class: "note" }, "drag: range · click: moment and block, then wheel: zoom (or Ctrl and wheel)"));
  }

  // What is chosen in one of several charts holds for its input and its device.
  private only({ place }: History): Partial<State> | undefined {
    const { context } = this;
    const patch = { ...(context.inputs.length > 1 ? { input: place.input.name } : {}),
      ...(place.input.devices.length > 1 && context.state.device === "" ? { device: place.device.name } : {}) };
    return this.histories.length > 1 ? patch : undefined;
  }

  private range(from: string, to: string, chosen: boolean, history: History): void {
    const only = this.only(history);
    if (from !== "" && chosen && only !== undefined) {
      this.context.change({ ...only, from, to });
      return;
    }
    this.context.refine({ from, to }, () => this.bring({ range: true, shapes: true }));
  }

  private choose(at: number | string, history?: History, block?: Row): void {
    const patch = { at: typeof at === "string" ? at : at < 0 ? "start" : `event:${at}`, block: asText(block?.["id"]) };
    const only = history === undefined ? undefined : this.only(history);
    if (only !== undefined) {
      this.context.change({ ...only, ...patch });
      return;
    }
    this.context.refine(patch, () => this.bring({ range: true, moment: true, below: true }));
  }

  // What has changed, and the lines of all that is shown.
  private async bring(what: { range?: boolean; moment?: boolean; shapes?: boolean; below?: boolean }): Promise<void> {
    const { context, histories } = this;
    histories.forEach(({ line }) => context.list(line));
    for (const history of histories) {
      await (what.range ? history.refine() : undefined);
      await (what.moment ? history.moment() : undefined);
      await (what.shapes ? history.shapes() : undefined);
      if (!what.moment) { // the chart draws what a moment changes
        history.chart.draw();
      }
    }
    this.remark();
    await (what.below ? this.bringBelow() : undefined);
    if (!what.below) {
      this.belowLines.forEach((words) => context.list(words));
    }
    histories.flatMap(({ shapeLine, stepLine }) => [shapeLine, stepLine]).forEach((words) => words !== undefined && context.list(words));
    if (what.shapes) {
      void this.bringLater();
    }
  }

  // What is drawn does not wait for these.
  private async bringLater(): Promise<void> {
    const turn = ++this.later;
    try {
      for (const history of this.histories) {
        if (turn === this.later && !history.isComplete) {
          await history.complete();
        }
      }
      for (const history of this.histories) {
        if (turn === this.later) { // still of this range
          await history.bands();
        }
      }
    } catch (error) {
      if (!(error instanceof Outdated)) {
        throw error;
      }
    }
  }

  // How the allocations are to be read.
  private remark(): void {
    const isShaped = this.histories.some((history) => history.isShaped);
    const cut = this.histories.reduce((sum, history) => sum + history.cut, 0);
    this.shapesBox.checked = isShaped;
    clear(this.note, isShaped && !kColored.includes(this.context.state.by) && "Blocks have the colours of layers where these are functions, lines or files. ",
      cut > 0 && `${count(cut)} more blocks are in the grey band: zoom in to see them.`);
    this.note.hidden = this.note.textContent === "";
  }

  private async bringBelow(): Promise<void> {
    const { context } = this;
    const before = context.lines.length;
    const history = this.histories[0];
    const device = history?.place.device;
    const blocks = await Promise.all(this.histories.map((one) => one.block()));
    const block = blocks.find((row) => row !== undefined);
    const event = block === undefined ? history?.chosen : asNumber(block["event"]);
    const left = await holders(context);
    const right = device === undefined || event === undefined || event < 0 ? undefined : await story(context, device, event);
    this.belowLines = context.lines.slice(before);
    clear(this.below,
      h("section", {}, h("h2", {}, `live at ${context.state.at || (device?.oomEvents.length ? "oom" : "peak")}`,
        context.inputs.length > 1 && `, ${context.first.name}`), left),
      right === undefined ? "" : h("aside", {}, h("h2", {}, block === undefined ? "the event" : "the block"), right));
  }
}

export const timeline: View = {
  id: "timeline",
  title: "Timeline",
  shows: (context) => context.first.hasHistory,
  draw: (context, into) => new Timeline(context, into).draw(),
};
