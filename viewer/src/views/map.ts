// The map of memory on the page: zoomed and moved by wheel, drag and keys, at once; a block is chosen
// by a click or Enter. What was looked at stays in place while the moment moves.
import { gapOfLook, holderOf, Looks, type Key } from "../charts/looks";
import { drawMap, drawSwatch, frame, kGapColors, kGapNames, type Drawn } from "../charts/map";
import { isDark, theme, toShade, type Theme } from "../charts/palette";
import { paint, type Picture } from "../charts/pen";
import { byteAt, clamped, heightOf, moved, Pieces, viewOf, wholeView, withInSight, zoomed, type View } from "../charts/pieces";
import { addressAt, addressOf, blockAt, blockBefore, blockOf, byteOf, kGaps, kPending, largestGap, marksOf, readAddress, type Gap, type Space } from "../charts/space";
import { asText } from "../core/answers";
import { clear, h } from "../core/dom";
import { count, counted, size, visible } from "../core/format";
import { readZoom, writeZoom } from "../core/state";
import type { Context, Session } from "../ui/context";
import { Rest } from "../ui/rest";

const kOverview = 10; // height of the strip that shows which part is in sight
const kDragged = 4; // pixels; less is a click

interface Kept {
  looks: Looks;
  picked: string; // the block that was last chosen on the map itself, or gone to
  gone: string; // what is in sight since then, as in a link
}
interface Entry {
  element: HTMLElement;
  size: HTMLElement;
  look: number; // at this moment
}
const kept = new WeakMap<Session, Kept>();

export function keptOf(session: Session): Kept {
  let own = kept.get(session);
  if (own === undefined) {
    own = { looks: new Looks(), picked: "", gone: "" };
    kept.set(session, own);
  }
  return own;
}

// What is to be said of a block, in a line.
export function blockText(space: Space, key: Key, block: number): string {
  const look = key.of[block]!;
  const bytes = space.size[block]!;
  const segment = space.segments[space.segment[block]!]!;
  const where = `in ${size(segment.size)} at ${asText(segment.row["address"])}${segment.envelope === "" ? "" : `, ${segment.envelope}`}`;
  if (look < 0) {
    return `${addressOf(space, block)} · ${size(bytes)} ${kGapNames[gapOfLook(look)]} · ${where}`;
  }
  const rounding = space.requested[block]! > 0 ? bytes - space.requested[block]! : 0;
  const event = space.event[block]!;
  return [addressOf(space, block), `${size(bytes)}${rounding > 0 ? `, ${size(rounding)} of it rounding` : ""}`, holderOf(space, block),
    space.state[block] === kPending && "freed, waits for a stream", event < 0 ? "from before the recording" : `since event ${count(event)}`, where]
    .filter((part) => part !== false && part !== "").join(" · ");
}

export class MemoryMap {
  readonly element: HTMLElement;
  readonly legend = h("div", { class: "legend", role: "group", "aria-label": "what colours stand for" });
  private readonly canvas = h("canvas", { class: "map", tabindex: 0, role: "img",
    "aria-label": "memory by address; arrows move from block to block, Enter opens one, plus and minus zoom, Page Up and Page Down move, Escape shows all" });
  private readonly over = h("canvas", { class: "over", "aria-hidden": "true" });
  private readonly strip = h("canvas", { class: "minimap", "aria-hidden": "true" });
  private readonly notes = h("p", { class: "note" });
  private entries = new Map<string, Entry>(); // of the legend
  private readonly says = h("p", { class: "says", "aria-live": "polite" });
  private readonly pieces = new Pieces();
  private space: Space | undefined;
  private key: Key = { looks: [], of: new Int16Array(0) };
  private view: View | undefined;
  private chosen = -1; // blocks
  private at = -1; // the keyboard's
  private hovered = -1;
  private lit: number | undefined;
  private wanted = ""; // an address that is to be shown as soon as the width is known
  private frames = 0;
  private width = 0;
  onPlace: (() => void) | undefined; // the scale may be another
  private readonly kept: Kept;

  private zoomText: string; // what is in sight; empty: all
  private readonly rest: Rest;

  constructor(context: Context, private readonly choose: (address: string) => void) {
    this.kept = keptOf(context.session);
    this.rest = new Rest(context);
    this.zoomText = context.state.zoom;
    this.element = h("div", { class: "memory" }, this.says, h("div", { class: "layers" }, this.canvas, this.over), this.strip);
    this.listen();
    // To ask for the width after each change would lay out the page once more.
    new ResizeObserver((seen) => {
      this.width = Math.floor(seen.at(-1)!.contentRect.width);
      this.resize();
    }).observe(this.element);
  }

  // `block`: the address that is looked at. One that was not chosen here is gone to.
  show(space: Space, key: Key, block: string): void {
    const there = this.at < 0 || this.space === undefined ? undefined : BigInt(addressOf(this.space, this.at));
    this.space = space;
    this.key = key;
    const address = readAddress(block);
    this.chosen = address === undefined ? -1 : blockOf(space, address);
    this.at = there === undefined ? this.chosen : blockOf(space, there);
    this.hovered = -1;
    this.view = undefined;
    this.wanted = this.chosen >= 0 && this.zoomText === "" && block !== this.kept.picked ? block : "";
    if (block !== this.kept.picked) {
      this.kept.gone = "";
    }
    this.zoomText ||= this.kept.gone;
    this.kept.picked = block;
    this.fillLegend();
    this.say();
    this.resize();
  }

  private resize(): void {
    const { width } = this;
    if (width === 0 || this.space === undefined) {
      return;
    }
    const lines = width < 560 ? 16 : 12;
    const zoom = readZoom(this.zoomText);
    const from = zoom && readAddress(zoom.place);
    const whole = wholeView(this.space, width, lines);
    this.view = from === undefined ? whole : clamped(this.space, { ...whole, scale: zoom!.scale, origin: byteOf(this.space, from) });
    if (this.wanted !== "") {
      this.wanted = "";
      this.put(viewOf(this.space, this.view, this.chosen));
      this.kept.gone = this.zoomText;
    }
    this.draw();
  }

  private put(view: View): void {
    const space = this.space!;
    this.view = view;
    this.zoomText = view.scale >= wholeView(space, view.width, view.lines).scale ? "" : writeZoom(view.scale, `0x${addressAt(space, view.origin).toString(16)}`);
    this.draw();
  }
  private place(view: View): void {
    this.put(view);
    this.kept.gone = "";
    this.rest.later(this.zoomText);
  }

  private drawn(view: View): Drawn {
    return { space: this.space!, key: this.key, view, pieces: this.pieces, lit: this.lit };
  }

  private draw(): void {
    if (this.frames === 0) {
      this.frames = requestAnimationFrame(() => {
        this.frames = 0;
        const { view } = this;
        if (view !== undefined && this.space !== undefined) {
          const begun = performance.now();
          paint(this.canvas, { width: view.width, height: heightOf(view.lines), draw: (pen, dark) => drawMap(pen, dark, this.drawn(view)) }, isDark());
          paint(this.strip, this.overview(view), isDark());
          this.drawMarks();
          this.onPlace?.();
          this.canvas.dataset["ms"] = (performance.now() - begun).toFixed(1);
        }
      });
    }
  }

  // What moves with the pointer lies above the picture, which is not drawn again for it.
  private drawMarks(): void {
    const { view, space } = this;
    if (view === undefined || space === undefined) {
      return;
    }
    const marks: [number, keyof Theme, number][] = [[this.hovered, "soft", 1],
      [document.activeElement === this.canvas ? this.at : -1, "accent", 2], [this.chosen, "ink", 2.5]];
    const boxes = marks.filter(([block]) => block >= 0).map(([block, color, width]) => {
      const begin = space.begin[block]!;
      return { begin, end: begin + space.size[block]!, color, width };
    });
    paint(this.over, { width: view.width, height: heightOf(view.lines), same: JSON.stringify([view, boxes]), draw: (pen, dark) => {
      for (const { begin, end, color, width } of boxes) {
        frame(pen, view, begin, end, theme(dark)[color], width);
      }
    } }, isDark());
  }

  private overview(view: View): Picture {
    const each = Math.max(1, this.space!.total) / view.width;
    const x = view.origin / each;
    const wide = Math.max(4, Math.min(view.width, (view.width * view.scale * view.lines) / each));
    return { width: view.width, height: kOverview, same: `${x} ${wide}`, draw: (pen, dark) => {
      pen.rect(0, 3, view.width, 4, theme(dark).line);
      pen.rect(x, 1, wide, 8, theme(dark).accent);
    } };
  }

  // As it is shown, for paper.
  picture(): Picture {
    const view = this.view ?? wholeView(this.space!, 1000, 12);
    const { looks } = this.key;
    const gaps = this.gaps();
    const high = heightOf(view.lines) + 12;
    const entries = looks.length + gaps.length;
    return { width: view.width, height: high + 18 * Math.ceil(entries / 2), draw: (pen, dark) => {
      drawMap(pen, dark, this.drawn(view));
      for (let i = 0; i < entries; ++i) {
        const [x, y] = [(i % 2) * view.width / 2, high + Math.floor(i / 2) * 18];
        const look = looks[i];
        drawSwatch(pen, dark, look ?? gaps[i - looks.length]!, x, y - 5);
        pen.text(x + 16, y, look === undefined ? kGapNames[gaps[i - looks.length]!] : `${look.name}  ${size(look.bytes)}`,
          { color: theme(dark).ink, room: view.width / 2 - 30 });
      }
    } };
  }
  private gaps(): Gap[] {
    const seen = new Set(this.key.of.filter((look) => look < 0));
    return kGaps.filter((_, i) => seen.has(-1 - i));
  }

  // What stays as it is between two moments is not made anew.
  private fillLegend(): void {
    const kept = new Map<string, Entry>();
    const entry = (look: number, color: string, mark: string, name: string, whole: string, bytes?: number): HTMLElement => {
      let key = [color, mark, name, whole].join("\0");
      while (kept.has(key)) { // two may be called the same
        key += "\0";
      }
      const one = this.entries.get(key) ?? this.makeEntry(color, mark, name, whole);
      one.look = look;
      if (bytes !== undefined && one.size.dataset["bytes"] !== String(bytes)) {
        one.size.dataset["bytes"] = String(bytes);
        clear(one.size, size(bytes));
      }
      kept.set(key, one);
      return one.element;
    };
    const shown = [...this.key.looks.flatMap((look, i) => look.bytes > 0
      ? [entry(i, toShade(look.color, isDark()), look.banded ? "banded" : "", look.name, look.whole || look.name, look.bytes)] : []),
    ...this.gaps().map((gap) => entry(-1 - kGaps.indexOf(gap), kGapColors[gap], `gap ${gap}`, kGapNames[gap], kGapNames[gap]))];
    this.entries = kept;
    // What stays where it was is not laid out again, and keeps the keyboard.
    const all = [...shown, this.notes];
    const wanted = new Set<Element>(all);
    [...this.legend.children].forEach((one) => wanted.has(one) || one.remove());
    all.forEach((one, i) => this.legend.children[i] !== one && this.legend.insertBefore(one, this.legend.children[i] ?? null));
    const marks = new Set(this.space!.segments.flatMap(({ row }) => marksOf(row)));
    const notes = [this.space!.state.includes(kPending) && "fine lines: freed, but a stream may still use it", "a lighter end: rounding",
      marks.has("pinned") && "a line above: pinned, little that lives keeps much that is free",
      marks.has("expandable") && "a broken line above: one segment that grows (expandable)",
      marks.has("estimated") && "estimated: taken or given back while nothing was recorded"];
    const text = notes.filter((note) => note !== false).join(" · ");
    if (this.notes.textContent !== text) {
      clear(this.notes, text);
    }
  }
  private makeEntry(color: string, mark: string, name: string, whole: string): Entry {
    const swatch = h("span", { class: `swatch ${mark}` });
    swatch.style.setProperty("--look", color);
    const bytes = h("span", { class: "size" });
    const light = (): void => this.light(one.look);
    const dim = (): void => this.light(undefined);
    const one: Entry = { look: 0, size: bytes, element: h("button", { type: "button", title: visible(whole.slice(0, 2000)),
      mouseenter: light, mouseleave: dim, focus: light, blur: dim, click: () => this.goToFirst(one.look) },
    swatch, h("span", { class: "name" }, name), bytes) };
    return one;
  }
  private light(look: number | undefined): void {
    this.lit = look;
    this.draw();
  }
  private goToFirst(look: number): void {
    const from = this.at < 0 ? -1 : this.at;
    const next = this.key.of.indexOf(look, from + 1);
    this.go(next >= 0 ? next : this.key.of.indexOf(look));
  }

  private say(): void {
    const { space } = this;
    const block = this.hovered >= 0 ? this.hovered : this.at >= 0 ? this.at : this.chosen;
    const text = space === undefined ? "" : block >= 0 ? blockText(space, this.key, block)
      : `${counted(space.begin.length, "block")} in ${counted(space.segments.length, "segment")} · wheel with Ctrl zooms, a drag moves`;
    clear(this.says, text);
    this.says.title = visible(text.slice(0, 2000));
  }

  private go(block: number): void {
    if (block < 0 || this.view === undefined || this.space === undefined) {
      return;
    }
    this.at = block;
    this.hovered = -1;
    this.say();
    const view = withInSight(this.space, this.view, block);
    if (view === this.view) {
      this.drawMarks();
    } else {
      this.place(view);
    }
  }

  private pick(block: number): void {
    if (block >= 0) {
      const address = addressOf(this.space!, block);
      this.at = block;
      this.kept.picked = address;
      this.rest.now();
      this.choose(block === this.chosen ? "" : address);
    }
  }

  // About the keyboard's block, or the middle.
  zoom(factor: number): void {
    const { view, space } = this;
    if (view !== undefined && space !== undefined) {
      const block = this.at >= 0 ? this.at : this.chosen;
      const offset = block < 0 ? -1 : (space.begin[block]! + space.size[block]! / 2 - view.origin) / view.scale;
      const line = Math.floor(offset / view.width);
      this.place(block >= 0 && line >= 0 && line < view.lines
        ? zoomed(space, view, factor, offset - line * view.width, (line + 0.5) * heightOf(view.lines) / view.lines)
        : zoomed(space, view, factor, view.width / 2, heightOf(view.lines) / 2));
    }
  }
  all(): void {
    if (this.view !== undefined && this.space !== undefined) {
      this.place(wholeView(this.space, this.view.width, this.view.lines));
    }
  }
  toGap(): void {
    const block = this.space === undefined ? -1 : largestGap(this.space);
    if (block >= 0 && this.view !== undefined) {
      this.at = block;
      this.say();
      this.place(viewOf(this.space!, this.view, block));
    }
  }

  private listen(): void {
    const { canvas } = this;
    let pressed: { x: number; y: number; view: View } | undefined;
    let dragged = false;
    const under = (event: MouseEvent): number =>
      this.space === undefined || this.view === undefined ? -1 : blockAt(this.space, byteAt(this.view, event.offsetX, event.offsetY));
    canvas.addEventListener("pointerdown", (event) => {
      if (this.view !== undefined && event.button === 0) {
        canvas.setPointerCapture(event.pointerId);
        pressed = { x: event.offsetX, y: event.offsetY, view: this.view };
        dragged = false;
      }
    });
    canvas.addEventListener("pointermove", (event) => {
      if (pressed !== undefined && this.space !== undefined) {
        const [x, y] = [pressed.x - event.offsetX, pressed.y - event.offsetY];
        dragged ||= Math.abs(x) > kDragged || Math.abs(y) > kDragged;
        if (dragged) {
          this.place(moved(this.space, pressed.view, x, y / (heightOf(pressed.view.lines) / pressed.view.lines)));
        }
        return;
      }
      const block = under(event);
      if (block !== this.hovered) {
        this.hovered = block;
        this.say();
        this.drawMarks();
      }
    });
    canvas.addEventListener("pointerup", () => (pressed = undefined));
    // The second click of two is no choice of its own.
    canvas.addEventListener("click", (event) => !dragged && event.detail < 2 && this.pick(under(event)));
    canvas.addEventListener("pointercancel", () => (pressed = undefined));
    canvas.addEventListener("pointerleave", () => {
      this.hovered = -1;
      this.say();
      this.drawMarks();
    });
    canvas.addEventListener("dblclick", (event) => this.view !== undefined && this.space !== undefined &&
      this.place(zoomed(this.space, this.view, 1 / 6, event.offsetX, event.offsetY)));
    canvas.addEventListener("focus", () => this.drawMarks());
    canvas.addEventListener("blur", () => this.drawMarks());
    canvas.addEventListener("keydown", (event) => this.pressedKey(event));
    canvas.addEventListener("wheel", (event) => this.wheel(event), { passive: false });
    const drag = (event: PointerEvent): void => {
      if (this.view !== undefined && this.space !== undefined) {
        const middle = (event.offsetX / this.view.width) * this.space.total;
        this.place(clamped(this.space, { ...this.view, origin: middle - (this.view.width * this.view.scale * this.view.lines) / 2 }));
      }
    };
    this.strip.addEventListener("pointerdown", (event) => (this.strip.setPointerCapture(event.pointerId), drag(event)));
    this.strip.addEventListener("pointermove", (event) => event.buttons === 1 && drag(event));
  }

  private wheel(event: WheelEvent): void {
    const sideways = Math.abs(event.deltaX) > Math.abs(event.deltaY) || event.shiftKey;
    if (this.view === undefined || this.space === undefined ||
      (!sideways && !event.ctrlKey && !event.metaKey && document.activeElement !== this.canvas)) {
      return; // the page scrolls
    }
    event.preventDefault();
    this.place(sideways ? moved(this.space, this.view, event.deltaX || event.deltaY, 0)
      : zoomed(this.space, this.view, event.deltaY > 0 ? 1.25 : 0.8, event.offsetX, event.offsetY));
  }

  private pressedKey(event: KeyboardEvent): void {
    const { space, view } = this;
    if (space === undefined || view === undefined || event.ctrlKey || event.metaKey || event.altKey) {
      return;
    }
    const last = space.begin.length - 1;
    const here = this.at >= 0 ? this.at : this.chosen >= 0 ? this.chosen : Math.max(0, blockBefore(space, view.origin));
    const started = this.at >= 0;
    // Past the block itself, which may be longer than a line.
    const line = (by: number): void => {
      const [begin, end] = [space.begin[here]!, space.begin[here]! + space.size[here]!];
      const to = (begin + end) / 2 + by * view.width * view.scale;
      this.go(blockBefore(space, Math.max(0, Math.min(space.total - 1, by > 0 ? Math.max(end, to) : Math.min(begin - 1, to)))));
    };
    const steps: Record<string, () => void> = {
      ArrowRight: () => this.go(started ? Math.min(last, here + 1) : here), ArrowLeft: () => this.go(started ? Math.max(0, here - 1) : here),
      ArrowDown: () => line(1), ArrowUp: () => line(-1), Home: () => this.go(0), End: () => this.go(last),
      Enter: () => this.pick(here), "+": () => this.zoom(0.5), "=": () => this.zoom(0.5), "-": () => this.zoom(2),
      PageDown: () => this.place(moved(space, view, 0, view.lines / 2)), PageUp: () => this.place(moved(space, view, 0, -view.lines / 2)),
      Escape: () => this.all(),
    };
    if (steps[event.key] !== undefined && last >= 0) {
      steps[event.key]!();
      event.preventDefault();
    }
  }

  // The block that is looked at, if it is one of this moment; -1.
  get chosenBlock(): number {
    return this.chosen;
  }
  get scale(): number {
    return this.view?.scale ?? 1;
  }
}
