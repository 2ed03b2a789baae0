// What is in sight becomes part of the link once a gesture has come to rest: one entry of the history each.
import type { Context } from "./context";

export const kRest = 250; // ms without a gesture, or another moment

export class Rest {
  private timer = 0;
  private zoom = "";

  constructor(private readonly context: Context) {}

  later(zoom: string): void {
    clearTimeout(this.timer);
    this.zoom = zoom;
    this.timer = setTimeout(() => this.now(), kRest);
  }
  // Before anything else changes.
  now(): void {
    if (this.timer !== 0) {
      clearTimeout(this.timer);
      this.timer = 0;
      const { context, zoom } = this;
      const lines = [...context.lines];
      if (zoom !== context.state.zoom) {
        context.refine({ zoom }, async () => void context.lines.push(...lines)); // the same figures
      }
    }
  }
}
