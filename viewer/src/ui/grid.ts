// A table of rows: sizes to the right, names to the left, sorted by a click, and more rows on request.
import { asNumber, asText, type Row } from "../core/answers";
import { h } from "../core/dom";
import { count, percent, size, visible } from "../core/format";
import { place, shortName, shortPlace } from "../core/words";

export interface Column {
  key: string;
  title: string;
  kind: "size" | "change" | "count" | "percent" | "text" | "bar" | "shape";
  of?: number; // what percent and bar are of
  text?: (row: Row) => string;
  whole?: (row: Row) => string; // in whole, where the cell says less
}

export const kWhere: Column = {
  key: "name", title: "Where", kind: "text", text: (row) => shortName(asText(row["name"])), whole: (row) => asText(row["name"]),
};
export const kPlace: Column = { key: "file", title: "Place", kind: "text", text: shortPlace, whole: place };

export interface GridOptions {
  columns: Column[];
  rows: Row[];
  onPick?: (row: Row) => void;
  picked?: (row: Row) => boolean;
  most?: number;
  sort?: { by: string; set: (by: string) => void }; // a key, with - in front upwards; kept by the caller
}

function cellText(column: Column, row: Row): string {
  if (column.text !== undefined) {
    return column.text(row);
  }
  const value = row[column.key];
  if (value === null || value === undefined) {
    return "";
  }
  switch (column.kind) {
    case "size":
      return size(value as number | bigint);
    case "change":
      return size(value as number | bigint, true);
    case "count":
      return count(value as number | bigint);
    case "percent":
      return percent(asNumber(value), column.of ?? 0);
    default:
      return asText(value);
  }
}

export function grid(options: GridOptions): HTMLElement {
  const rows = [...options.rows];
  let shown = options.most ?? 200;
  let sorted: { key: string; down: boolean } | undefined;
  const body = h("tbody");
  const more = h("button", { type: "button", class: "more", click: () => ((shown *= 5), fill()) });
  const heads = options.columns.map((column) =>
    h("th", { class: column.kind, scope: "col" },
      column.title === "" ? "" : h("button", { type: "button", click: () => sort(column) }, column.title)));

  function sort(column: Column): void {
    const down = sorted?.key === column.key ? !sorted.down : column.kind !== "text";
    sorted = { key: column.key, down };
    const order = (a: Row, b: Row): number =>
      column.kind === "text"
        ? cellText(column, a).localeCompare(cellText(column, b))
        : asNumber(a[column.key]) - asNumber(b[column.key]);
    rows.sort((a, b) => (down ? order(b, a) : order(a, b)));
    heads.forEach((head, i) =>
      head.setAttribute(
        "aria-sort",
        options.columns[i] === column ? (down ? "descending" : "ascending") : "none",
      ),
    );
    options.sort?.set(down === (column.kind !== "text") ? column.key : `-${column.key}`);
    fill();
  }

  function line(row: Row): HTMLElement {
    const cells = options.columns.map((column) => {
      if (column.kind !== "bar") {
        const text = cellText(column, row);
        const whole = column.whole?.(row) ?? text;
        return h("td", { class: column.kind, title: whole !== text || text.length > 40 ? visible(whole.slice(0, 2000)) : undefined }, text);
      }
      const part = column.of ? Math.abs(asNumber(row[column.key])) / column.of : 0;
      const bar = h("span", { class: "bar" });
      bar.style.width = `${Math.min(100, 100 * part)}%`;
      return h("td", { class: "bar" }, bar);
    });
    const element = h("tr", {}, ...cells);
    if (options.onPick !== undefined) {
      const pick = options.onPick;
      element.tabIndex = 0;
      element.addEventListener("click", () => pick(row));
      element.addEventListener("keydown", (event) => {
        if (event.key === "Enter") {
          pick(row);
        } else if (event.key === "ArrowDown" || event.key === "ArrowUp") {
          const next =
            event.key === "ArrowDown" ? element.nextElementSibling : element.previousElementSibling;
          (next as HTMLElement | null)?.focus();
          event.preventDefault();
        }
      });
      if (options.picked?.(row) === true) {
        element.setAttribute("aria-selected", "true");
      }
    }
    return element;
  }

  function fill(): void {
    body.replaceChildren(...rows.slice(0, shown).map(line));
    more.hidden = rows.length <= shown;
    more.textContent = `${count(rows.length - shown)} more rows`;
  }
  const wanted = options.sort?.by ?? "";
  const first = options.columns.find((column) => column.key === wanted.replace(/^-/, ""));
  if (wanted !== "" && first !== undefined) {
    sort(first);
    if (wanted.startsWith("-")) {
      sort(first);
    }
  }
  fill();
  return h("div", { class: "grid" },
    h("table", {}, h("thead", {}, h("tr", {}, ...heads)), body), more);
}
