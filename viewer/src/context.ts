// What a view gets: inputs, state, and a way to ask. A view draws into its own element and asks
// with command lines; those are listed below it.
import type { Answer } from "./answers";
import type { Core } from "./core";
import { filterWords, momentWords, type State } from "./state";

export interface InputFacts {
  name: string;
  format: string;
  hasHistory: boolean;
  hasSegments: boolean;
  hasRows: boolean;
  devices: { device: number; events: number; peakEvent: number; oomEvents: number[] }[];
}

export class Context {
  readonly lines: string[][] = [];

  constructor(
    private readonly core: Core,
    readonly state: State,
    readonly inputs: InputFacts[],
    readonly bases: string[],
    readonly info: Answer,
    readonly change: (patch: Partial<State>) => void,
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
  get momentAndFilters(): string[] {
    return [...(this.first.hasHistory ? momentWords(this.state) : []), ...filterWords(this.state)];
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

  json(words: string[]): Promise<Answer> {
    this.lines.push(words);
    return this.core.json(words);
  }
  text(words: string[]): Promise<string> {
    this.lines.push(words);
    return this.core.text(words);
  }
  // Not listed: what the page itself needs.
  quietly(words: string[]): Promise<Answer> {
    return this.core.json(words);
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
