// Answers by their lines, those that were asked for last: as many letters of them as a page may hold.
import type { Ran } from "./protocol";

const kMost = 1000;
const kMostLetters = 64_000_000; // a map of 100,000 blocks has 5 million

export class Kept {
  private readonly all = new Map<string, { ran: Promise<Ran>; letters: number }>();
  private letters = 0;

  has(line: string): boolean {
    return this.all.has(line);
  }

  ask(line: string, run: () => Promise<Ran>): Promise<Ran> {
    const known = this.all.get(line);
    const one = known ?? { ran: run(), letters: 0 };
    this.all.delete(line);
    this.all.set(line, one);
    if (known === undefined) {
      one.ran.then(({ out }) => {
        if (this.all.get(line) === one) { // still wanted
          one.letters = out.length;
          this.letters += out.length;
          this.trim();
        }
      }, () => undefined);
      this.trim();
    }
    return one.ran;
  }

  drop(wanted: (line: string) => boolean): void {
    for (const [line, { letters }] of this.all) {
      if (wanted(line)) {
        this.all.delete(line);
        this.letters -= letters;
      }
    }
  }

  private trim(): void {
    for (const [line, { letters }] of this.all) {
      if (this.all.size <= 1 || (this.all.size <= kMost && this.letters <= kMostLetters)) {
        return;
      }
      this.all.delete(line);
      this.letters -= letters;
    }
  }
}
