// Small sentences that several views say.
import { asNumber, asText, type Answer, type Row } from "./answers";
import { counted } from "./format";

export function place(row: Row): string {
  const file = asText(row["file"]);
  const line = asNumber(row["line"]);
  const more = asNumber(row["more_lines"]);
  return file === "" || file === "??" ? "" : line > 0 ? `${file}:${line}${more > 0 ? ` and ${more} more` : ""}` : file;
}

// As the program's tables say it; the whole is a title.
export function shortPlace(row: Row): string {
  return place(row).split("/").at(-1)!;
}

// C++ functions without their parameters, where those are long.
export function shortName(name: string): string {
  const cut = name.length > 44 && name.includes("::") ? name.search(/(?<=[\w>])\(/) : -1;
  return cut > 0 ? `${name.slice(0, cut)}(…)` : name;
}

function duration(us: number): string {
  return us < 1000 ? `${us} µs` : us < 1e6 ? `${(us / 1e3).toFixed(2)} ms` : `${(us / 1e6).toFixed(2)} s`;
}

// Of `steps`: those that the program names; what merely repeats tells nothing.
export function loopsOf(answer: Answer): Row[] {
  return ((answer["loops"] as Row[] | undefined) ?? []).filter((loop) => loop["kind"] !== "other");
}

// "layers in the forward"; called as the program's text calls them.
export function loopText(loop: Row): string {
  const [phase, kind] = [asText(loop["phase"]), asText(loop["kind"])];
  return phase === "other" ? (kind === "steps" ? "repetitions" : kind) : `${kind === "steps" ? "passes" : kind} in the ${phase}`;
}

// Of a row of `events`.
export function lifetime(row: Row): string {
  const events = row["lived_events"];
  const us = row["lived_us"];
  if (events === null || events === undefined) {
    return asText(row["action"]) === "alloc" ? "to the end" : "from before the recording";
  }
  return `${counted(asNumber(events), "event")}${us === null || us === undefined ? "" : `, ${duration(asNumber(us))}`}`;
}

export function sentence(error: unknown): string {
  // The program's own name says nothing here.
  return (error instanceof Error ? error.message : String(error)).replace(/^memtool: /, "");
}
