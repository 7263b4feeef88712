// The colour of each line: those of python/sojourn/legend.py, lighter on a dark page.

import { el } from "./dom.ts";
import { isBeside, withoutMark } from "./panels.ts";

const KNOWN: Record<string, string> = {
  reno: "#b9629a",
  cubic: "#0072b2",
  bbr: "#d55e00",
  bbr3: "#3d1fe0",
  copa: "#4c7a34",
  dctcp: "#009e73",
  prague: "#b87900",
  vegas: "#7a6a00",
  ledbat: "#b5651d",
  "ledbat++": "#8a5a44",
  swift: "#5a6e00",
  vivace: "#b0005e",
  lola: "#7b52ab",
  rapid: "#a23b3b",
  ideal: "#222222",
};
const OTHERS = ["#00798c", "#2f8fc4", "#5b6abf", "#b0446e", "#3f7f6b", "#8d6aa0", "#6b7f1e", "#b0563b"];

/** Whether the page is dark now. */
export const isDark = () => matchMedia("(prefers-color-scheme: dark)").matches;

const inks = new Map<string, string>();

/** The colour of a role, from the style sheet. */
export function ink(role: string): string {
  // Kept, because a chart asks for hundreds, and the style sheet takes long.
  const key = `${role} ${isDark()}`;
  let found = inks.get(key);
  if (found === undefined) {
    found = getComputedStyle(document.documentElement).getPropertyValue(role);
    inks.set(key, found);
  }
  return found;
}

/** The colours of lines, in their order. A recorded line has the colour of the changed one. */
export function coloursOf(labels: readonly string[], isLight = !isDark()): string[] {
  const found = new Map<string, string>();
  return labels.map((label) => {
    const name = withoutMark(label);
    const known = Object.hasOwn(KNOWN, name) ? KNOWN[name] : undefined;
    const colour = found.get(name) ?? known ?? OTHERS[found.size % OTHERS.length] ?? "#777777";
    found.set(name, colour);
    return isLight ? colour : lighter(colour);
  });
}

/** Dashes of the lines, for colours that occur again. Recorded lines have dashes of their own. */
const CYCLES = [[], [10, 4], [10, 3, 2, 3]];

/** The dashes of lines, in their order: empty for a solid line. */
export function dashesOf(labels: readonly string[]): number[][] {
  const names = [...new Set(labels.map(withoutMark))];
  return labels.map((label) => {
    if (isBeside(label)) return [3, 3];
    const cycle = Object.hasOwn(KNOWN, label) ? 0 : Math.floor(names.indexOf(label) / OTHERS.length);
    return CYCLES[cycle % CYCLES.length] ?? [];
  });
}

/** A sample of a line, for a legend. */
export function swatch(colour: string, dash: number[] = []): HTMLElement {
  const sample = el("span", { class: "swatch", "aria-hidden": "true" });
  const [on = 0] = dash;
  sample.style.background =
    on > 0 ? `repeating-linear-gradient(90deg, ${colour} 0 ${on / 2}px, transparent 0 ${on / 2 + 2}px)` : colour;
  return sample;
}

/** The colour mixed with white, so that it contrasts with a dark page. */
function lighter(colour: string): string {
  const parts = [1, 3, 5].map((at) => Number.parseInt(colour.slice(at, at + 2), 16));
  const [r = 0, g = 0, b = 0] = parts;
  const luminance = (0.2126 * r + 0.7152 * g + 0.0722 * b) / 255;
  const white = luminance < 0.2 ? 0.72 : 0.42;
  return `rgb(${parts.map((part) => Math.round(part + (255 - part) * white)).join(" ")})`;
}
