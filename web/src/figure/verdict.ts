// The picture of a verdict as SVG: a bar for each controller, the unavoidable part first.

import { brief } from "../formatting.ts";
import { PARTS, type PartInk } from "../palette.ts";
import type { VerdictPicture, VerdictRow } from "../record.ts";
import { escaped, ink, round } from "./panel.ts";

/** How a picture is shown. */
export interface BarsView {
  width: number;
  /** The colour of the lines of each row's controller, if it has one. */
  colours: readonly (string | null | undefined)[];
  /** Whether colours are those on a dark ground; a report changes them by its style. */
  isDark?: boolean;
}

/** A narrower picture has names and figures above its bars. */
const NARROW = 560;
const LETTER = 7.5;
/** Share of the scale from which a part is in the legend. */
const VISIBLE = 0.003;
const GAP = 8;
const DOT = 14;
/** Heights of a row, of its bar, and of a line of the legend. */
const ROW = { wide: 26, narrow: 44 };
const BAR = 16;
const LINE = 20;

interface Place {
  left: number;
  /** Width of the longest bar. */
  room: number;
  /** From the top of a row to that of its bar. */
  above: number;
  row: number;
}

/** The picture; its title and caption stand beside it. */
export function drawVerdict(picture: VerdictPicture, view: BarsView): { svg: string; height: number } {
  const place = placeOf(picture, view.width);
  const rows = picture.rows.map((row, at) => `<g transform="translate(0 ${at * place.row})">${dotOf(view.colours[at], place)}${rowOf(row, picture, place, view)}</g>`);
  const legend = legendOf(picture, picture.rows.length * place.row + 4, view);
  const [width, height] = [round(view.width), round(legend.bottom)];
  const said = [picture.title, ...picture.rows.map(spoken), picture.caption].join(". ");
  const head = `<svg xmlns="http://www.w3.org/2000/svg" class="bars" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" role="img" aria-label="${escaped(said)}">`;
  return { svg: `${head}${rows.join("")}${legend.svg}</svg>`, height };
}

const longest = (texts: string[]) => LETTER * Math.max(...texts.map((text) => text.length));

function placeOf({ rows }: VerdictPicture, width: number): Place {
  const [names, texts] = [longest(rows.map(({ control }) => control)), longest(rows.map(({ text }) => text))];
  const left = DOT + names + GAP;
  const room = width - left - texts - 2 * GAP;
  if (width < NARROW || room < NARROW / 3) return { left: 0, room: width, above: LINE, row: ROW.narrow };
  return { left, room, above: (ROW.wide - BAR) / 2, row: ROW.wide };
}

function rowOf(row: VerdictRow, { scale_s }: VerdictPicture, { left, room, above }: Place, view: BarsView): string {
  let end = left;
  const parts = row.parts.map(({ part, delay_s }) => {
    const { label, colour } = lookOf(part, view);
    const [from, width] = [end, (room * delay_s) / (scale_s || 1)];
    end += width;
    // A line of the ground parts neighbours of like lightness.
    const shown = Math.max(width - 1, 0.5);
    return `<rect x="${round(from)}" y="${above}" width="${round(shown)}" height="${BAR}" fill="${ink(colour)}"><title>${escaped(`${row.control}: ${label} ${brief(delay_s)}`)}</title></rect>`;
  });
  const base = baseOf({ left, above });
  const name = `<text class="name" x="${DOT}" y="${base}">${escaped(row.control)}</text>`;
  const at = left === 0 ? `text-anchor="end" x="${round(room)}"` : `x="${round(end + GAP)}"`;
  return `${name}${parts.join("")}<text ${at} y="${base}">${escaped(row.text)}</text>`;
}

/** The base line of the texts of a row. */
const baseOf = ({ left, above }: Pick<Place, "left" | "above">) => (left === 0 ? LINE - 6 : above + BAR / 2 + 4.5);

function dotOf(colour: string | null | undefined, place: Place): string {
  return colour ? `<circle cx="5" cy="${baseOf(place) - 4.5}" r="5" fill="${ink(colour)}"/>` : "";
}

function lookOf(part: string, { isDark }: BarsView): { label: string; colour: string } {
  const { label, light, dark } = PARTS.find(({ name }) => name === part) as PartInk;
  return { label, colour: isDark ? dark : light };
}

/** The names of the colours, in as many lines as they need. */
function legendOf({ rows, scale_s }: VerdictPicture, top: number, view: BarsView): { svg: string; bottom: number } {
  const shown = new Set<string>(rows.flatMap(({ parts }) => parts.filter(({ delay_s }) => delay_s >= VISIBLE * scale_s).map(({ part }) => part)));
  let [left, line] = [0, top];
  const entries = PARTS.filter(({ name }) => shown.has(name)).map(({ name, label }) => {
    const width = DOT + longest([label]) + 2 * GAP;
    if (left > 0 && left + width > view.width) [left, line] = [0, line + LINE];
    const entry = `<rect x="${round(left)}" y="${line + 4}" width="10" height="10" fill="${ink(lookOf(name, view).colour)}"/><text x="${round(left + DOT)}" y="${line + 13}">${escaped(label)}</text>`;
    left += width;
    return entry;
  });
  return { svg: entries.join(""), bottom: line + LINE };
}

/** A row for a screen reader. */
function spoken({ control, parts, text }: VerdictRow): string {
  const each = parts.map(({ part, delay_s }) => `${brief(delay_s)} ${PARTS.find(({ name }) => name === part)?.label}`);
  return `${control} ${text}: ${each.join(", ")}`;
}
