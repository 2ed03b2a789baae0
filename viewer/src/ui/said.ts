// Sentences of the program: its verdict above a table, its notes below.
import { asText, type Answer } from "../core/answers";
import { h } from "../core/dom";

export function said(answer: Answer): { before: HTMLElement[]; after: HTMLElement[] } {
  const lines = (key: string): string[] => ((answer[key] as unknown[] | undefined) ?? []).map((text) => asText(text).trim());
  const note = (text: string): HTMLElement => h("p", { class: "note" }, text);
  return { before: lines("verdict").map((text, i) => (i === 0 ? h("p", { class: "lead" }, text) : note(text))), after: lines("notes").map(note) };
}
