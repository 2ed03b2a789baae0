// What is out of sight is brought up to date once moments rest, or as soon as it comes into sight: to make
// it anew while they follow one another costs as much as all that is seen.
import { whenPrinted } from "../core/dom";
import { kRest } from "./rest";

export class WhenSeen {
  private work: (() => Promise<void>) | undefined;
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

  // -> when it is done, if it is in sight
  do(work: () => Promise<void>): Promise<void> | undefined {
    clearTimeout(this.timer);
    this.work = this.seen ? undefined : work;
    if (this.seen) {
      return work();
    }
    this.timer = setTimeout(() => this.now(), kRest);
    return undefined;
  }

  private now(): void {
    clearTimeout(this.timer);
    const { work } = this;
    this.work = undefined;
    work?.().catch(() => undefined); // another moment or view by now
  }
}
