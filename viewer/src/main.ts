// The page: opens what a report carries or what is dropped on it, and shows one view at a time.
import { asNumber, asText, type Answer } from "./answers";
import { Context, type InputFacts, type View } from "./context";
import { Core } from "./core";
import { unarmoured } from "./armour";
import { inflated, taken } from "./packed";
import { append, clear, field, h } from "./dom";
import { commandLine, count, size } from "./format";
import type { Mounted } from "./protocol";
import { save } from "./save";
import { readState, writeState, type State } from "./state";
import { allocator } from "./views/allocator";
import { buckets } from "./views/buckets";
import { facts } from "./views/facts";
import { flame } from "./views/flame";
import { graph } from "./views/graph";
import { overview } from "./views/overview";
import { table } from "./views/table";
import { timeline } from "./views/timeline";

const kViews: View[] = [overview, timeline, flame, table, allocator, graph, buckets, facts];

interface Job {
  inputs: Mounted[];
  bases: Mounted[];
}

function bytesOf(element: Element): Uint8Array {
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
    const bytes = bytesOf(element);
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
  private expected = 0;

  constructor(private readonly core: Core) {
    core.onProgress = (bytes) => {
      // Small inputs are there before one has read that.
      this.say(this.expected < 16 << 20 ? "" : `reading… ${size(bytes)}${this.expected > 0 ? ` of ${size(this.expected)}` : ""}`);
    };
    const open = h("input", { type: "file", multiple: true, id: "file", hidden: true });
    const openBase = h("input", { type: "file", id: "base-file", hidden: true });
    open.addEventListener("change", () => void this.open({ inputs: mounted(open.files), bases: [] }));
    openBase.addEventListener("change", () => void this.addBase(mounted(openBase.files)));
    document.body.append(
      h("header", {},
        h("h1", {}, "memtool"), this.title, this.status,
        h("button", { type: "button", id: "open", click: () => open.click() }, "open…"),
        h("button", { type: "button", id: "compare", click: () => openBase.click() }, "compare with…"),
        h("button", { type: "button", id: "copy", click: () => this.copy() }, "copy as text"),
        h("button", { type: "button", id: "save", click: () => this.saveCsv() }, "save CSV"), open, openBase),
      h("div", { class: "body" }, this.tabs, h("div", { class: "pane" }, this.filters, this.content, this.lines)));
    window.addEventListener("hashchange", () => {
      this.state = readState(location.hash);
      void this.draw();
    });
    window.addEventListener("keydown", (event) => this.key(event));
    document.body.addEventListener("dragover", (event) => event.preventDefault());
    document.body.addEventListener("drop", (event) => {
      event.preventDefault();
      void this.open({ inputs: mounted(event.dataTransfer?.files ?? null), bases: [] });
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
    clear(this.status, text);
  }

  async addBase(bases: Mounted[]): Promise<void> {
    await this.open({ inputs: this.job.inputs, bases });
  }

  async open(job: Job): Promise<void> {
    if (job.inputs.length === 0) {
      return;
    }
    this.job = job;
    this.expected = job.inputs.reduce((sum, input) => sum + input.data.size, 0);
    this.say("reading…");
    clear(this.content);
    document.body.dataset["state"] = "reading";
    try {
      await this.core.mount([...job.inputs, ...job.bases]);
      const names = [...new Set(job.inputs.map((input) => input.name))];
      this.info = await this.core.json(["info", ...names]);
      this.bases = job.bases.map((base) => base.name);
      this.inputs = this.info.inputs.map((note): InputFacts => {
        const devices = (note["devices"] as Record<string, unknown>[] | undefined) ?? [];
        return {
          name: note.path,
          format: note.format,
          hasHistory: devices.some((device) => asNumber(device["events"]) > 0),
          hasSegments: note.format.startsWith("torch_snapshot") || note.format.startsWith("hlo"),
          hasRows: true,
          devices: devices.map((device) => ({
            device: asNumber(device["device"]),
            events: asNumber(device["events"]),
            peakEvent: asNumber(device["peak_event"]),
            oomEvents: ((device["oom_events"] as number[] | undefined) ?? []).map(asNumber),
          })),
        };
      });
      clear(this.title, ...this.inputs.map((input) => h("span", { class: "input" }, input.name)),
        ...this.bases.map((name) => h("span", { class: "input base" }, `against ${name}`)));
      document.title = `${this.inputs[0]?.name ?? ""} · memtool`;
      this.say("");
      await this.draw();
    } catch (error) {
      this.say("");
      clear(this.content, h("p", { class: "error", role: "alert" }, error instanceof Error ? error.message : String(error)));
      document.body.dataset["state"] = "failed";
    }
  }

  private change(patch: Partial<State>): void {
    this.state = { ...this.state, ...patch };
    const address = writeState(this.state);
    if (location.hash !== address) {
      history.pushState(null, "", address);
    }
    void this.draw();
  }

  private async draw(): Promise<void> {
    if (this.info === undefined) {
      return;
    }
    const turn = ++this.drawing;
    document.body.dataset["state"] = "drawing";
    const context = new Context(this.core, this.state, this.inputs, this.bases, this.info, (patch) => this.change(patch));
    const views = kViews.filter((view) => view.shows(context));
    const view = views.find((one) => one.id === this.state.view) ?? views[0]!;
    clear(this.tabs, ...views.map((one, i) =>
      h("button", { type: "button", id: `view-${one.id}`, title: `${one.title} (${i + 1})`,
        "aria-current": one === view ? "page" : "false",
        click: () => this.change({ view: one.id }) }, one.title)));
    this.drawFilters(context);
    const begun = performance.now();
    const into = h("div", { class: `view ${view.id}` });
    // The old picture stays until the new one is there.
    try {
      await view.draw(context, turn === 1 || this.content.firstElementChild === null ? this.show(into) : into);
    } catch (error) {
      clear(into, h("p", { class: "error", role: "alert" }, error instanceof Error ? error.message : String(error)));
    }
    if (turn !== this.drawing) {
      return;
    }
    this.say("");
    if (into.parentElement !== this.content) {
      this.show(into);
    }
    this.drawLines(context.lines);
    document.body.dataset["state"] = "ready";
    document.body.dataset["drawn"] = String(Math.round(performance.now() - begun));
  }

  private show(into: HTMLElement): HTMLElement {
    this.content.replaceChildren(into);
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
      [...row.children].map((cell) => `"${(cell.textContent ?? "").replace(/"/g, '""')}"`).join(","));
    save(`${this.state.view}.csv`, `${rows.join("\r\n")}\r\n`, "text/csv");
  }

  private key(event: KeyboardEvent): void {
    const typing = event.target instanceof HTMLInputElement || event.target instanceof HTMLTextAreaElement ||
      event.target instanceof HTMLSelectElement;
    if (typing || event.ctrlKey || event.metaKey || event.altKey) {
      return;
    }
    const tab = Number(event.key);
    if (tab >= 1 && tab <= this.tabs.children.length) {
      (this.tabs.children[tab - 1] as HTMLElement).click();
    } else if (event.key === "/") {
      (document.getElementById("search") ?? document.getElementById("focus"))?.focus();
      event.preventDefault();
    }
  }
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
    `the page cannot start: ${error instanceof Error ? error.message : String(error)}`));
  document.body.dataset["state"] = "failed";
});

export { asText, count };
