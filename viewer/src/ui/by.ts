// What rows, layers or frames stand for: the words of --by that a command takes.
import { h } from "../core/dom";
import type { Context } from "./context";

// `usual`: what the command does without --by. A choice that it does not take is not sent.
export function chosenBy(context: Context, choices: string[], usual: string): string {
  const { by } = context.state;
  return choices.includes(by) || (by.startsWith("label:") && choices.includes("label")) ? by : usual;
}

export function byWords(context: Context, choices: string[], usual: string): string[] {
  const by = chosenBy(context, choices, usual);
  return by === usual ? [] : ["--by", by];
}

export function byChoice(context: Context, title: string, choices: string[], usual: string): HTMLElement {
  const chosen = chosenBy(context, choices, usual);
  const select = h("select", { id: "by", change: () => context.change({ by: select.value === usual ? "" : select.value }) });
  const labels = choices.includes("label") ? context.first.labels.map((label) => `label:${label}`) : [];
  for (const by of new Set([...choices.filter((one) => one !== "label"), usual, ...labels])) {
    select.append(h("option", { value: by, selected: by === chosen }, by));
  }
  return h("label", {}, `${title} `, select);
}
