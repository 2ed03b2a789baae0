// Elements without markup: names come from strangers' files and only ever become text.
import { visible } from "./format";

type Child = Node | string | number | null | undefined | false;
type Props = Record<string, string | number | boolean | ((event: never) => void) | undefined>;

export function h<K extends keyof HTMLElementTagNameMap>(
  tag: K,
  props: Props = {},
  ...children: Child[]
): HTMLElementTagNameMap[K] {
  const element = document.createElement(tag);
  for (const [key, value] of Object.entries(props)) {
    if (typeof value === "function") {
      element.addEventListener(key, value as EventListener);
    } else if (typeof value === "boolean") {
      element.toggleAttribute(key, value);
    } else if (value !== undefined) {
      element.setAttribute(key, String(value));
    }
  }
  append(element, children);
  return element;
}

export function append(element: Element, children: Child[]): void {
  for (const child of children) {
    if (child instanceof Node) {
      element.append(child);
    } else if (child !== null && child !== undefined && child !== false) {
      element.append(visible(String(child)));
    }
  }
}

export function clear(element: Element, ...children: Child[]): void {
  element.replaceChildren();
  append(element, children);
}

// A field of text that is given when Enter is pressed or the field is left, once for each value.
// Firefox says nothing of an Enter on what a script, a password manager or a drop put in.
export function field(
  props: Props & { value: string },
  give: (text: string) => void,
): HTMLInputElement {
  const input = h("input", { type: "search", autocomplete: "off", spellcheck: "false", ...props });
  let given = props.value.trim();
  const tell = (): void => {
    const text = input.value.trim();
    if (text !== given) {
      given = text;
      give(text);
    }
  };
  input.addEventListener("change", tell);
  input.addEventListener("keydown", (event) => {
    if (event.key === "Enter") {
      tell();
    }
  });
  return input;
}

// Tells of printing, before and after, as long as `of` is there: the window holds on to nothing that is gone.
export function whenPrinted<T extends object>(of: T, tell: (of: T, before: boolean) => void): void {
  const kept = new WeakRef(of);
  for (const event of ["beforeprint", "afterprint"]) {
    const listen = (): void => {
      const there = kept.deref();
      if (there === undefined) {
        removeEventListener(event, listen);
      } else {
        tell(there, event === "beforeprint");
      }
    };
    addEventListener(event, listen);
  }
}

// Puts an element in place of what is in another. A keyboard stays where it was: on the element of the same
// name, or the same picture.
export function swap<T extends HTMLElement>(content: HTMLElement, into: T): T {
  const active = document.activeElement;
  const inside = active !== null && content.contains(active) && active !== content;
  const path = !inside ? "" : active.id !== "" ? `#${CSS.escape(active.id)}`
    : active instanceof HTMLCanvasElement ? `canvas.${active.className}` : "";
  content.replaceChildren(into);
  const same = path === "" ? null : into.querySelector<HTMLElement>(path);
  (same ?? (inside ? content : null))?.focus({ preventScroll: true });
  return into;
}
