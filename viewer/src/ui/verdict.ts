// Why memory ran out, in the program's own words; what they propose leads into the page.
import { gaugeOfFailure } from "../charts/gauge";
import { asText } from "../core/answers";
import { h } from "../core/dom";
import { size } from "../core/format";
import { linkOf, piecesOf, type Piece } from "../core/links";
import type { State } from "../core/state";
import { gaugeBar } from "./bars";

export interface Ways {
  offers: (view: string) => boolean;
  go: (patch: Partial<State>) => void;
}
export const kNowhere: Ways = { offers: () => false, go: () => undefined };

const kKinds: Record<string, string> = {
  WHY: "Why", NOT: "Not", KNOWN: "Known", ON: "Settings", TRY: "Try", NOTE: "Note", NEXT: "Next",
};

// A command is a link as a whole, a sentence where it names a change or a setting.
function pieces(text: string, ways: Ways): Piece[] {
  const link = linkOf(text, ways.offers);
  return link === undefined ? piecesOf(text, ways.offers) : [{ text, link }];
}

export function sentences(text: string, ways: Ways): HTMLElement {
  return h("dd", {}, ...pieces(text, ways).map((piece) => piece.link === undefined ? piece.text
    : h("button", { type: "button", class: "link", click: () => ways.go(piece.link!) }, piece.text)));
}

// `answer`: of `oom`. Commands to go on with stand elsewhere, unless nothing else does.
export function verdict(answer: Record<string, unknown>, ways: Ways, next = false): HTMLElement {
  const all = (answer["sentences"] as { kind: string; text: string }[] | undefined) ?? [];
  const shown = all.filter(({ kind }) => kind !== "NEXT" || next);
  return h("section", { class: "card verdict" },
    h("h2", { class: answer["verdict"] === "none" ? "answer" : "answer alarm" }, asText(answer["answer"])),
    h("dl", { class: "facts sentences" }, ...shown.flatMap(({ kind, text }, i) =>
      [h("dt", {}, shown[i - 1]?.kind === kind ? "" : kKinds[kind] ?? kind), sentences(text, ways)])));
}

export const failureGauge = (answer: Record<string, unknown>): ReturnType<typeof gaugeOfFailure> =>
  gaugeOfFailure(answer, (bytes) => `asked for ${size(bytes)}`);

export function failure(answer: Record<string, unknown>, ways: Ways): HTMLElement {
  const gauge = failureGauge(answer);
  const told = verdict(answer, ways, true);
  if (gauge !== undefined) {
    told.querySelector("h2")!.after(gaugeBar(gauge));
  }
  return told;
}
