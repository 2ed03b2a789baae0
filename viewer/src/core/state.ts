// What the page shows, as its address says it: every state is a link (fragment).

export interface State {
  view: string;
  at: string; // moment; empty = the command's own default
  from: string; // range of the timeline and of events
  to: string;
  by: string;
  focus: string;
  ignore: string;
  device: string;
  frames: string;
  pick: string; // a function, an address or an id that is looked at
  sort: string; // a column of the table, with - in front upwards
  axis: string; // of the timeline: time, or events
  reserved: string; // "off": not in the timeline
  blocks: string; // 1: the timeline's largest blocks even of a large recording
  search: string; // what is lit in the flame graph, or kept in the table
  up: string; // the flame graph: "leaves" from the innermost frame, "flame" upwards
}

export const kDefaults: State = {
  view: "overview", at: "", from: "", to: "", by: "", focus: "", ignore: "", device: "", frames: "",
  pick: "", sort: "", axis: "", reserved: "", blocks: "", search: "", up: "",
};

export function readState(fragment: string): State {
  const given = new URLSearchParams(fragment.replace(/^#/, ""));
  const state = { ...kDefaults };
  for (const key of Object.keys(kDefaults) as (keyof State)[]) {
    state[key] = given.get(key) ?? kDefaults[key];
  }
  return state;
}

export function writeState(state: State): string {
  const given = new URLSearchParams();
  for (const key of Object.keys(kDefaults) as (keyof State)[]) {
    if (state[key] !== kDefaults[key]) {
      given.set(key, state[key]);
    }
  }
  return `#${given.toString()}`;
}

type Filter = "device" | "frames" | "focus" | "ignore";
export const kFilters: Filter[] = ["device", "frames", "focus", "ignore"];

// The filters of the command line that the page has fields for, and that a command takes.
export function filterWords(state: State, taken: Filter[] = kFilters): string[] {
  const words: string[] = [];
  for (const key of taken) {
    if (state[key] !== "") {
      words.push(`--${key}`, state[key]);
    }
  }
  return words;
}

export function momentWords(state: State): string[] {
  return state.at === "" ? [] : ["--at", state.at];
}

export function parseEvent(moment: string): number | undefined {
  const found = /^event:(\d+)$/.exec(moment);
  return found === null ? undefined : Number(found[1]);
}
