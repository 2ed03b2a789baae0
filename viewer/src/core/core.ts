// The page's side of the core: command lines go in, answers come out. Equal lines are run once.
import { parseAnswer, type Answer } from "./answers";
import { AnswerCache } from "./answer_cache";
import type { FromWorker, Mounted, Ran, ToWorker } from "./protocol";

export class CoreError extends Error {
  constructor(readonly code: number, message: string) {
    super(message);
  }
}

export type JsonForm = "json" | "json-columns"; // --format

type Without<T> = T extends unknown ? Omit<T, "id"> : never;

export class Core {
  onProgress: (bytes: number) => void = () => undefined;
  private next = 0;
  private readonly waiting = new Map<
    number,
    { resolve: (value: unknown) => void; reject: (error: Error) => void }
  >();
  private answers = new AnswerCache();

  private constructor(private readonly worker: Worker) {
    worker.onmessage = (event: MessageEvent<FromWorker>) => this.receive(event.data);
    worker.onerror = (event) => {
      for (const { reject } of this.waiting.values()) {
        reject(new Error(event.message));
      }
      this.waiting.clear();
    };
  }

  // `module`: the core as the page holds it, LZMA in letters.
  static async start(source: Blob, module: string): Promise<Core> {
    const url = URL.createObjectURL(new Blob([source], { type: "text/javascript" }));
    const core = new Core(new Worker(url));
    await core.send({ kind: "start", module });
    URL.revokeObjectURL(url);
    return core;
  }

  async mount(inputs: Mounted[]): Promise<void> {
    this.answers = new AnswerCache();
    await this.send({ kind: "mount", inputs });
  }

  // A file of the page's own, such as keywords.
  async write(path: string, text: string): Promise<void> {
    this.answers.drop((line) => line.includes(path));
    await this.send({ kind: "write", path, text });
  }

  has(words: string[]): boolean {
    return this.answers.has([...words, "--format", "json"].join("\0"));
  }

  run(words: string[]): Promise<Ran> {
    return this.answers.ask(words.join("\0"), () => this.send({ kind: "run", words }) as Promise<Ran>);
  }

  // What a line writes; the program's own sentence as an error when it cannot.
  async text(words: string[]): Promise<string> {
    const ran = await this.run(words);
    if (ran.code !== 0 && ran.code !== 1 && ran.code !== 4) {
      throw new CoreError(ran.code, ran.err.trim());
    }
    return ran.out;
  }

  // As columns a large table is a third of the text.
  async json(words: string[], format: JsonForm = "json"): Promise<Answer> {
    return parseAnswer(await this.text([...words, "--format", format]));
  }

  private send(message: Without<ToWorker>): Promise<unknown> {
    const id = this.next++;
    return new Promise((resolve, reject) => {
      this.waiting.set(id, { resolve, reject });
      this.worker.postMessage({ ...message, id });
    });
  }

  private receive(message: FromWorker): void {
    if (message.kind === "progress") {
      this.onProgress(message.bytes);
      return;
    }
    const waiting = this.waiting.get(message.id);
    this.waiting.delete(message.id);
    if (message.kind === "done") {
      waiting?.resolve(message.result);
    } else {
      waiting?.reject(new Error(message.error));
    }
  }
}
