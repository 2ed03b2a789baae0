// The page: opens what a report carries or what is dropped on it, and shows one view at a time.
import { toSvg } from "./charts/pen";
import type { Answer } from "./core/answers";
import { unarmoured } from "./core/armour";
import { Core } from "./core/core";
import { append, clear, field, h, swap } from "./core/dom";
import { commandLine, size } from "./core/format";
import { readBy, readInputs, type InputFacts } from "./core/inputs";
import { inflated, taken } from "./core/packed";
import { allOf, arranged, carried, mounted, named, sameFiles, type Arrangement, type Job } from "./core/job";
import type { Mounted } from "./core/protocol";
import { afresh, readState, reduce, writeState, type State } from "./core/state";
import { sentence } from "./core/words";
import { frameChips, frameField } from "./ui/chips";
import { Context, Outdated, Session, type View } from "./ui/context";
import { look, lookChoice, watchLook } from "./ui/look";
import { save } from "./ui/save";
import { drawTabs } from "./ui/tabs";
import { tray } from "./ui/tray";
import { welcome } from "./ui/welcome";
import { advise } from "./views/advise";
import { allocator } from "./views/allocator";
import { buckets } from "./views/buckets";
import { check } from "./views/check";
import { compare } from "./views/compare";
import { facts } from "./views/facts";
import { fit } from "./views/fit";
import { flame } from "./views/flame";
import { graph } from "./views/graph";
import { labels } from "./views/labels";
import { leaks } from "./views/leaks";
import { oom } from "./views/oom";
import { overview } from "./views/overview";
import { ranks } from "./views/ranks";
import { steps } from "./views/steps";
import { table } from "./views/table";
import { timeline } from "./views/timeline";
import { whatif } from "./views/whatif";

const kViews: View[] = [overview, compare, timeline, flame, table, allocator, graph, buckets, leaks, steps, oom, advise, whatif, fit, ranks, check, labels, facts];

const kMaxLinkLength = 60_000;
const kGesture = 700; // ms
const kFilterDelay = 150; // ms
const kMoves = new Set(["from,to", "at", "at,block", "x", "zoom"]); // what wheels, held keys and sliders change
// Commands whose answers are rows.
const kRowCommands = new Set(["top", "diff", "buckets", "tags", "timeline", "flame", "segments", "events", "leaks", "advise", "peek", "info",
  "steps", "ranks", "whatif", "fit", "check", "oom"]);
const kKeys: [string, string][] = [
  ["1 … 9, 0", "the views"],
  ["/", "search, or the first filter"],
  ["Tab, Enter, arrows", "through tables and pictures"],
  ["+ − Page Up Page Down Home", "zoom, pan, all of the timeline"],
  ["← → (with Shift: every event), ↑ ↓", "the moment, on the timeline; the block at it"],
  ["[ ] { }", "the event before and after in the allocator; a hundred"],
  ["+ − arrows Enter Escape", "on the map of memory: closer, further, from block to block, the block's story, all of it"],
  ["Escape, t", "all of the flame graph; the frame's row in the table"],
  ["+ − 0", "zoom and fit the call graph"],
];

class Page {
  private state = readState(location.hash);
  private inputs: InputFacts[] = [];
  private bases: string[] = [];
  private info: Answer | undefined;
  private session = new Session();
  private drawing = 0;
  private readonly status = h("p", { class: "status", role: "status" });
  private readonly title = h("div", { class: "inputs" });
  private readonly tabs = h("nav", { "aria-label": "views" });
  private readonly filters = h("form", { class: "filters", "aria-label": "filters", submit: (event: Event) => event.preventDefault() });
  private readonly chips = h("div", { class: "chips" });
  private readonly content = h("main", { id: "view", tabindex: -1 });
  private readonly lines = h("footer", { "aria-label": "the same in a terminal" });
  private readonly svg = h("button", { type: "button", id: "save-svg", click: () => this.saveSvg() }, "save SVG");
  private readonly progress = h("progress", { hidden: true, "aria-label": "read" });
  private readonly files = h("div", { class: "files", hidden: true });
  private readonly adding = h("input", { type: "file", multiple: true, id: "add-file", hidden: true });
  private readonly keys = h("dl", { class: "facts keys", hidden: true },
    ...kKeys.flatMap(([key, what]) => [h("dt", {}, key), h("dd", {}, what)]), h("dt", {}, "Colours"), h("dd", {}, lookChoice((patch) => this.change(patch))));
  private context: Context | undefined;
  private expected = 0;

  constructor(private readonly core: Core) {
    core.onProgress = (bytes) => {
      // Small inputs are there before one has read that.
      if (this.expected >= 16 << 20 && document.body.dataset["state"] !== "ready") {
        this.progress.hidden = false;
        this.progress.max = this.expected;
        this.progress.value = Math.min(bytes, this.expected);
        this.say(`reading… ${size(bytes)} of ${size(this.expected)}`);
      }
    };
    const open = h("input", { type: "file", multiple: true, id: "file", hidden: true });
    const openBase = h("input", { type: "file", id: "base-file", hidden: true });
    this.adding.addEventListener("change", () => void this.add(mounted(this.adding.files)));
    open.addEventListener("change", () => void this.open({ inputs: mounted(open.files), bases: [] }));
    openBase.addEventListener("change", () => void this.addBase(mounted(openBase.files)));
    document.body.append(
      h("header", {},
        h("h1", {}, "memtool"), this.title, this.progress, this.status,
        h("button", { type: "button", id: "open", click: () => open.click() }, "open…"),
        h("button", { type: "button", id: "compare", title: "with a base: what grew since then; a file can be dropped here",
          click: () => openBase.click() }, "compare with…"),
        h("button", { type: "button", id: "files", "aria-expanded": "false", "aria-controls": "tray", title: "the open files: order, base, more of them",
          click: (event: Event) => {
            this.files.hidden = !this.files.hidden;
            (event.currentTarget as HTMLElement).setAttribute("aria-expanded", String(!this.files.hidden));
          } }, "files"),
        h("button", { type: "button", id: "copy", click: () => this.copy() }, "copy as text"),
        h("button", { type: "button", id: "save", click: () => void this.saveCsv() }, "save CSV"),
        this.svg,
        h("button", { type: "button", id: "help", title: "keys and colours (?)", "aria-label": "keys and colours", click: () => (this.keys.hidden = !this.keys.hidden) }, "?"),
        open, openBase, this.adding),
      h("div", { class: "body" }, this.tabs, h("div", { class: "pane" }, this.files, this.filters, this.keys, this.content, this.lines)));
    window.addEventListener("hashchange", () => {
      const before = this.state;
      this.state = readState(location.hash);
      this.follow(before);
    });
    window.addEventListener("keydown", (event) => this.key(event));
    document.body.addEventListener("dragover", (event) => event.preventDefault());
    document.body.addEventListener("drop", (event) => {
      event.preventDefault();
      const files = mounted(event.dataTransfer?.files ?? null);
      const onCompare = event.target instanceof Element && event.target.closest("#compare") !== null;
      void (onCompare && this.job.inputs.length > 0 ? this.addBase(files) : this.open({ inputs: files, bases: [] }));
    });
    look(this.state);
    watchLook(() => void this.draw());
    clear(this.content, welcome((job) => void this.open(job), () => open.click()));
  }

  private job: Job = { inputs: [], bases: [] };
  private mounted: Job | undefined;
  private readonly ownTitle = document.title === "memtool" ? "" : document.title; // of `memtool report --title`

  private say(text: string): void {
    this.progress.hidden ||= text === "";
    clear(this.status, text);
  }

  async addBase(bases: Mounted[]): Promise<void> {
    await this.open({ ...this.job, bases }, true);
  }

  private async add(files: Mounted[]): Promise<void> {
    await this.open({ inputs: [...this.job.inputs, ...files], bases: this.job.bases }, true);
  }

  private async arrange(what: Arrangement, name: string): Promise<void> {
    const job = arranged(this.job, what, name);
    // Moments of other files mean nothing.
    const first = job.inputs[0] !== this.job.inputs[0];
    this.adopt({ input: "", ...(first ? { at: "", from: "", to: "", device: "" } : {}) });
    await this.open(job, true);
  }

  // `same`: what was open, with other files beside it. Moments and picks of other files mean nothing.
  async open(job: Job, same = false): Promise<void> {
    if (job.inputs.length === 0) {
      return;
    }
    const before = this.info === undefined ? undefined : this.job;
    const seen = this.state;
    if (before !== undefined && !same) {
      this.adopt(afresh(this.state));
      this.session = new Session();
    }
    this.job = job = named(job);
    this.expected = job.inputs.reduce((sum, input) => sum + input.data.size, 0);
    this.say("reading…");
    this.info = undefined;
    clear(this.content, h("p", { class: "note" }, "reading…"));
    document.body.dataset["state"] = "reading";
    try {
      if (this.mounted === undefined || !sameFiles(this.mounted, job)) {
        this.mounted = job;
        await this.core.mount(allOf(job));
      }
      this.session.leftOut = (job.leftOut ?? []).map((input) => input.name);
      this.info = await this.core.json(["info", ...job.inputs.map((input) => input.name)]);
      for (const base of job.bases) {
        await this.core.json(["info", base.name]); // one that cannot be read is none
      }
      this.bases = job.bases.map((base) => base.name);
      this.inputs = readInputs(this.info);
      this.drawTitle();
      this.say("");
      await this.draw();
    } catch (error) {
      if (await this.explain(job)) {
        return;
      }
      const rest = await this.readable(job);
      if (rest !== undefined) {
        await this.open(rest, true);
        return;
      }
      if (before !== undefined) { // what was open stays so
        this.adopt(seen);
        await this.reopen(before, sentence(error));
        return;
      }
      this.say("");
      clear(this.content, h("p", { class: "error", role: "alert" }, sentence(error)));
      document.body.dataset["state"] = "failed";
    }
  }

  // What is no recording may be text with a failure's message, or digests of a job's ranks.
  private async explain(job: Job): Promise<boolean> {
    const names = job.inputs.map((input) => input.name);
    for (const command of job.bases.length > 0 ? [] : ["oom", "ranks"]) {
      try {
        const info = await this.core.json([command, ...names]);
        const { inputs, verdict, failed, rows } = info;
        // Rows of digests are of other files.
        if (command === "oom" ? verdict === "none" || failed === 0 || inputs.some((input) => input.format !== "oom-text")
          : rows.length === 0 || rows.some((row) => names.includes(String(row["path"])))) {
          continue;
        }
        this.info = info;
        this.inputs = readBy(command, names);
        this.bases = [];
        this.drawTitle();
        this.say("");
        await this.draw();
        return true;
      } catch {
        // what info said is said
      }
    }
    return false;
  }

  private async readable(job: Job): Promise<Job | undefined> {
    try {
      const { inputs } = await this.core.json(["info", "--keep-going", ...job.inputs.map((input) => input.name)]);
      const read = new Set(inputs.map((input) => input.path));
      const leftOut = job.inputs.filter((input) => !read.has(input.name));
      return read.size === 0 || leftOut.length === 0 ? undefined : { ...job, inputs: job.inputs.filter((input) => read.has(input.name)), leftOut };
    } catch {
      return undefined;
    }
  }

  private async reopen(before: Job, why: string): Promise<void> {
    this.mounted = before;
    await this.core.mount(allOf(before));
    this.job = before;
    this.info = await this.core.json(["info", ...before.inputs.map((input) => input.name)]);
    await this.draw();
    this.say(why);
  }

  private drawTitle(): void {
    clear(this.files, tray(this.job, {
      arrange: (what, name) => void this.arrange(what, name), add: () => this.adding.click(),
    }));
    clear(this.title, ...this.inputs.map((input) => h("span", { class: "input" }, input.name)),
      ...this.session.leftOut.map((name) => h("span", { class: "input base" }, `without ${name}, which cannot be read`)),
      ...this.bases.map((name) => h("span", { class: "input base" }, `against ${name} `,
        h("button", { type: "button", class: "link", title: "without a base", "aria-label": `no longer against ${name}`,
          click: () => void this.open({ ...this.job, bases: [] }, true) }, "×"))));
    document.title = this.ownTitle !== "" ? this.ownTitle : `${this.inputs[0]?.name ?? ""} · memtool`;
  }

  private gesture = { keys: "", at: 0 }; // notches of a wheel and held keys are one entry of the history

  private adopt(patch: Partial<State>): void {
    this.state = reduce(this.state, patch);
    const address = writeState(this.state);
    const keys = Object.keys(patch).join();
    const goesOn = kMoves.has(keys) && keys === this.gesture.keys && performance.now() - this.gesture.at < kGesture;
    this.gesture = { keys, at: performance.now() };
    // A name of a megabyte is in no link: browsers refuse such addresses.
    if (location.hash !== address && address.length < kMaxLinkLength) {
      history[goesOn ? "replaceState" : "pushState"](null, "", address);
    }
  }

  private change(patch: Partial<State>): void {
    const before = this.state;
    this.adopt(patch);
    this.follow(before);
  }

  // A view that stays as it is at another moment says so.
  private follow(before: State): void {
    look(this.state);
    const changed = (Object.keys(this.state) as (keyof State)[]).filter((key) => this.state[key] !== before[key]);
    const { context } = this;
    if (context?.onMoment !== undefined && this.isShown(context) && changed.length > 0 && changed.every((key) => key === "at" || key === "block")) {
      void this.update(context, context.onMoment);
    } else {
      void this.draw();
    }
  }

  private async refine(context: Context, patch: Partial<State>, work: () => Promise<void>): Promise<void> {
    if (context !== this.context || !this.isShown(context)) {
      return;
    }
    this.adopt(patch);
    await this.update(context, work);
  }

  private async update(context: Context, work: () => Promise<void>): Promise<void> {
    context.state = this.state;
    context.turn = ++this.drawing;
    context.lines.length = 0;
    document.body.dataset["state"] = "drawing";
    const begun = performance.now();
    // With the view, in one frame, unless that takes long: each frame takes time that the core could use.
    const filters = setTimeout(() => this.drawFilters(context), kFilterDelay);
    try {
      await work();
    } catch (error) {
      if (!(error instanceof Outdated)) {
        this.say(sentence(error));
      }
    }
    clearTimeout(filters);
    if (this.isShown(context)) {
      this.drawFilters(context);
    }
    this.done(context, begun);
  }

  private isShown(context: Context): boolean {
    return context.turn === this.drawing;
  }

  private done(context: Context, begun: number): void {
    if (this.isShown(context)) {
      this.drawLines(context.lines);
      this.svg.disabled = context.picture === undefined;
      document.body.dataset["state"] = "ready";
      document.body.dataset["drawn"] = String(Math.round(performance.now() - begun));
    }
  }

  private async draw(): Promise<void> {
    if (this.info === undefined) {
      return;
    }
    const turn = ++this.drawing;
    document.body.dataset["state"] = "drawing";
    const one = this.inputs.filter((input) => input.name === this.state.input);
    const context = new Context(this.core, this.state, one.length > 0 ? one : this.inputs, this.inputs, this.bases, this.info, this.session, {
      change: (patch) => this.change(patch),
      refine: (one, patch, work) => void this.refine(one, patch, work),
      shows: (one) => this.isShown(one),
      offers: (id) => views.some((view) => view.id === id),
    });
    context.turn = turn;
    const views: View[] = kViews.filter((view) => (context.first.only ?? view.id) === view.id && view.shows(context));
    const view = views.find((one) => one.id === this.state.view) ?? views[0]!;
    drawTabs(this.tabs, views, view, (id) => this.change({ view: id }));
    this.drawFilters(context);
    const begun = performance.now();
    this.context = context;
    const into = h("div", { class: `view ${view.id}` });
    // The old picture stays until the new one is there.
    const first = this.content.querySelector(".view") === null;
    try {
      await view.draw(context, first ? swap(this.content, into) : into);
    } catch (error) {
      if (error instanceof Outdated) {
        return;
      }
      clear(into, h("p", { class: "error", role: "alert" }, sentence(error)));
    }
    if (!this.isShown(context)) {
      return;
    }
    this.say("");
    if (into.parentElement !== this.content) {
      swap(this.content, into);
    }
    this.done(context, begun);
  }

  private drawFilters(context: Context): void {
    clear(this.chips, ...frameChips(this.state, (patch) => this.change(patch)));
    if (this.filters.contains(document.activeElement)) {
      return;
    }
    const filter = (key: keyof State, label: string, wide: number, hint: string): HTMLElement =>
      h("label", {}, `${label} `, field({ id: key, value: this.state[key], size: wide, placeholder: hint },
        (text) => this.change({ [key]: text })));
    const frames = h("select", { id: "frames", change: () => this.change({ frames: frames.value }) });
    for (const mode of ["", "python", "all"]) {
      frames.append(h("option", { value: mode, selected: mode === this.state.frames }, mode === "" ? "your code" : mode));
    }
    const input = h("select", { id: "input", change: () => this.change({ input: input.value }) });
    for (const name of ["", ...this.inputs.map((each) => each.name)]) {
      input.append(h("option", { value: name, selected: name === this.state.input }, name === "" ? `all ${this.inputs.length}` : name));
    }
    clear(this.filters, ...(context.first.only !== undefined ? [] : [
      this.inputs.length > 1 && h("label", {}, "input ", input),
      context.first.hasHistory && filter("at", "at", 16, "end, peak, event:N"),
      context.first.devices.length > 1 && filter("device", "device", 4, "all"),
      filter("focus", "only with", 16, "regular expression"),
      filter("ignore", "without", 16, "regular expression"),
      h("label", {}, "frames ", frames),
      frameField(() => this.state, (patch) => this.change(patch)), this.chips]));
  }

  private drawLines(lines: string[][]): void {
    clear(this.lines);
    const seen = new Set<string>();
    for (const words of lines) {
      const line = commandLine(words);
      if (!seen.has(line)) {
        seen.add(line);
        append(this.lines, [h("div", { class: "line" }, h("code", { tabindex: 0 }, line),
          h("button", { type: "button", title: "copy this line", click: () => void this.clip(line) }, "copy"))]);
      }
    }
  }

  private copy(): void {
    void this.clip(this.content.innerText);
  }

  // A page that came over plain http has no clipboard of its own.
  private async clip(text: string): Promise<void> {
    try {
      await navigator.clipboard.writeText(text);
      this.say("copied");
    } catch {
      const area = h("textarea", { class: "clip", "aria-hidden": "true" });
      area.value = text;
      document.body.append(area);
      area.select();
      this.say(document.execCommand("copy") ? "copied" : "this browser does not let pages copy: select and copy by hand");
      area.remove();
    }
  }

  // All rows as the core writes them, with its escaping.
  private async saveCsv(): Promise<void> {
    const lines = this.context?.lines ?? [];
    const line = lines.find(([command]) => kRowCommands.has(command ?? ""));
    if (line === undefined) {
      this.say("there is no table in this view");
      return;
    }
    const words = line.map((word, i) => (line[i - 1] === "-n" ? "0" : word));
    try {
      save(`${words[0]}.csv`, await this.core.text([...words, "--format", "csv"]), "text/csv");
    } catch (error) {
      this.say(sentence(error));
    }
  }

  // The title is the line that has the same figures.
  private saveSvg(): void {
    const picture = this.context?.picture?.();
    if (picture !== undefined) {
      save(`${this.state.view}.svg`, toSvg(picture, commandLine(this.context!.pictureWords ?? this.context!.lines[0] ?? [])), "image/svg+xml");
    }
  }

  private key(event: KeyboardEvent): void {
    const typing = event.target instanceof HTMLInputElement || event.target instanceof HTMLTextAreaElement ||
      event.target instanceof HTMLSelectElement;
    if (typing || event.ctrlKey || event.metaKey || event.altKey) {
      return;
    }
    const tab = /^\d$/.test(event.key) ? (Number(event.key) + 9) % 10 : -1;
    if (tab >= 0 && tab < this.tabs.children.length) {
      (this.tabs.children[tab] as HTMLElement).click();
    } else if (event.key === "?") {
      this.keys.hidden = !this.keys.hidden;
    } else if (this.context?.keys[event.key] !== undefined) {
      this.context.keys[event.key]!();
    } else if (event.key === "/") {
      (document.getElementById("search") ?? this.content.querySelector<HTMLElement>("input[type=search]") ?? document.getElementById("focus"))?.focus();
      event.preventDefault();
    }
  }
}

async function main(): Promise<void> {
  document.body.dataset["state"] = "starting";
  const source = await inflated(unarmoured(taken("memtool-worker")));
  const core = await Core.start(source, taken("memtool-core"));
  const page = new Page(core);
  document.body.dataset["state"] = "empty";
  await page.open(await carried());
}

main().catch((error: unknown) => {
  document.body.append(h("p", { class: "error", role: "alert" },
    `the page cannot start: ${sentence(error)}`));
  document.body.dataset["state"] = "failed";
});
