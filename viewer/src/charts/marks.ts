// Marks of a recording and its failures, as places on the axis.
import { asNumber, type Answer } from "../core/answers";
import { pointAt, type Mark, type Series } from "./series";

export interface Oom {
  x: number;
  asked: number; // bytes; 0: not told
}
export interface Marks {
  marks: (Mark & { x: number })[];
  ooms: Oom[];
}

// `known`: columns that tell when events were, the more exact first; `firstUs`: when it began.
export function placeMarks(answer: Answer, device: number, time: boolean, firstUs: number, known: Series[], eventX: (event: number) => number): Marks {
  const info = answer.inputs[0];
  const isOwn = (one: Mark): boolean => one.device === undefined || one.device === null || one.device < 0 || one.device === device;
  const whole = known.at(-1)!;
  const xOf = (us: unknown): number | undefined => {
    if (us === null || us === undefined || whole.seconds === undefined) {
      return undefined;
    }
    const at = (asNumber(us) - firstUs) / 1e6;
    const near = known.find(({ seconds }) => seconds !== undefined && at >= seconds[0]! && at <= seconds.at(-1)!) ?? whole;
    return time ? at : near.events[Math.max(0, pointAt(near.seconds!, at))];
  };
  const marks = ((info?.["marks"] as Mark[] | undefined) ?? []).filter(isOwn)
    .map((mark) => ({ ...mark, x: xOf(mark.begin_us) }))
    .filter((mark): mark is Mark & { x: number } => mark.x !== undefined);
  const ooms = ((info?.["ooms"] as (Mark & { asked?: number })[] | undefined) ?? []).filter((oom) => oom.device === device)
    .map((oom): Oom => ({ x: eventX(asNumber(oom.event)), asked: asNumber(oom.asked) }));
  return { marks, ooms };
}
