// The open files as a list that can be put in order: which are looked at, which they are compared with.
import { h } from "../core/dom";
import { size } from "../core/format";
import type { Arrangement, Job } from "../core/job";

export interface TrayActions {
  arrange: (what: Arrangement, name: string) => void;
  add: () => void;
}

export function tray(job: Job, { arrange, add }: TrayActions): HTMLElement {
  const act = (what: Arrangement, name: string, text: string, title: string, disabled = false): HTMLElement =>
    h("button", { type: "button", class: what, title, "aria-label": `${title}: ${name}`, disabled, click: () => arrange(what, name) }, text);
  const line = (name: string, bytes: number, ...rest: (HTMLElement | false)[]): HTMLElement =>
    h("li", {}, h("span", { class: "name", title: name }, name), h("span", { class: "note" }, size(bytes)), ...rest);
  const { inputs, bases } = job;
  return h("section", { class: "tray", id: "tray", "aria-label": "open files" },
    h("h2", {}, inputs.length === 1 ? "Looked at" : `Looked at, ${inputs.length} together`),
    h("ol", {}, ...inputs.map((one, i) => line(one.name, one.data.size,
      inputs.length > 1 && act("up", one.name, "↑", "earlier", i === 0),
      inputs.length > 1 && act("down", one.name, "↓", "later", i === inputs.length - 1),
      (inputs.length > 1 || bases.length > 0) && act("base", one.name, "as base", "compare with this one"),
      inputs.length > 1 && act("remove", one.name, "×", "remove")))),
    bases.length > 0 && h("h2", {}, "Compared with"),
    bases.length > 0 && h("ol", {}, ...bases.map((one) => line(one.name, one.data.size,
      act("input", one.name, "look at", "look at this one, too"), act("remove", one.name, "×", "no longer against")))),
    h("p", {},
      h("button", { type: "button", id: "add", click: add }, "add a file…"), " ",
      bases.length > 0 && h("button", { type: "button", id: "swap", click: () => arrange("swap", "") }, "swap the two sides")));
}
