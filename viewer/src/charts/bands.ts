// Steps, phases and layers of a run as bands along the axis of the timeline.
import { asNumber, asText, type Answer, type Row } from "../core/answers";
import { count, size } from "../core/format";

export interface Band {
  row: number; // 0: steps, 1: phases, 2: layers
  from: number; // its first event
  to: number; // its last one
  name: string;
  title: string;
}

// The allocations of a stretch of the history: which number the first has, and their events.
export interface Births {
  first: number;
  events: number[];
  end: number; // the last event of the stretch
}

const kOne: Record<string, string> = { layers: "layer", parameters: "parameter", steps: "pass" };

const own = (answer: Answer, key: string, device: number): Row[] =>
  ((key === "rows" ? answer.rows : answer[key] as Row[] | undefined) ?? []).filter((row) => asNumber(row["device"]) === device);

export function stepBands(answer: Answer, device: number): Band[] {
  return own(answer, "rows", device).map((row) => {
    const name = `step ${asText(row["step"])}`;
    return { row: 0, from: asNumber(row["begin"]), to: asNumber(row["end"]), name,
      title: `${name}${row["complete"] === false ? ", cut off" : ""}${row["mark"] === null ? "" : `, ${asText(row["mark"])}`}: ` +
        `peak ${size(asNumber(row["peak"]))} at event ${count(asNumber(row["peak_event"]))}, ${count(asNumber(row["allocations"]))} allocations` };
  });
}

// Which rows there can be.
export function rowsOf(answer: Answer, device: number): number[] {
  return [own(answer, "rows", device).length > 0, phasesOf(answer, device).length > 0, own(answer, "loops", device).some((loop) => kOne[asText(loop["kind"])] !== undefined)]
    .flatMap((has, row) => (has ? [row] : []));
}

// None where nothing is known of them.
function phasesOf(answer: Answer, device: number): Row[] {
  const phases = (own(answer, "traces", device)[0]?.["phases"] as Row[] | undefined) ?? [];
  return phases.every((phase) => phase["phase"] === "other") ? [] : phases;
}

// The core counts phases in allocations, from the first one of the history.
export function phaseBands(answer: Answer, device: number, births: Births): Band[] {
  const bands: Band[] = [];
  let begin = 0;
  for (const phase of phasesOf(answer, device)) {
    const end = begin + asNumber(phase["allocations"]);
    const [low, high] = [Math.max(begin, births.first), Math.min(end, births.first + births.events.length)];
    if (low < high) {
      const name = asText(phase["phase"]);
      bands.push({ row: 1, from: births.events[low - births.first]!, to: (births.events[high - births.first] ?? births.end + 1) - 1,
        name, title: `${name}: ${count(end - begin)} allocations` });
    }
    begin = end;
  }
  return bands;
}

// Repetitions of loops: so many allocations each, from an event on.
export function layerBands(answer: Answer, device: number, births: Births): Band[] {
  return own(answer, "loops", device).flatMap((loop) => {
    const one = kOne[asText(loop["kind"])];
    const at = births.events.indexOf(asNumber(loop["begin"]));
    const period = asNumber(loop["period"]);
    const times = asNumber(loop["repetitions"]);
    if (one === undefined || at < 0) {
      return [];
    }
    return Array.from({ length: times }, (_, i): Band | undefined => {
      const from = births.events[at + i * period];
      return from === undefined ? undefined : { row: 2, from, to: (births.events[at + (i + 1) * period] ?? births.end + 1) - 1,
        name: `${one} ${i + 1}`, title: `${one} ${i + 1} of ${times} in ${asText(loop["phase"])}, in order of work` };
    }).filter((band) => band !== undefined);
  });
}

export interface Placed {
  bands: Band[]; // one, or neighbours that are too narrow to be told apart
  x: number;
  width: number;
}

// Of one row, in order; what is narrower than `least` pixels is drawn with its neighbours.
export function placed(bands: Band[], toX: (event: number) => number, left: number, right: number, least: number): Placed[] {
  const all: Placed[] = [];
  for (const band of bands) {
    const [from, to] = [Math.max(left, toX(band.from)), Math.min(right, toX(band.to + 1))];
    if (to <= left || from >= right) {
      continue;
    }
    const last = all.at(-1);
    if (last !== undefined && to - from < least && last.bands[0]!.row === band.row && (last.bands.length > 1 || last.width < least) && from - last.x - last.width < least) {
      last.bands.push(band);
      last.width = to - last.x;
    } else {
      all.push({ bands: [band], x: from, width: to - from });
    }
  }
  return all;
}

export function placedName({ bands }: Placed): string {
  const [first, last] = [bands[0]!, bands.at(-1)!];
  if (bands.length === 1) {
    return first.name;
  }
  const number = last.name.split(" ").at(-1)!;
  return first.row === 1 || !/^\d+$/.test(number) ? `${count(bands.length)} phases` : `${first.name} to ${number}`;
}
export function placedTitle(one: Placed): string {
  return one.bands.length === 1 ? one.bands[0]!.title : `${placedName(one)}: too narrow here to be told apart`;
}
