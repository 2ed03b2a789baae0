// How the page looks: palette and paper, from the state. All colours are those of charts/palette.
import { isDark, theme, wear, type PaletteName, type Theme } from "../charts/palette";
import { paintAgain } from "../charts/pen";
import { h } from "../core/dom";
import type { State } from "../core/state";

const kVariables: (keyof Theme)[] = ["paper", "ink", "soft", "line", "shade", "accent", "alarm", "bar", "live", "pending"];
const kPalettes: [string, string][] = [["", "usual colours"], ["safe", "safe for colour-blind eyes"], ["contrast", "high contrast"]];
const kPapers: [string, string][] = [["", "as the system"], ["light", "light"], ["dark", "dark"]];

const system = matchMedia("(prefers-color-scheme: dark)");
let asked: Pick<State, "palette" | "paper"> = { palette: "", paper: "" };

function put(dark: boolean): void {
  const name = kPalettes.some(([one]) => one === asked.palette) ? (asked.palette as PaletteName) : "";
  wear(name, dark);
  const root = document.documentElement;
  root.style.colorScheme = dark ? "dark" : "light";
  root.dataset["palette"] = name;
  root.dataset["paper"] = dark ? "dark" : "light";
  const colors = theme(dark);
  for (const key of kVariables) {
    root.style.setProperty(`--${key}`, colors[key]);
  }
}

const wanted = (): boolean => (asked.paper === "" ? system.matches : asked.paper === "dark");

export function look(state: State): void {
  asked = state;
  put(wanted());
  for (const select of document.querySelectorAll<HTMLSelectElement>("select[data-look]")) {
    select.value = state[select.dataset["look"] as "palette" | "paper"];
  }
}

// `again`: draws all of the page. Paper is white: what is printed is light.
export function watchLook(again: () => void): void {
  system.addEventListener("change", () => {
    put(wanted());
    again();
  });
  window.addEventListener("beforeprint", () => {
    put(false);
    paintAgain(isDark(), true);
  });
  window.addEventListener("afterprint", () => {
    put(wanted());
    paintAgain(isDark());
  });
}

// Kept up to date by look.
export function lookChoice(change: (patch: Partial<State>) => void): HTMLElement {
  const choice = (key: "palette" | "paper", label: string, all: [string, string][]): HTMLElement => {
    const select = h("select", { "data-look": key, "aria-label": label, change: () => change({ [key]: select.value }) },
      ...all.map(([value, text]) => h("option", { value }, text)));
    return select;
  };
  return h("span", { class: "look" }, choice("palette", "colours", kPalettes), " ", choice("paper", "paper", kPapers));
}
