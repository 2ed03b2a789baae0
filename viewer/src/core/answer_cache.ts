// What command lines wrote, those that were asked for last: the least recently used go first.
import type { Ran } from "./protocol";

const kMaxAnswers = 1000;
const kMaxCharacters = 64_000_000; // a map of 100,000 blocks has 5 million

export class AnswerCache {
  private readonly all = new Map<string, { ran: Promise<Ran>; characters: number }>();
  private characters = 0;

  has(line: string): boolean {
    return this.all.has(line);
  }

  ask(line: string, run: () => Promise<Ran>): Promise<Ran> {
    const known = this.all.get(line);
    const one = known ?? { ran: run(), characters: 0 };
    this.all.delete(line);
    this.all.set(line, one);
    if (known === undefined) {
      one.ran.then(({ out }) => {
        if (this.all.get(line) === one) { // not thrown out meanwhile
          one.characters = out.length;
          this.characters += out.length;
          this.trim();
        }
      }, () => undefined);
      this.trim();
    }
    return one.ran;
  }

  drop(wanted: (line: string) => boolean): void {
    for (const [line, { characters }] of this.all) {
      if (wanted(line)) {
        this.all.delete(line);
        this.characters -= characters;
      }
    }
  }

  private trim(): void {
    for (const [line, { characters }] of this.all) {
      if (this.all.size <= 1 || (this.all.size <= kMaxAnswers && this.characters <= kMaxCharacters)) {
        return;
      }
      this.all.delete(line);
      this.characters -= characters;
    }
  }
}
