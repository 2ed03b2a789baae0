// The bands above a plot: steps, phases and layers, each a button for its range.
import { h } from "../core/dom";
import { placed, placedName, placedTitle, type Band, type Placed } from "./bands";
import { isDark, kBands, theme } from "./palette";
import { paint, textWidth, type Picture } from "./pen";
import { kLeft, kRight } from "./plot";

const kRow = 17; // height of a row
const kRows = ["steps", "phases", "layers"];
const kLeast = 3; // pixels

interface Bar {
  one: Placed;
  y: number;
}

export interface StripOptions {
  toX: (event: number) => number; // pixels
  say: (text: string | undefined) => void;
  pick: (from: number, to: number) => void; // events
}

export class Strip {
  readonly element = h("canvas", { class: "bands", tabindex: 0, role: "img", hidden: true,
    "aria-label": "steps, phases and layers; arrows move between them, Enter shows the range of one" });
  private bands: Band[] = [];
  private rows: number[] = [];
  private coarse = false;
  private all: Bar[] = [];
  private at = -1;
  private width = 0;

  constructor(private readonly is: StripOptions) {
    const { element } = this;
    element.addEventListener("mousemove", (event) => this.hover(this.find(event.offsetX, event.offsetY)));
    element.addEventListener("mouseleave", () => this.hover(-1));
    element.addEventListener("blur", () => this.hover(-1));
    element.addEventListener("click", (event) => this.open(this.find(event.offsetX, event.offsetY)));
    element.addEventListener("keydown", (event) => this.key(event));
  }

  // `rows`: those that there may be, so that nothing moves when they come; `coarse`: some come with fewer events.
  set(bands: Band[], rows: number[], coarse: boolean): void {
    [this.bands, this.rows, this.coarse] = [bands, rows, coarse];
    this.element.hidden = rows.length === 0;
    this.at = -1;
  }

  draw(width: number): void {
    this.width = width;
    if (this.rows.length > 0) {
      const focused = this.all[this.at]?.one.bands[0];
      this.all = this.place(width, this.is.toX);
      this.at = focused === undefined ? -1 : this.all.findIndex(({ one }) => one.bands.includes(focused));
      paint(this.element, this.pictureOf(this.all, width), isDark());
    }
  }
  picture(width: number, toX: (event: number) => number): Picture {
    return this.pictureOf(this.place(width, toX), width);
  }

  private place(width: number, toX: (event: number) => number): Bar[] {
    return this.rows.flatMap((row, i) =>
      placed(this.bands.filter((band) => band.row === row), toX, kLeft, width - kRight, kLeast).map((one) => ({ one, y: i * kRow })));
  }
  private pictureOf(bars: Bar[], width: number): Picture {
    const { rows } = this;
    return { width, height: rows.length === 0 ? 0 : rows.length * kRow + 2, draw: (pen, dark) => {
      const colors = theme(dark);
      rows.forEach((row, i) => {
        pen.text(kLeft - 8, i * kRow + 8, kRows[row]!, { color: colors.soft, align: "right" });
        if (this.coarse && !this.bands.some((band) => band.row === row)) {
          pen.text(kLeft + 4, i * kRow + 8, "zoom in to see them", { color: colors.soft, room: width - kLeft - kRight });
        }
      });
      bars.forEach(({ one, y }, i) => {
        const shade = kBands[one.bands[0]!.row]![dark ? 1 : 0];
        const wide = Math.max(1, one.width - (one.width > 2 ? 1 : 0));
        pen.rect(one.x, y, wide, kRow - 2, one.bands.length > 1 ? colors.shade : shade, i === this.at ? colors.ink : undefined);
        const name = placedName(one);
        const room = one.width - 6;
        // A number says which, where there is no room for more.
        const text = textWidth(name) <= room || one.bands.length > 1 ? name : /\d+$/.exec(name)?.[0] ?? name;
        if (textWidth(text) <= room || room > 40) {
          pen.text(one.x + 4, y + 7.5, text, { color: colors.ink, room });
        }
      });
    } };
  }

  private find(x: number, y: number): number {
    return this.all.findIndex((band) => x >= band.one.x && x <= band.one.x + band.one.width && y >= band.y && y < band.y + kRow);
  }
  private hover(at: number): void {
    if (at !== this.at) {
      this.at = at;
      const text = at < 0 ? undefined : placedTitle(this.all[at]!.one);
      this.element.title = text ?? "";
      this.is.say(text);
      this.draw(this.width);
    }
  }
  private open(at: number): void {
    const bands = this.all[at]?.one.bands;
    if (bands !== undefined) {
      this.is.pick(bands[0]!.from, bands.at(-1)!.to);
    }
  }
  private key(event: KeyboardEvent): void {
    const by = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
    if (by !== undefined) {
      this.hover(Math.min(this.all.length - 1, Math.max(0, this.at + by)));  // -1: of none
      event.preventDefault();
    } else if (event.key === "Enter") {
      this.open(this.at);
    }
  }
}
