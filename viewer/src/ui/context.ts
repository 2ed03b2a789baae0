// What a view gets: inputs, state, and a way to ask. A view draws into its own element and asks
// with command lines; those are listed below it.
import type { Picture } from "../charts/pen";
import type { Answer } from "../core/answers";
import type { Core, JsonForm } from "../core/core";
import { h } from "../core/dom";
import type { InputFacts } from "../core/inputs";
import { filterWords, momentWords, type State } from "../core/state";

// The page shows something else by now; what a view still wants to know is not asked.
export class Outdated extends Error {
  constructor() {
    super("");
  }
}

export interface Host {
  change: (patch: Partial<State>) => void;
  refine: (context: Context, patch: Partial<State>, work: () => Promise<void>) => void;
  shows: (context: Context) => boolean;
  offers: (view: string) => boolean; // for what is open
}

// What is kept between views and stands in no link. Other inputs begin with a new one.
export class Session {
  keywords = ""; // edited ones, as YAML
  allLabels = false; // shown, however many
  pasted = ""; // an out-of-memory message
  budget = ""; // limits, as YAML
  leftOut: string[] = []; // inputs that cannot be read
}

export class Context {
  readonly lines: string[][] = [];
  picture: (() => Picture) | undefined; // what "save SVG" saves
  pictureWords: string[] | undefined; // the line that has its figures, if not the first
  onMoment: (() => Promise<void>) | undefined; // brings what another moment or block changes, in a view that stays
  keys: Record<string, () => void> = {}; // of this view, anywhere on the page
  turn = 0;

  constructor(
    private readonly core: Core,
    public state: State,
    readonly inputs: InputFacts[],
    readonly job: InputFacts[], // all of them, where one was chosen
    readonly bases: string[],
    readonly info: Answer,
    readonly session: Session,
    private readonly host: Host,
  ) {}

  get first(): InputFacts {
    return this.inputs[0]!;
  }
  get names(): string[] {
    return this.inputs.map((input) => input.name);
  }
  get baseWords(): string[] {
    return this.bases.flatMap((name) => ["--diff-base", name]);
  }
  get moment(): string[] {
    return this.first.hasHistory ? momentWords(this.state) : [];
  }
  get momentAndFilters(): string[] {
    return [...this.moment, ...filterWords(this.state)];
  }
  get filters(): string[] {
    return filterWords(this.state);
  }
  // Of a command that shows all that is live, whoever holds it.
  get deviceAndFrames(): string[] {
    return filterWords(this.state, ["device", "frames"]);
  }
  get filtersStacks(): boolean {
    return this.state.focus !== "" || this.state.ignore !== "";
  }

  // Of a view that shows one input of several.
  alone(): HTMLElement | false {
    return this.inputs.length > 1 && h("p", { class: "note" }, `of ${this.first.name} alone: another input can be chosen above`);
  }

  change(patch: Partial<State>): void {
    this.host.change(patch);
  }
  // The view stays and brings itself up to date.
  refine(patch: Partial<State>, work: () => Promise<void>): void {
    this.host.refine(this, patch, work);
  }
  readonly offers = (view: string): boolean => this.host.offers(view);
  get shown(): boolean {
    return this.host.shows(this);
  }

  json(words: string[]): Promise<Answer> {
    this.list(words);
    return this.core.json(words);
  }
  text(words: string[]): Promise<string> {
    this.list(words);
    return this.core.text(words);
  }
  // Not listed: what the page itself needs.
  quietly(words: string[], format?: JsonForm): Promise<Answer> {
    if (!this.shown) {
      throw new Outdated();
    }
    return this.core.json(words, format);
  }
  // Its text.
  quietText(words: string[]): Promise<string> {
    if (!this.shown) {
      throw new Outdated();
    }
    return this.core.text(words);
  }
  // Whether that was asked already.
  has(words: string[]): boolean {
    return this.core.has(words);
  }
  list(words: string[]): void {
    if (!this.shown) {
      throw new Outdated();
    }
    this.lines.push(words);
  }
  write(path: string, text: string): Promise<void> {
    return this.core.write(path, text);
  }
}

export interface View {
  id: string;
  title: string;
  shows(context: Context): boolean;
  draw(context: Context, into: HTMLElement): Promise<void>;
}
