// The views that an input has, as a list beside them; on a phone a row that scrolls.
import { clear, h } from "../core/dom";
import type { View } from "./context";

export function drawTabs(tabs: HTMLElement, views: View[], shown: View, open: (id: string) => void): void {
  if (tabs.children.length !== views.length || views.some((view, i) => tabs.children[i]!.id !== `view-${view.id}`)) {
    clear(tabs, ...views.map((view, i) =>
      h("button", { type: "button", id: `view-${view.id}`, title: `${view.title} (${(i + 1) % 10})`, click: () => open(view.id) }, view.title)));
  }
  views.forEach((view, i) => tabs.children[i]!.setAttribute("aria-current", view === shown ? "page" : "false"));
  const tab = tabs.children[views.indexOf(shown)] as HTMLElement | undefined;
  tabs.scrollLeft = Math.max(0, (tab?.offsetLeft ?? 0) - tabs.offsetLeft - 40);
}
