// The names of lines at their right ends, without overlap.

import type { Layer } from "./model.ts";
import { type Drawn, before, escaped, ink, round } from "./panel.ts";

/** More names are not readable beside a panel. */
const MOST = 8;
const LETTER = 6.3;
const LINE = 12;
const GAP = 5;
/** A longer name is cut. */
const LONGEST = 16;

interface End {
  text: string;
  colour: string | undefined;
  /** Its value in pixels from the top, and the place of its name. */
  at: number;
  shown: number;
}

/** The lines that have names at their ends: all that a legend names, if they are few. */
export function namedLines(layers: readonly Layer[]): Layer[] {
  const lines = layers.filter(({ kind, name, listed, opacity }) => kind === "line" && name && listed !== false && opacity === undefined);
  return lines.length > 1 && lines.length <= MOST ? lines : [];
}

/** The name of a line: its flow, if others have its name too. */
function textOf(line: Layer, lines: readonly Layer[]): string {
  const isAlone = lines.filter(({ name }) => name === line.name).length === 1;
  const text = isAlone ? line.name : (line.part ?? line.name);
  return text.length > LONGEST ? `${text.slice(0, LONGEST - 1)}…` : text;
}

/** The width that the names need. */
export function endsWidth(lines: readonly Layer[]): number {
  return lines.length ? LETTER * Math.max(...lines.map((line) => textOf(line, lines).length)) + 2 * GAP : 0;
}

/** The names beside the panel, each at the height of its line's end or next to it. */
export function endsOf(lines: readonly Layer[], { x, y, left, top, width, height }: Omit<Drawn, "svg">): string {
  const right = x.ends[1];
  const ends = lines.flatMap((line): End[] => {
    const [xs = [], ys = []] = line.columns;
    let row = before(xs, right);
    while (row >= 0 && ys[row] === null) row -= 1;
    const value = ys[row];
    if (typeof value !== "number") return [];
    const at = top + height * (1 - Math.min(Math.max(y.at(value), 0), 1));
    return [{ text: textOf(line, lines), colour: line.colour, at, shown: at }];
  });
  spread(ends, top + LINE / 2, top + height - LINE / 2);
  const edge = left + width;
  return ends
    .map(({ text, colour, at, shown }) => `<path d="M${round(edge)} ${round(at)}L${round(edge + GAP)} ${round(shown)}" stroke="${ink(colour)}" fill="none"/><text class="label" x="${round(edge + GAP + 2)}" y="${round(shown + 4)}" fill="${ink(colour)}">${escaped(text)}</text>`)
    .join("");
}

/** Moves names apart, in the order of their lines, within the panel. */
function spread(ends: End[], least: number, most: number): void {
  ends.sort((a, b) => a.at - b.at);
  let above = least - LINE;
  for (const end of ends) above = end.shown = Math.max(end.at, above + LINE);
  let below = most + LINE;
  for (const end of [...ends].reverse()) below = end.shown = Math.min(end.shown, below - LINE);
}
