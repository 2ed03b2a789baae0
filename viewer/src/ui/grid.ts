// A table of rows: sizes to the right, names to the left, sorted by a click, looked through by a field.
// Of many rows only those in sight are in the document: a box of its own scrolls them.
import { type Row } from "../core/answers";
import { append, clear, h, whenPrinted } from "../core/dom";
import { count, counted, visible } from "../core/format";
import { cellText, cellValue, inOrder, inSight, rowText, type Column } from "./rows";

export { kPlace, kWhere, type Column } from "./rows";

const kPlain = 200; // rows that are simply there
const kLooked = 20; // more have a field to look through them
const kPrinted = 200;

export interface GridOptions {
  columns: Column[];
  rows: Row[];
  name?: string; // for a reader of the screen
  onPick?: (row: Row) => void;
  picked?: (row: Row) => boolean;
  most?: number; // more rows are scrolled in a box
  sort?: { by: string; set: (by: string) => void }; // a key, with - in front upwards; kept by the caller
  find?: { id: string; text: string; keep: (text: string) => void; sum: (rows: Row[]) => string };
}

// Names may go on in the next line behind "::" and "/".
function breakable(text: string): (string | HTMLElement)[] {
  return text.length < 16 || text.length > 400 ? [text]
    : text.split(/(?<=::|\/)/).flatMap((part, i) => (i === 0 ? [part] : [h("wbr"), part]));
}
// On one line: what does not fit is left out before the end, by which names of operations differ.
const kEndLength = 24;
function keepingEnd(text: string): (string | HTMLElement)[] {
  const at = text.length - kEndLength;
  const from = /[\udc00-\udfff]/.test(text.charAt(at)) ? at - 1 : at;
  return at < kEndLength ? [text] : [h("span", { class: "ends" }, h("span", {}, text.slice(0, from)), h("span", {}, text.slice(from)))];
}

// Where rows are scrolled in a box, columns keep their width (in em). The one with the longest texts has what is left.
const kColumnWidths: Record<Exclude<Column["kind"], "text">, number> = { size: 7.4, change: 7.4, count: 5.6, percent: 5.6, bar: 8.5, shape: 9 };
const kMinTextWidth = 17; // of that column
const isSpare = ({ kind, key }: Column): boolean => kind === "percent" || kind === "bar" || key === "cum" || key === "via";
function setWidths(table: HTMLElement, columns: Column[], rows: Row[]): void {
  const letters = columns.map((column) => column.kind !== "text" ? 0
    : rows.slice(0, kPlain).reduce((most, row) => Math.max(most, cellText(column, row).length), column.title.length));
  const longest = letters.indexOf(Math.max(...letters));
  const widths = columns.map(({ kind }, i) => kind !== "text" ? kColumnWidths[kind] : i === longest ? kMinTextWidth : Math.min(20, 3 + letters[i]! / 2));
  const sumOf = (wanted: (column: Column) => boolean): string => `${columns.reduce((sum, column, i) => sum + (wanted(column) ? widths[i]! : 0), 0)}em`;
  table.style.setProperty("--min-width", sumOf(() => true));
  table.style.setProperty("--narrow-min-width", sumOf((column) => !isSpare(column)));
  table.querySelectorAll("col").forEach((one, i) => one.style.setProperty("width", i === longest ? "" : `${widths[i]}em`));
}

// A narrow screen leaves out those that can be spared.
const classOf = (column: Column): string => `${column.kind} of-${column.key.replace(/\W/g, "")}${isSpare(column) ? " spare" : ""}`;

function cell(column: Column, row: Row, narrow: boolean): HTMLElement {
  if (column.kind !== "bar") {
    const text = cellText(column, row);
    const whole = column.whole?.(row) ?? text;
    const titled = whole !== text || text.length > (narrow ? 12 : 40);
    return h("td", { class: classOf(column), title: titled ? visible(whole.slice(0, 2000)) : undefined },
      ...(column.kind !== "text" ? [text] : narrow ? keepingEnd(text) : breakable(text)));
  }
  const bar = h("span", { class: "bar" });
  bar.style.width = `${Math.min(100, column.of ? (100 * Math.abs(cellValue(column, row))) / column.of : 0)}%`;
  return h("td", { class: classOf(column) }, bar);
}

class Grid {
  readonly element: HTMLElement;
  private readonly tall: boolean; // only what is in sight is there
  private rows: Row[];
  private active = 0; // the row that Tab reaches
  private readonly shown = new Map<number, HTMLElement>();
  private rowHeight = 0;
  private printing = false;
  private sorted: { column: Column; down: boolean } | undefined;
  private texts: Map<Row, string> | undefined;
  private readonly body = h("tbody");
  private readonly above = h("tr", { class: "room", "aria-hidden": "true" });
  private readonly below = h("tr", { class: "room", "aria-hidden": "true" });
  private readonly table: HTMLElement;
  private readonly box: HTMLElement;
  private readonly heads: HTMLElement[];
  private readonly found = h("span", { class: "note", role: "status" });
  private readonly note = h("p", { class: "note cut", hidden: true });

  private readonly options: GridOptions;

  constructor(given: GridOptions) {
    // Where nothing has a place, there is no room for one.
    const columns = given.columns.filter((column) => column.key !== "file" || given.rows.some((row) => cellText(column, row) !== ""));
    const options = this.options = { ...given, columns };
    const { find } = options;
    const most = options.most ?? kPlain;
    this.rows = options.rows;
    this.tall = options.rows.length > most;
    this.heads = columns.map((column) =>
      column.title === "" ? h("td", { class: classOf(column) })
        : h("th", { class: classOf(column), scope: "col", title: column.about }, h("button", { type: "button", click: () => this.sort(column) }, column.title)));
    this.table = h("table", { role: options.onPick === undefined ? undefined : "grid", "aria-label": options.name },
      this.tall && h("colgroup", {}, ...columns.map((column) => h("col", { class: classOf(column) }))),
      h("thead", {}, h("tr", {}, ...this.heads)), this.body);
    this.box = h("div", { class: this.tall ? "grid tall" : "grid" }, this.table);
    this.element = h("div", { class: "rows" },
      (options.rows.length > kLooked || find !== undefined) && h("div", { class: "tools find" }, this.field(), this.found),
      this.box, this.note);
    if (this.tall) {
      setWidths(this.table, columns, options.rows);
      this.scrolls(most);
    }
    if (options.onPick !== undefined || this.tall) {
      this.box.addEventListener("keydown", (event) => this.key(event));
    }
    const by = options.sort?.by ?? "";
    const first = columns.find((column) => column.key === by.replace(/^-/, ""));
    if (by !== "" && first !== undefined) {
      this.sorted = { column: first, down: (first.kind !== "text") !== by.startsWith("-") };
    }
    this.order(find?.text ?? "");
    this.active = Math.max(0, options.picked === undefined ? 0 : this.rows.findIndex(options.picked));
    this.fill();
  }

  private scrolls(most: number): void {
    this.box.style.maxHeight = `min(72vh, ${26 * (most + 1)}px)`;
    this.box.tabIndex = 0;
    this.box.addEventListener("scroll", () => this.update());
    let begun = false;
    new ResizeObserver(() => {
      this.rowHeight = this.body.querySelector<HTMLElement>("tr:not(.room)")?.offsetHeight ?? 0;
      if (!begun && this.rowHeight > 0) {
        begun = true; // a row that is picked is in sight
        this.box.scrollTop = (this.active - 3) * this.rowHeight;
      }
      this.update();
    }).observe(this.box);
    whenPrinted<Grid>(this, (table, before) => table.print(before));
  }

  private print(on: boolean): void {
    this.printing = on && this.element.isConnected;
    this.fill();
  }

  private field(): HTMLInputElement {
    const { find } = this.options;
    const field = h("input", { type: "search", id: find?.id, value: find?.text ?? "", placeholder: "rows with…", size: 22,
      "aria-label": "only rows with this regular expression" });
    field.addEventListener("input", () => {
      this.order(field.value);
      this.active = 0;
      this.box.scrollTop = 0;
      this.fill();
    });
    field.addEventListener("change", () => find?.keep(field.value));
    return field;
  }

  // The rows that are kept, in their order.
  private order(wanted: string): void {
    let test: RegExp | undefined;
    try {
      test = wanted === "" ? undefined : new RegExp(wanted, "i");
    } catch {
      clear(this.found, "not a regular expression");
      return;
    }
    const { columns, rows } = this.options;
    if (test !== undefined) {
      this.texts ??= new Map(rows.map((row) => [row, rowText(columns, row)]));
    }
    const kept = test === undefined ? rows : rows.filter((row) => test.test(this.texts!.get(row)!));
    this.rows = this.sorted === undefined ? kept : inOrder(kept, this.sorted.column, this.sorted.down);
    clear(this.found, test === undefined ? "" : `${counted(kept.length, "row")}${this.options.find === undefined ? "" : `, ${this.options.find.sum(kept)}`}`);
    this.wanted = wanted;
  }
  private wanted = "";

  private sort(column: Column): void {
    const down = this.sorted?.column === column ? !this.sorted.down : column.kind !== "text";
    this.sorted = { column, down };
    this.options.sort?.set(down === (column.kind !== "text") ? column.key : `-${column.key}`);
    this.order(this.wanted);
    this.fill();
  }

  private line(at: number): HTMLElement {
    const row = this.rows[at]!;
    const { columns, onPick, picked } = this.options;
    const element = h("tr", { "aria-rowindex": at + 2 }, ...columns.map((column) => cell(column, row, this.tall)));
    if (onPick !== undefined) {
      element.tabIndex = at === this.active ? 0 : -1;
      element.addEventListener("click", () => onPick(row));
      element.addEventListener("focus", () => this.reach(at));
      if (picked?.(row) === true) {
        element.setAttribute("aria-selected", "true");
      }
    }
    return element;
  }

  // Tab reaches one row; arrows, the others.
  private reach(at: number): void {
    const before = this.shown.get(this.active);
    if (before !== undefined) {
      before.tabIndex = -1;
    }
    this.active = at;
    const now = this.shown.get(at);
    if (now !== undefined && this.options.onPick !== undefined) {
      now.tabIndex = 0;
    }
  }

  private key(event: KeyboardEvent): void {
    if ((event.target as Element).closest("thead") !== null) {
      return;
    }
    const page = Math.max(1, Math.floor(this.box.clientHeight / (this.rowHeight || 22)) - 2);
    const { active, rows } = this;
    const to = { ArrowDown: active + 1, ArrowUp: active - 1, PageDown: active + page, PageUp: active - page, Home: 0, End: rows.length - 1 }[event.key];
    if (event.key === "Enter" && rows[active] !== undefined) {
      this.options.onPick?.(rows[active]!);
    } else if (to !== undefined && (this.tall || event.key.startsWith("Arrow"))) {
      this.go(Math.max(0, Math.min(rows.length - 1, to)));
      event.preventDefault();
    }
  }

  private go(to: number): void {
    this.reach(to);
    if (this.tall) {
      const head = this.heads[0]!.offsetHeight;
      const top = to * this.rowHeight;
      this.box.scrollTop = Math.max(Math.min(this.box.scrollTop, top), top + this.rowHeight + head - this.box.clientHeight);
      this.update();
    }
    this.shown.get(to)?.focus({ preventScroll: this.tall });
  }

  private fill(): void {
    this.heads.forEach((head, i) => {
      const sorted = this.options.columns[i] === this.sorted?.column ? this.sorted : undefined;
      if (sorted !== undefined || head.hasAttribute("aria-sort")) {
        head.setAttribute("aria-sort", sorted === undefined ? "none" : sorted.down ? "descending" : "ascending");
      }
    });
    this.table.setAttribute("aria-rowcount", String(this.rows.length + 1));
    this.shown.clear();
    this.body.replaceChildren();
    this.update();
  }

  // Only what comes into sight is made; what stays is not touched, and keeps the keyboard.
  private update(): void {
    const { rows, rowHeight } = this;
    const many = this.tall && !this.printing && rows.length > 0;
    const { from, to } = many ? inSight(this.box.scrollTop, this.box.clientHeight || 600, rowHeight || 22, rows.length)
      : { from: 0, to: this.tall ? Math.min(kPrinted, rows.length) : rows.length };
    let next: HTMLElement | null = this.below.parentNode === null ? null : this.below;
    for (let at = to - 1; at >= from; --at) {
      let element = this.shown.get(at);
      if (element === undefined) {
        element = this.line(at);
        this.shown.set(at, element);
        this.body.insertBefore(element, next);
      }
      next = element;
    }
    this.room(this.above, many ? from : 0, rowHeight);
    this.room(this.below, many ? rows.length - to : 0, rowHeight);
    // Last: a box that is too short for a moment would be scrolled back.
    for (const [at, element] of this.shown) {
      if (at < from || at >= to) {
        if (element === document.activeElement) {
          this.box.focus({ preventScroll: true });
        }
        element.remove();
        this.shown.delete(at);
      }
    }
    this.note.hidden = !(this.printing && rows.length > kPrinted);
    clear(this.note, `the first ${count(kPrinted)} of ${count(rows.length)} rows`);
  }

  private room(element: HTMLElement, rows: number, rowHeight: number): void {
    if (rows === 0) {
      element.remove();
      return;
    }
    if (element.firstChild === null) {
      append(element, [h("td")]); // of one column: a narrow screen shows fewer than were given, and more would be empty ones
    }
    (element.firstChild as HTMLElement).style.height = `${rows * (rowHeight || 22)}px`;
    if (element === this.above) {
      this.body.prepend(element);
    } else {
      this.body.append(element);
    }
  }
}

export function grid(options: GridOptions): HTMLElement {
  return new Grid(options).element;
}
