// Filters of frames, such as --hide: each a chip that a click removes, and a field for one more.
import { field, h } from "../core/dom";
import { visible } from "../core/format";
import { eachName, kFrameFilters, type FrameFilter, type State } from "../core/state";

const kKeys = Object.keys(kFrameFilters) as FrameFilter[];
const kShown = 48; // letters of a chip

// An expression for one whole name as the name.
function plain(expression: string): string {
  const whole = /^\^((?:[^\\^$.*+?()[\]{}|]|\\[\\^$.*+?()[\]{}|])*)\$$/s.exec(expression);
  return whole === null ? expression : whole[1]!.replace(/\\(.)/gs, "$1");
}

// What hides frames adds up; of the others there is one.
export function withFilter(state: State, key: FrameFilter, expression: string): Partial<State> {
  const before = state[key];
  const names = eachName(before);
  return { [key]: key === "hide" && before !== "" && !names.includes(expression) ? `${before}|${expression}` : expression };
}

function chip(state: State, key: FrameFilter, expression: string, change: (patch: Partial<State>) => void): HTMLElement {
  const text = plain(expression);
  const rest = (): string => eachName(state[key]).filter((one) => one !== expression).join("|");
  return h("span", { class: "chip", title: visible(`--${key} ${expression}`.slice(0, 2000)) }, `${kFrameFilters[key]} `,
    h("b", {}, text.length > kShown ? `${text.slice(0, kShown)}…` : text),
    h("button", { type: "button", class: "link", "aria-label": `without the filter: ${kFrameFilters[key]} ${text.slice(0, 200)}`,
      click: () => change({ [key]: rest() }) }, "×"));
}

export function frameField(state: () => State, change: (patch: Partial<State>) => void): HTMLElement {
  const what = h("select", { id: "frame-filter", "aria-label": "what to do with frames that match" },
    ...kKeys.map((key) => h("option", { value: key }, kFrameFilters[key])));
  const given = field({ id: "frame-match", value: "", size: 16, placeholder: "frames that match",
    "aria-label": "a regular expression of frames" }, (text) => {
    if (text !== "") {
      given.value = "";
      change(withFilter(state(), what.value as FrameFilter, text));
    }
  });
  return h("span", { class: "one" }, what, given);
}

export function frameChips(state: State, change: (patch: Partial<State>) => void): HTMLElement[] {
  return kKeys.filter((key) => state[key] !== "").flatMap((key) => eachName(state[key]).map((one) => chip(state, key, one, change)));
}
