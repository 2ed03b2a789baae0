// One device of one input in the timeline: its chart, and what is asked for it.
import { layerBands, phaseBands, rowsOf, stepBands, type Band, type Births } from "../charts/bands";
import { Chart, type ChartOptions } from "../charts/chart";
import { asNumber, asText, type Answer, type Row } from "../core/answers";
import { CoreError } from "../core/core";
import type { DeviceFacts, InputFacts } from "../core/inputs";
import { filterWords, parseEvent } from "../core/state";
import { chosenEvent } from "../ui/moment";
import type { Context } from "../ui/context";

const kFew = 5000; // events: where every allocation is shown unasked
const kMost = 3000; // allocations
const kParts = 8; // of a pixel
const kSmall = 50; // times lower than the highest of several: it would not be seen
const kCounted = 60_000; // events in which phases and layers are counted

export interface Place {
  input: InputFacts;
  device: DeviceFacts;
}

export class History {
  chart!: Chart;
  whole!: Answer;
  firstTime: number | undefined;
  shapeLine: string[] | undefined; // what asked for the allocations that are shown
  isComplete = false;
  cut = 0; // allocations that are large enough, and not asked for

  constructor(private readonly context: Context, readonly place: Place, private readonly isOneOfSeveral: boolean) {}

  get name(): string {
    const { input, device } = this.place;
    const own = /^\d+$/.test(device.name) ? `device ${device.name}` : device.name;
    const several = input.devices.filter((one) => one.events > 0).length > 1;
    return [...(this.context.inputs.length > 1 ? [input.name] : []), ...(several ? [own] : [])].join(", ");
  }
  private get by(): string {
    return this.context.state.by === "" ? "function" : this.context.state.by;
  }
  // So that a line speaks of this device alone.
  private get deviceWords(): string[] {
    const { input, device } = this.place;
    return input.devices.length > 1 ? ["--device", device.name] : [];
  }
  private get ownWords(): string[] {
    return [...this.deviceWords, ...filterWords(this.context.state, ["frames"]), this.place.input.name];
  }

  // Of a range that several share, as much as this recording has; none: it has ended before.
  private get rangeWords(): string[] | undefined {
    const { from, to } = this.context.state;
    const isPast = (moment: string): boolean => {
      const event = parseEvent(moment);
      return this.isOneOfSeveral && (event !== undefined ? event >= this.place.device.events
        : moment.startsWith("time:") && this.isTime && Number(moment.slice(5)) > this.chart.end);
    };
    return isPast(from) ? undefined : [...(from === "" ? [] : ["--from", from]), ...(to === "" || isPast(to) ? [] : ["--to", to])];
  }
  private get isTime(): boolean {
    return this.context.state.axis === "time" && this.firstTime !== undefined;
  }
  private words(range: string[]): string[] {
    return ["timeline", "--by", this.by, "--top", "7", "--points", "1200",
      ...(this.context.state.axis === "time" ? ["--axis", "time"] : []), ...range, ...this.ownWords];
  }
  get line(): string[] {
    return this.words(this.rangeWords ?? []);
  }

  async ask(): Promise<void> {
    this.whole = await this.context.quietly(this.words([]));
  }
  async askTime(): Promise<void> {
    const { rows } = await this.context.quietly(["events", "--from", "event:0", "--to", "event:0", this.place.input.name]);
    const times = rows.map((row) => row["time_us"]).filter((at) => at !== null).map(asNumber);
    this.firstTime = times.length > 0 ? Math.min(...times) : undefined;
  }
  // The highest of what is drawn.
  get most(): number {
    const { reserved } = this.context.state;
    return this.whole.rows.reduce((most, row) => Math.max(most, asNumber(row["allocated"]), reserved === "off" ? 0 : asNumber(row["reserved"])), 1);
  }
  make(is: Omit<ChartOptions, "device" | "name" | "time" | "firstTime" | "whole" | "state">): void {
    const isSmall = is.ceiling !== undefined && this.most * kSmall < is.ceiling;
    this.chart = new Chart({ ...is, device: this.place.device, name: isSmall ? `${this.name} (on a scale of its own)` : this.name,
      ceiling: isSmall ? undefined : is.ceiling, whole: this.whole, firstTime: this.firstTime,
      time: this.isTime, state: () => this.context.state });
    this.chart.bands([], this.stepLine === undefined ? [] : [0, 1, 2]); // their place, until they are known
  }

  get chosen(): number | undefined {
    const event = chosenEvent(this.context, this.place.device);
    return event === undefined || event >= this.place.device.events ? undefined : event;
  }
  // The range more exactly.
  async refine(): Promise<void> {
    const { from, to } = this.context.state;
    const range = this.rangeWords;
    const part = (from !== "" || to !== "") && range !== undefined ? await this.context.quietly(this.words(range)) : undefined;
    this.chart.refine(part, this.chosen);
  }
  async moment(): Promise<void> {
    const event = this.chosen;
    if (event === undefined || event < 0) {
      this.chart.moment(undefined);
      return;
    }
    const at = `event:${event}`;
    this.chart.moment(await this.context.quietly(["timeline", "--by", this.by, "--top", "24", "--from", at, "--to", at, ...this.ownWords]));
  }

  // Whether allocations are shown one by one.
  get isShaped(): boolean {
    const { shapes } = this.context.state;
    const { from, to } = this.chart.span;
    return shapes === "on" || (shapes === "" && to - from <= kFew);
  }
  // Those that are as large as a part of a pixel (many of them are a colour), from a little before to a
  // little after what is shown.
  async shapes(): Promise<void> {
    this.shapeLine = undefined;
    this.cut = 0;
    if (!this.isShaped) {
      this.chart.allocations(undefined);
      return;
    }
    const { low, high, most, height } = this.chart.span;
    const margin = (high - low) / 4;
    const [begin, end] = [Math.max(this.isTime ? 0 : -1, low - margin), Math.min(this.chart.end, high + margin)];
    const moment = (x: number): string => (this.isTime ? `time:${x.toFixed(6)}` : `event:${Math.max(0, Math.min(this.place.device.events - 1, Math.round(x)))}`);
    if (begin >= end) {
      this.chart.allocations([]);
      return;
    }
    this.shapeLine = ["events", "--largest", String(kMost), "--size", `${roundedDown(most / height / kParts)}:`, "--from", moment(Math.floor(begin * 1e6) / 1e6),
      "--to", moment(end), ...this.deviceWords, ...filterWords(this.context.state, ["frames", "focus", "ignore"]), this.place.input.name];
    const answer = await this.context.quietly(this.shapeLine);
    this.cut = asNumber(answer["rows_cut"]);
    this.chart.allocations(answer.rows, begin, end);
  }

  // The allocation of the block that is looked at.
  async block(): Promise<Row | undefined> {
    const { block } = this.context.state;
    const found = !/^b[0-9a-f]+_\d+$/.test(block) ? undefined
      : (await this.context.quietly(["events", "--id", block, "--action", "alloc", ...this.deviceWords, this.place.input.name])).rows[0];
    this.chart.pick(found);
    return found;
  }

  get stepLine(): string[] | undefined {
    return this.place.input.can("steps") ? ["steps", ...this.deviceWords, this.place.input.name] : undefined;
  }
  // Steps, and what is counted in allocations where few enough events are shown.
  async bands(): Promise<void> {
    const { device } = this.place;
    const steps = this.stepLine === undefined ? undefined : await this.orNone(this.stepLine);
    if (steps === undefined) {
      this.chart.bands([], []);
      return;
    }
    const bands = stepBands(steps, device.device);
    const births = await this.births(bands);
    this.chart.bands([...bands, ...births === undefined ? []
      : [...phaseBands(steps, device.device, births), ...layerBands(steps, device.device, births)]], rowsOf(steps, device.device), births === undefined);
  }
  // None where the input has no such answer.
  private async orNone(words: string[]): Promise<Answer | undefined> {
    try {
      return await this.context.quietly(words);
    } catch (error) {
      if (error instanceof CoreError) {
        return undefined;
      }
      throw error;
    }
  }
  private async births(steps: Band[]): Promise<Births | undefined> {
    const { from, to } = this.chart.span;
    const last = this.place.device.events - 1;
    const seen = steps.filter((step) => step.to >= from && step.from <= to);
    const begin = Math.max(0, Math.min(from, ...seen.map((step) => step.from)));
    const end = Math.min(last, Math.max(to, ...seen.map((step) => step.to)));
    if (end - begin > kCounted || begin > last) {
      return undefined;
    }
    const words = (range: string[]): string[] => ["events", "--action", "alloc", ...range, ...this.deviceWords, this.place.input.name];
    const before = begin === 0 ? undefined : await this.context.quietly([...words(["--to", `event:${begin - 1}`]), "-n", "1"]);
    const list = await this.context.quietText([...words(["--from", `event:${begin}`, "--to", `event:${end}`]), "--columns", "event", "--format", "csv"]);
    return { first: before === undefined ? 0 : before.rows.length + asNumber(before["rows_cut"]), end,
      events: list.trim().split(/\r?\n/).slice(1).map(Number) };
  }

  // When it began, and how large the card is.
  async complete(): Promise<void> {
    this.isComplete = true;
    if (this.context.state.axis !== "time") {
      await this.askTime();
      this.chart.know(this.firstTime);
    }
    const answer = this.place.input.can("account") ? await this.orNone(["account", ...this.deviceWords, this.place.input.name]) : undefined;
    const { device } = this.place;
    const isOwn = (row: Row): boolean => row["device"] === null || [device.name, String(device.device)].includes(asText(row["device"]));
    const capacity = answer?.rows.find((row) => asText(row["step"]) === "capacity" && row["bytes"] !== null && isOwn(row))?.["bytes"];
    this.chart.card(capacity === undefined ? undefined : asNumber(capacity));
  }
}

// Two digits of a size: lines that are nearly the same are the same.
function roundedDown(bytes: number): number {
  const unit = 10 ** Math.max(0, Math.floor(Math.log10(Math.max(1, bytes))) - 1);
  return Math.max(1, Math.floor(bytes / unit) * unit);
}
