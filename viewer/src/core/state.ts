// What the page shows, as one value, and the only way in which it changes. Every state is a link (fragment).

export interface State {
  view: string;
  input: string; // one of several; empty = all
  at: string; // moment; empty = the command's own default
  from: string; // range of the timeline and of events
  to: string;
  by: string;
  focus: string;
  ignore: string;
  hide: string;
  show: string;
  "show-from": string;
  "prune-from": string;
  device: string;
  frames: string;
  row: string; // the function, or what rows stand for, that is looked at
  block: string; // the block that is looked at: an address or an id
  change: string; // the change of settings or of the program that is looked at
  node: string; // the frame that the flame graph shows as its whole
  zoom: string; // what is in sight of the map, or of the whole call graph; empty = as at first
  sort: string; // a column of the table, with - in front upwards
  axis: string; // of the timeline: time, or events
  reserved: string; // "off": not in the timeline
  shapes: string; // of the timeline: "on" or "off"; empty = where few enough events are shown
  color: string; // what colours stand for, where a view has a choice
  search: string; // what is lit in the flame graph, or kept in the table
  card: string; // a card or a size on which changes are to fit
  up: string; // the flame graph: "leaves" from the innermost frame, "flame" upwards, "around" one function
  of: string; // the flame graph, of a range: "allocated", "kept" or "largest" in it; empty = what is live at the moment
  palette: string; // "safe" for colour-blind eyes, "contrast"
  paper: string; // "light" or "dark"; empty = as the system
  x: string; // fit: what the inputs differ in, NAME=A,B, and after @ the value that is predicted
  bucket: string; // the category whose rows are looked at: AXIS:NAME
  conf: string; // whatif: the settings and changes that are tried, one a line; empty = the program's own choice
  limits: string; // check: NAME=SIZE, with commas between them
}

export const kDefaults: State = {
  view: "overview", input: "", at: "", from: "", to: "", by: "", focus: "", ignore: "", hide: "", show: "",
  "show-from": "", "prune-from": "", device: "", frames: "",
  row: "", block: "", change: "", node: "", zoom: "", sort: "", axis: "", reserved: "", shapes: "", color: "", search: "", card: "",
  up: "", of: "", palette: "", paper: "", x: "", bucket: "", conf: "", limits: "",
};
const kKeys = Object.keys(kDefaults) as (keyof State)[];

// What no longer means anything once a key has changed, unless it is given anew.
const kOf: Partial<Record<keyof State, (keyof State)[]>> = {
  input: ["at", "from", "to", "device", "row", "block", "change", "node", "zoom"],
  view: ["node", "sort", "zoom"],
  by: ["node", "sort"],
};

export function reduce(state: State, patch: Partial<State>): State {
  const next = { ...state };
  for (const key of kKeys) {
    if (patch[key] !== undefined && patch[key] !== state[key]) {
      for (const other of kOf[key] ?? []) {
        next[other] = kDefaults[other];
      }
    }
  }
  return { ...next, ...patch };
}

// Of other inputs: only the view stays, and how it looks.
export function afresh(state: State): State {
  return { ...kDefaults, view: state.view, palette: state.palette, paper: state.paper };
}

export function readState(fragment: string): State {
  const given = new URLSearchParams(fragment.replace(/^#/, ""));
  const state = { ...kDefaults };
  for (const key of kKeys) {
    state[key] = given.get(key) ?? kDefaults[key];
  }
  return state;
}

export function writeState(state: State): string {
  const given = new URLSearchParams();
  for (const key of kKeys) {
    if (state[key] !== kDefaults[key]) {
      given.set(key, state[key]);
    }
  }
  return `#${given.toString()}`;
}

type Filter = "device" | "frames" | "focus" | "ignore" | FrameFilter;
// What they do to stacks, in the words of the page.
export const kFrameFilters = {
  hide: "hide", show: "show only", "show-from": "start at", "prune-from": "end at",
} as const;
export type FrameFilter = keyof typeof kFrameFilters;
export const kFilters: Filter[] = ["device", "frames", "focus", "ignore", "hide", "show", "show-from", "prune-from"];

// Expressions for whole names, one for each name.
export function eachName(expression: string): string[] {
  return expression.split(/(?<=\$)\|(?=\^)/);
}

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

// What is in sight, in a link: how large, and where.
export function readZoom(text: string): { scale: number; place: string } | undefined {
  const found = /^([\d.e+-]+)@(.+)$/.exec(text);
  return found === null || !(Number(found[1]) > 0) ? undefined : { scale: Number(found[1]), place: found[2]! };
}
export const writeZoom = (scale: number, place: string): string => `${Number(scale.toPrecision(4))}@${place}`;

export function momentWords(state: State): string[] {
  return state.at === "" ? [] : ["--at", state.at];
}

export function parseEvent(moment: string): number | undefined {
  const found = /^event:(\d+)$/.exec(moment);
  return found === null ? undefined : Number(found[1]);
}
