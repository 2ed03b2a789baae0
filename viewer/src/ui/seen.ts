// What is out of sight is brought up to date once moments rest, or as soon as it comes into sight: to make
// it anew while they follow one another costs as much as all that is seen.
import { whenPrinted } from "../core/dom";
import { kRest } from "./rest";

export class WhenSeen {
  private work: (() => void) | undefined;
  private timer = 0;
  private seen = true;

  constructor(element: HTMLElement) {
    new IntersectionObserver((changes) => {
      this.seen = changes.at(-1)!.isIntersecting;
      if (this.seen) {
        this.now();
      }
    }, { rootMargin: "100px" }).observe(element);
    whenPrinted<WhenSeen>(this, (it) => it.now());
  }

  do(work: () => void): void {
    this.work = work;
    if (this.seen) {
      this.now();
    } else {
      clearTimeout(this.timer);
      this.timer = setTimeout(() => this.now(), kRest);
    }
  }

  private now(): void {
    clearTimeout(this.timer);
    const { work } = this;
    this.work = undefined;
    work?.();
  }
}
