// A flame graph on the screen: what is in sight of one that may be thousands of frames deep, the pointer and the keyboard.
import { FlameShape, kRow, type Look } from "../charts/flame";
import { isDark } from "../charts/palette";
import { paint, type Pen } from "../charts/pen";
import type { Node } from "../charts/tree";
import { h } from "../core/dom";

export interface FlameActions {
  point: (row: number) => void; // under the pointer
  move: (row: number) => void; // by the keyboard
  choose: (row: number) => void;
  open: (row: number) => void; // its row in the table
  leave: () => void; // all of it
}

export interface FlameOptions {
  nodes: Node[];
  upwards: boolean;
  from?: number; // the first depth that is drawn
  name: string;
  look: (dark: boolean) => Look;
  zoomed?: number;
}

export class FlamePlot {
  readonly shape: FlameShape;
  readonly element: HTMLElement;
  private readonly canvas: HTMLCanvasElement;
  private at = 0;
  private frame = 0;
  private placed = false; // scrolled to where it begins

  constructor(private readonly options: FlameOptions, private readonly act: FlameActions) {
    this.shape = new FlameShape(options.nodes, options.upwards, options.from);
    this.canvas = h("canvas", { class: "flame", tabindex: 0, role: "img",
      "aria-label": `${options.name}; arrow keys move, Enter zooms, Escape zooms out, t opens the table` });
    const inner = h("div", { class: "deep" }, this.canvas);
    inner.style.height = `${this.shape.height}px`;
    this.element = h("div", { class: "flames" }, inner);
    this.canvas.addEventListener("mousemove", (event) => this.point(event));
    this.canvas.addEventListener("mouseleave", () => this.mark(this.at));
    this.canvas.addEventListener("click", (event) => this.choose(this.under(event)));
    this.canvas.addEventListener("dblclick", (event) => {
      const row = this.under(event);
      if (row > 0) {
        act.open(row);
      }
    });
    this.canvas.addEventListener("keydown", (event) => this.key(event));
    this.element.addEventListener("scroll", () => this.draw(), { passive: true });
    new ResizeObserver(() => this.draw()).observe(this.element);
    this.zoom(options.zoomed ?? 0);
  }

  private marked = 0;
  private mark(row: number): void {
    if (row !== this.marked) {
      this.marked = row;
      this.draw();
    }
  }
  get chosen(): number {
    return this.at;
  }

  zoom(row: number): void {
    this.shape.zoom(row);
    this.at = this.marked = row;
    this.reveal(row);
    this.draw();
  }

  private reveal(row: number): void {
    const y = this.shape.top(this.options.nodes[row]!.depth);
    const { scrollTop, clientHeight } = this.element;
    if (clientHeight > 0 && (y < scrollTop || y + 2 * kRow > scrollTop + clientHeight)) {
      this.element.scrollTop = Math.max(0, y - clientHeight / 3);
    }
  }

  drawWith(pen: Pen, dark: boolean, width: number, low: number, high: number, y = 0): void {
    const active = this.canvas.matches(":hover, :focus") || this.at > 0;
    this.shape.draw(pen, dark, { ...this.options.look(dark), marked: active ? this.marked : -1 }, width, low, high, y);
  }

  draw(): void {
    this.frame ||= requestAnimationFrame(() => {
      this.frame = 0;
      if (!this.placed && this.element.clientHeight > 0) {
        this.placed = true;
        this.element.scrollTop = this.options.upwards ? this.shape.height : 0;
        this.reveal(this.at);
      }
      const { clientWidth: width, clientHeight: height, scrollTop: low } = this.element;
      if (width > 0 && height > 0) {
        paint(this.canvas, { width, height, draw: (pen, dark) => this.drawWith(pen, dark, width, low, low + height) }, isDark());
      }
    });
  }

  private under(event: MouseEvent): number {
    return this.shape.at(event.offsetX, event.offsetY + this.element.scrollTop, this.canvas.clientWidth);
  }
  private point(event: MouseEvent): void {
    const row = this.under(event);
    if (row >= 0 && row !== this.marked) {
      this.act.point(row);
      this.mark(row);
    }
  }
  private choose(row: number): void {
    if (row >= 0) {
      this.act.choose(row);
    }
  }
  private move(row: number): void {
    if (row >= 0) {
      this.at = row;
      this.mark(row);
      this.reveal(row);
      this.act.move(row);
    }
  }

  private key(event: KeyboardEvent): void {
    const [out, inwards] = this.options.upwards ? ["ArrowDown", "ArrowUp"] : ["ArrowUp", "ArrowDown"];
    const keys: Record<string, () => void> = {
      [out!]: () => this.move(this.options.nodes[this.at]!.parent),
      [inwards!]: () => this.move(this.shape.firstBelow(this.at)),
      ArrowRight: () => this.move(this.shape.beside(this.at, 1)),
      ArrowLeft: () => this.move(this.shape.beside(this.at, -1)),
      Enter: () => this.choose(this.at),
      Escape: () => this.act.leave(),
      t: () => this.at > 0 && this.act.open(this.at),
    };
    if (keys[event.key] !== undefined && !event.ctrlKey && !event.metaKey && !event.altKey) {
      keys[event.key]!();
      event.preventDefault();
      event.stopPropagation();
    }
  }
}
