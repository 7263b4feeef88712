// Elements of the page. Texts become text nodes, so that names in scenarios cannot be markup.

export type Child = Node | string | null | undefined | false;

type Given = Record<string, string | number | boolean | EventListener | undefined>;

/** An element with attributes, listeners (`onclick`) and children. */
export function el<K extends keyof HTMLElementTagNameMap>(
  name: K,
  given: Given = {},
  ...children: Child[]
): HTMLElementTagNameMap[K] {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(given)) {
    if (typeof value === "function") made.addEventListener(key.slice(2), value);
    else if (value === true) made.setAttribute(key, "");
    else if (value !== false && value !== undefined) made.setAttribute(key, String(value));
  }
  made.append(...children.filter((child) => child !== null && child !== undefined && child !== false));
  return made;
}

/** A button with a handler. */
export function button(text: string, onclick: () => void, given: Given = {}): HTMLButtonElement {
  return el("button", { type: "button", onclick, ...given }, text);
}

/** A part that scrolls sideways, which a keyboard can do while it has the focus. */
export function scrolling(label: string, given: Given = {}, ...children: Child[]): HTMLElement {
  return el("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": label, ...given }, ...children);
}

/** Replace the content of an element. */
export function fill(parent: Element, ...children: Child[]): void {
  parent.replaceChildren(...children.filter((one) => one !== null && one !== undefined && one !== false));
}
