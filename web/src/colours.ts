// The look of each line, as python/sojourn/record/legend.py chooses it.

import { el } from "./dom.ts";
import { DASHES, INKS, type Ink, WEIGHTS } from "./palette.ts";
import { isBeside, withoutMark } from "./panels.ts";

/** A line's colour, dash and width over the usual one. */
export interface Look {
  colour: string;
  dash: readonly number[];
  weight: number;
}

const OWN = new Map(INKS.map((ink) => [ink.name, ink]));
/** The number of dashes that first lines have: the first ones. */
const BASES = 1 + Math.max(...INKS.map(({ dash }) => dash));
const OTHERS = INKS.filter(({ name }) => !name);
/** The dash of recorded and earlier runs. */
const BESIDE = [3, 3];

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

/**
 * The look of each label, from the name of its owner, such as a controller with its parameters. Further labels
 * of an owner differ in dash and weight; a recorded line has the colour of the changed one.
 */
export function looksOf(owners: ReadonlyMap<string, string>, isLight = !isDark()): Map<string, Look> {
  const known = new Map<string, Ink>();
  const count = new Map<Ink, number>();
  const used = (one: Ink) => count.get(one) ?? 0;
  const found = new Map<string, Look>();
  for (const [label, owner] of owners) {
    const changed = found.get(withoutMark(label));
    if (isBeside(label) && changed) {
      found.set(label, { ...changed, dash: BESIDE });
      continue;
    }
    const ink = OWN.get(owner.split(" ")[0] ?? "") ?? known.get(owner) ?? leastUsed(owner, used);
    known.set(owner, ink);
    // Colours are apart only among controllers of one dash, which have the same further dashes.
    const dashes = DASHES.filter((_, place) => place % BASES === ink.dash);
    const place = used(ink);
    count.set(ink, used(ink) + 1);
    found.set(label, {
      colour: isLight ? ink.light : ink.dark,
      dash: isBeside(label) ? BESIDE : (dashes[place % dashes.length] ?? []),
      weight: WEIGHTS[Math.floor(place / dashes.length) % WEIGHTS.length] ?? 1,
    });
  }
  return found;
}

/** The looks of lines that have no owner, such as those of a link. */
export const looksOfNames = (names: readonly string[]) => looksOf(new Map(names.map((name) => [name, name])));

/** The look that follows from the letters of a name, or the next that has fewer lines. */
function leastUsed(name: string, used: (ink: Ink) => number): Ink {
  const place = [...name].reduce((sum, one) => sum + (one.codePointAt(0) ?? 0), 0) % OTHERS.length;
  const turned = [...OTHERS.slice(place), ...OTHERS.slice(0, place)];
  return turned.reduce((least, one) => (used(one) < used(least) ? one : least));
}

/** A sample of a line, for a legend. */
export function swatch({ colour, dash, weight }: Look): HTMLElement {
  const sample = el("span", { class: "swatch", "aria-hidden": "true" });
  const stops = dash.flatMap((part, place) => {
    const from = dash.slice(0, place).reduce((sum, one) => sum + one, 0) / 2;
    return `${place % 2 ? "transparent" : colour} ${from}px ${from + part / 2}px`;
  });
  sample.style.background = dash.length ? `repeating-linear-gradient(90deg, ${stops.join(", ")})` : colour;
  sample.style.transform = `scaleY(${weight})`;
  return sample;
}
