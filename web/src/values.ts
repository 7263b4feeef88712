// The values of a scenario, each in a field, so that a reader can change one.

import { el, fill } from "./dom.ts";
import type { Document } from "./model.ts";

/** More fields than these are for the editor. */
const MOST_FIELDS = 40;
/** Keys of the scenario itself that do not change its runs, or change their number. */
const OTHERS = ["title", "description", "controls", "record"];

type Value = string | number | boolean;

interface Leaf {
  path: string[];
  value: Value;
}

/** The plain values of a document, with their paths. */
export function leavesOf(node: unknown, path: string[] = []): Leaf[] {
  if (typeof node !== "object" || node === null) {
    return ["string", "number", "boolean"].includes(typeof node) ? [{ path, value: node as Value }] : [];
  }
  // Lists of names, such as a path, are for the editor.
  if (Array.isArray(node) && node.every((one) => typeof one === "string")) return [];
  return Object.entries(node).flatMap(([key, value]) =>
    path.length === 0 && OTHERS.includes(key) ? [] : leavesOf(value, [...path, key]),
  );
}

/** A copy of a document with another value at a path. */
export function changed(document: Document, path: readonly string[], value: Value): Document {
  const copy = structuredClone(document);
  let node: Record<string, unknown> = copy;
  for (const key of path.slice(0, -1)) node = node[key] as Record<string, unknown>;
  node[path.at(-1) ?? ""] = value;
  return copy;
}

/** The text of a field as a value of the same kind. */
function read(text: string, like: Value): Value {
  if (typeof like === "boolean") return text.trim() === "true";
  const number = Number(text);
  return typeof like === "number" && text.trim() !== "" && Number.isFinite(number) ? number : text.trim();
}

/** The fields of a scenario; `onChange` follows each change. */
export class Values {
  readonly element = el("details", { class: "values", open: true });
  private document: Document | undefined;

  constructor(private readonly onChange: (document: Document) => void) {}

  /** Offer the values of a document; without one, offer nothing. */
  show(document: Document | undefined): void {
    this.document = document;
    const leaves = document ? leavesOf(document) : [];
    const fields = leaves.slice(0, MOST_FIELDS).map((leaf) => this.field(leaf));
    this.element.hidden = fields.length === 0;
    fill(this.element, el("summary", {}, "Change a value"), ...fields);
  }

  private field({ path, value }: Leaf): HTMLElement {
    const input = el("input", { type: "text", value: String(value), spellcheck: "false" });
    input.addEventListener("change", () => {
      if (!this.document) return;
      this.document = changed(this.document, path, read(input.value, value));
      this.onChange(this.document);
    });
    // A long path breaks after its dots.
    const parts = path.flatMap((key, place) => (place === 0 ? [key] : [".", el("wbr"), key]));
    return el("label", {}, el("span", {}, ...parts), input);
  }
}
