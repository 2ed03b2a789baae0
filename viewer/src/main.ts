// The page: opens what a report carries or what is dropped on it, and shows one view at a time.
import { toSvg } from "./charts/pen";
import type { Answer } from "./core/answers";
import { unarmoured } from "./core/armour";
import { Core } from "./core/core";
import { toCsv } from "./core/csv";
import { append, clear, field, h } from "./core/dom";
import { commandLine, size } from "./core/format";
import { readInputs, type InputFacts } from "./core/inputs";
import { inflated, taken } from "./core/packed";
import type { Mounted } from "./core/protocol";
import { readState, writeState, type State } from "./core/state";
import { sentence } from "./core/words";
import { Context, Outdated, type View } from "./ui/context";
import { save } from "./ui/save";
import { allocator } from "./views/allocator";
import { buckets } from "./views/buckets";
import { facts } from "./views/facts";
import { flame } from "./views/flame";
import { graph } from "./views/graph";
import { labels } from "./views/labels";
import { leaks } from "./views/leaks";
import { overview } from "./views/overview";
import { table } from "./views/table";
import { timeline } from "./views/timeline";

const kViews: View[] = [overview, timeline, flame, table, allocator, graph, buckets, leaks, labels, facts];

const kMaxLinkLength = 60_000;
const kKeys: [string, string][] = [
  ["1 … 9, 0", "the views"],
  ["/", "search, or the first filter"],
  ["Tab, Enter, arrows", "through tables and pictures"],
  ["+ − Page Up Page Down Home", "zoom, pan, all of the timeline"],
  ["← → (with Shift: every event)", "the moment, on the timeline"],
  ["[ ] { }", "the event before and after in the allocator; a hundred"],
  ["Escape, t", "all of the flame graph; the frame's row in the table"],
];

interface Job {
  inputs: Mounted[];
  bases: Mounted[];
}

function decodeData(element: Element): Uint8Array {
  const text = atob((element.textContent ?? "").trim());
  const bytes = new Uint8Array(text.length);
  for (let i = 0; i < text.length; ++i) {
    bytes[i] = text.charCodeAt(i);
  }
  return bytes;
}

async function carried(): Promise<Job> {
  const job: Job = { inputs: [], bases: [] };
  for (const element of document.querySelectorAll("script.memtool-data")) {
    const bytes = decodeData(element);
    const data = element.getAttribute("data-encoding") === "deflate-raw"
      ? await inflated(bytes) : new Blob([bytes as BlobPart]);
    const input = { name: element.getAttribute("data-name") ?? "input", data };
    (element.getAttribute("data-role") === "base" ? job.bases : job.inputs).push(input);
    element.remove();
  }
  return job;
}

class Page {
  private state = readState(location.hash);
  private inputs: InputFacts[] = [];
  private bases: string[] = [];
  private info: Answer | undefined;
  private drawing = 0;
  private readonly status = h("p", { class: "status", role: "status" });
  private readonly title = h("div", { class: "inputs" });
  private readonly tabs = h("nav", { "aria-label": "views" });
  private readonly filters = h("form", { class: "filters", submit: (event: Event) => event.preventDefault() });
  private readonly content = h("main", { id: "view", tabindex: -1 });
  private readonly lines = h("footer", { "aria-label": "the same in a terminal" });
  private readonly svg = h("button", { type: "button", id: "save-svg", click: () => this.saveSvg() }, "save SVG");
  private readonly progress = h("progress", { hidden: true, "aria-label": "read" });
  private readonly keys = h("dl", { class: "facts keys", hidden: true },
    ...kKeys.flatMap(([key, what]) => [h("dt", {}, key), h("dd", {}, what)]));
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
    open.addEventListener("change", () => void this.open({ inputs: mounted(open.files), bases: [] }));
    openBase.addEventListener("change", () => void this.addBase(mounted(openBase.files)));
    document.body.append(
      h("header", {},
        h("h1", {}, "memtool"), this.title, this.progress, this.status,
        h("button", { type: "button", id: "open", click: () => open.click() }, "open…"),
        h("button", { type: "button", id: "compare", title: "with a base: what grew since then; a file can be dropped here",
          click: () => openBase.click() }, "compare with…"),
        h("button", { type: "button", id: "copy", click: () => this.copy() }, "copy as text"),
        h("button", { type: "button", id: "save", click: () => this.saveCsv() }, "save CSV"),
        this.svg,
        h("button", { type: "button", id: "help", title: "keys (?)", click: () => (this.keys.hidden = !this.keys.hidden) }, "?"),
        open, openBase),
      h("div", { class: "body" }, this.tabs, h("div", { class: "pane" }, this.filters, this.keys, this.content, this.lines)));
    window.addEventListener("hashchange", () => {
      this.state = readState(location.hash);
      void this.draw();
    });
    window.addEventListener("keydown", (event) => this.key(event));
    document.body.addEventListener("dragover", (event) => event.preventDefault());
    document.body.addEventListener("drop", (event) => {
      event.preventDefault();
      const files = mounted(event.dataTransfer?.files ?? null);
      const onCompare = event.target instanceof Element && event.target.closest("#compare") !== null;
      void (onCompare && this.job.inputs.length > 0 ? this.addBase(files) : this.open({ inputs: files, bases: [] }));
    });
    this.welcome();
  }

  private job: Job = { inputs: [], bases: [] };

  private welcome(): void {
    clear(this.content, h("div", { class: "welcome" },
      h("p", {}, "Drop a file here, or open one: a device memory profile of JAX, a memory snapshot of PyTorch, a log of MXNet, a trace of XLA, a capture log."),
      h("p", { class: "note" }, "Nothing leaves this machine: the page is forbidden to use the network, and reads files in place.")));
  }

  private say(text: string): void {
    this.progress.hidden ||= text === "";
    clear(this.status, text);
  }

  async addBase(bases: Mounted[]): Promise<void> {
    await this.open({ inputs: this.job.inputs, bases });
  }

  async open(job: Job): Promise<void> {
    if (job.inputs.length === 0) {
      return;
    }
    this.job = job = named(job);
    this.expected = job.inputs.reduce((sum, input) => sum + input.data.size, 0);
    this.say("reading…");
    this.info = undefined;
    clear(this.content, h("p", { class: "note" }, "reading…"));
    document.body.dataset["state"] = "reading";
    try {
      await this.core.mount([...job.inputs, ...job.bases]);
      this.info = await this.core.json(["info", ...job.inputs.map((input) => input.name)]);
      this.bases = job.bases.map((base) => base.name);
      this.inputs = readInputs(this.info);
      clear(this.title, ...this.inputs.map((input) => h("span", { class: "input" }, input.name)),
        ...this.bases.map((name) => h("span", { class: "input base" }, `against ${name}`)));
      document.title = `${this.inputs[0]?.name ?? ""} · memtool`;
      this.say("");
      await this.draw();
    } catch (error) {
      this.say("");
      clear(this.content, h("p", { class: "error", role: "alert" }, sentence(error)));
      document.body.dataset["state"] = "failed";
    }
  }

  private adopt(patch: Partial<State>): void {
    this.state = { ...this.state, ...patch };
    const address = writeState(this.state);
    // A name of a megabyte is in no link: browsers refuse such addresses.
    if (location.hash !== address && address.length < kMaxLinkLength) {
      history.pushState(null, "", address);
    }
  }

  private change(patch: Partial<State>): void {
    this.adopt(patch);
    void this.draw();
  }

  private async refine(context: Context, patch: Partial<State>, work: () => Promise<void>): Promise<void> {
    if (context !== this.context || !this.isShown(context)) {
      return;
    }
    this.adopt(patch);
    context.state = this.state;
    context.turn = ++this.drawing;
    context.lines.length = 0;
    document.body.dataset["state"] = "drawing";
    const begun = performance.now();
    this.drawFilters(context);
    try {
      await work();
    } catch (error) {
      if (!(error instanceof Outdated)) {
        this.say(sentence(error));
      }
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
    const context = new Context(this.core, this.state, this.inputs, this.bases, this.info, {
      change: (patch) => this.change(patch),
      refine: (one, patch, work) => void this.refine(one, patch, work),
      shows: (one) => this.isShown(one),
    });
    context.turn = turn;
    const views = kViews.filter((view) => view.shows(context));
    const view = views.find((one) => one.id === this.state.view) ?? views[0]!;
    this.drawTabs(views, view);
    this.drawFilters(context);
    const begun = performance.now();
    this.context = context;
    const into = h("div", { class: `view ${view.id}` });
    // The old picture stays until the new one is there.
    const first = this.content.querySelector(".view") === null;
    try {
      await view.draw(context, first ? this.show(into) : into);
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
      this.show(into);
    }
    this.done(context, begun);
  }

  private drawTabs(views: View[], shown: View): void {
    if (this.tabs.children.length !== views.length || views.some((view, i) => this.tabs.children[i]!.id !== `view-${view.id}`)) {
      clear(this.tabs, ...views.map((view, i) =>
        h("button", { type: "button", id: `view-${view.id}`, title: `${view.title} (${(i + 1) % 10})`,
          click: () => this.change({ view: view.id }) }, view.title)));
    }
    views.forEach((view, i) => this.tabs.children[i]!.setAttribute("aria-current", view === shown ? "page" : "false"));
  }

  // A keyboard stays where it was: on the element of the same name, or the same picture.
  private show(into: HTMLElement): HTMLElement {
    const active = document.activeElement;
    const inside = active !== null && this.content.contains(active) && active !== this.content;
    const path = !inside ? "" : active.id !== "" ? `#${CSS.escape(active.id)}`
      : active instanceof HTMLCanvasElement ? `canvas.${active.className}` : "";
    this.content.replaceChildren(into);
    const same = path === "" ? null : into.querySelector<HTMLElement>(path);
    (same ?? (inside ? this.content : null))?.focus({ preventScroll: true });
    return into;
  }

  private drawFilters(context: Context): void {
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
    clear(this.filters,
      context.first.hasHistory && filter("at", "at", 14, "end, peak, event:N"),
      context.first.devices.length > 1 && filter("device", "device", 4, "all"),
      filter("focus", "only with", 16, "regular expression"),
      filter("ignore", "without", 16, "regular expression"),
      h("label", {}, "frames ", frames));
  }

  private drawLines(lines: string[][]): void {
    clear(this.lines);
    const seen = new Set<string>();
    for (const words of lines) {
      const line = commandLine(words);
      if (!seen.has(line)) {
        seen.add(line);
        append(this.lines, [h("div", { class: "line" }, h("code", {}, line),
          h("button", { type: "button", title: "copy this line", click: () => void navigator.clipboard.writeText(line) }, "copy"))]);
      }
    }
  }

  private copy(): void {
    void navigator.clipboard.writeText(this.content.innerText);
  }

  private saveCsv(): void {
    const rows = [...this.content.querySelectorAll("table tr")].map((row) =>
      [...row.children].map((cell) => cell.textContent ?? ""));
    save(`${this.state.view}.csv`, toCsv(rows), "text/csv");
  }

  // The title is the line that has the same figures.
  private saveSvg(): void {
    const picture = this.context?.picture?.();
    if (picture !== undefined) {
      save(`${this.state.view}.svg`, toSvg(picture, commandLine(this.context!.lines[0] ?? [])), "image/svg+xml");
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
      (document.getElementById("search") ?? document.getElementById("focus"))?.focus();
      event.preventDefault();
    }
  }
}

// Of two inputs of one name the second is in a folder, 2; a name is never taken for an option.
function named(job: Job): Job {
  const taken = new Set<string>();
  const give = (input: Mounted): Mounted => {
    const bare = input.name.replace(/^(?:\d+\/)?/, "").replace(/^-/, "./-");
    let name = bare;
    for (let folder = 2; taken.has(name); ++folder) {
      name = `${folder}/${bare}`;
    }
    taken.add(name);
    return { name, data: input.data };
  };
  return { inputs: job.inputs.map(give), bases: job.bases.map(give) };
}

function mounted(files: FileList | null): Mounted[] {
  return [...(files ?? [])].map((file) => ({ name: file.name, data: file }));
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
