// Draws one panel as SVG: a text, so that it can be shown, saved and tested alike.

import { endsOf, endsWidth, namedLines } from "./ends.ts";
import { marksOf } from "./marks.ts";
import type { Column, Layer, Panel, Scale } from "./model.ts";
import { type Axis, axisOf } from "./scale.ts";

/** How a panel is shown. */
export interface View {
  width: number;
  /** The shown part of the x axis, instead of all. */
  part?: readonly [number, number] | undefined;
  /** The selected link. */
  link?: string | undefined;
  /** The chosen names of the legend; without one, all are. */
  chosen?: ReadonlySet<string> | undefined;
  /** Whether lines have their names at their ends. */
  ends?: boolean | undefined;
  /** The room that the names of other panels need there, so that time axes are aligned. */
  room?: number | undefined;
  /** A part to mark. */
  marked?: readonly [number, number] | undefined;
  /** Ends of the y axis to keep while the values fill a good part of them, so that it does not jump. */
  keep?: readonly [number, number] | undefined;
}

/** A panel as drawn, with its geometry in pixels. */
export interface Drawn {
  svg: string;
  x: Axis;
  y: Axis;
  left: number;
  top: number;
  width: number;
  height: number;
  /** The height with the axis below. */
  whole: number;
  layers: Layer[];
}

const HEIGHT = 200;
const TOP = 6;
const RIGHT = 12;
const LETTER = 6.3;
const LINE = 13;
/** Letters of a name on the y axis. */
const MOST_LETTERS = 24;
/** A guide this much above the data extends the axis; one further out would flatten them. */
const REACH = 1.3;

let count = 0;

export function drawPanel(panel: Panel, view: View): Drawn {
  const layers = layersOf(panel, view.link);
  const height = panel.height ?? HEIGHT;
  const [lowY, highY] = extentOf(layers, "y", view.part);
  const axis = (scale = panel.y_scale) => axisOf(lowY, highY, Math.max(2, height / 34), scale, panel.y_axis);
  const own = axis();
  const y = fits(own.ends, view.keep) ? axis({ ...panel.y_scale, domain: view.keep }) : own;
  const lines = y.ticks.map(({ label }) => wrapped(label));
  const letters = Math.max(3, ...lines.flat().map((line) => line.length));
  const left = panel.bare ? 4 : Math.max(panel.zoom ? 48 : 38, letters * LETTER + 12) + (panel.y && isTitled(panel) ? 16 : 0);
  const isChosen = ({ name, part = "" }: Layer) => !view.chosen?.size || view.chosen.has(name) || view.chosen.has(part);
  const named = view.ends ? namedLines(layers.filter(isChosen)) : [];
  const width = Math.max(view.width - left - Math.max(RIGHT, endsWidth(named), view.room ?? 0), 60);
  const x = xAxis(panel, layers, view, width);
  const longest = Math.max(0, ...x.ticks.map(({ label }) => label.length));
  const tilt = panel.x_axis?.tilted ? longest * LETTER * 0.72 + 8 : 16;
  const bottom = panel.bare ? 4 : tilt + (panel.x ? 17 : 4);
  const whole = TOP + height + bottom;
  const drawn = { x, y, left, top: TOP, width, height, whole, layers };
  const id = `clip${count++}`;
  const clip = `<clipPath id="${id}"><rect x="${left}" y="${TOP}" width="${width}" height="${height}"/></clipPath>`;
  const parts = [
    clip,
    panel.bare ? "" : grid(panel, drawn, lines),
    `<g clip-path="url(#${id})">`,
    ...panel.behind.map((shade) => shade.spans.map((span) => span_(drawn, span, shade.colour, 0.6)).join("")),
    ...layers.map((layer) => faded(layer, view, marksOf(layer, drawn))),
    view.marked ? span_(drawn, view.marked, "#888888", 0.18) : "",
    "</g>",
    endsOf(named, drawn),
  ];
  const head = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${round(view.width)} ${round(whole)}" width="${round(view.width)}" height="${round(whole)}" role="img" aria-label="${escaped(panel.title)}">`;
  return { ...drawn, svg: `${head}${parts.join("")}</svg>` };
}

/** Values that fill less of an axis than this get their own. */
const FILLED = 0.5;

/** Whether values with an axis of these ends can have the kept one. */
function fits([low, high]: readonly [number, number], keep: View["keep"]): keep is readonly [number, number] {
  return keep !== undefined && keep[0] <= low && keep[1] >= high && high - low > FILLED * (keep[1] - keep[0]);
}

/** The layers that the selected link has. */
export function layersOf(panel: Panel, selected: string | undefined): Layer[] {
  return panel.layers.filter(({ link }) => link === undefined || selected === undefined || link === selected);
}

const isTitled = (panel: Panel) => !panel.title.includes(panel.y ?? "");

function xAxis(panel: Panel, layers: readonly Layer[], view: View, width: number): Axis {
  const scale: Scale = view.part ? { domain: view.part } : (panel.x_scale ?? {});
  const [low, high] = extentOf(layers, "x");
  return axisOf(low, high, Math.max(2, width / 70), { ...scale, type: panel.x_scale?.type ?? "linear" }, panel.x_axis);
}

/** The ends of the values that the layers show, in a part of the x axis. */
function extentOf(layers: readonly Layer[], axis: "x" | "y", part?: readonly [number, number]): [number, number] {
  const own = layers.filter(({ kind }) => kind !== "rules");
  let [low, high] = [Infinity, -Infinity];
  for (const layer of own) {
    const [from, to] = reach(layer, part);
    for (const column of columnsOf(layer, axis)) {
      for (let row = from; row < to; row++) {
        const value = column[row];
        if (value === null || value === undefined) continue;
        if (value < low) low = value;
        if (value > high) high = value;
      }
    }
  }
  if (axis === "x") return [low, high];
  for (const layer of layers) {
    if (layer.kind !== "rules") continue;
    for (const value of layer.columns[1] ?? []) if (value !== null && value > high && value < REACH * high) high = value;
  }
  return [low, high];
}

/** The rows of a line or band in a part of the x axis, with those beside it. */
function reach({ kind, columns }: Layer, part?: readonly [number, number]): [number, number] {
  const x = columns[0] ?? [];
  if (!part || (kind !== "line" && kind !== "area")) return [0, x.length];
  const [from, to] = [before(x, part[0]), before(x, part[1])];
  return [Math.max(0, from), Math.min(x.length, to + 1)];
}

/** The last row whose value is not greater; the values rise. */
export function before(x: Column, value: number): number {
  let [low, high] = [0, x.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((x[middle] ?? 0) <= value) low = middle + 1;
    else high = middle;
  }
  return low - 1;
}

function columnsOf({ kind, columns, horizontal }: Layer, axis: "x" | "y"): Column[] {
  const [a = [], b = [], c = [], d = []] = columns;
  if (kind === "boxes") return (axis === "y") === !horizontal ? columns.slice(1) : [a];
  if (axis === "x") return kind === "rects" ? [a, c] : [a];
  return kind === "area" ? [b, c] : kind === "rects" ? [b, d] : [b];
}

function grid(panel: Panel, { x, y, left, top, width, height }: Omit<Drawn, "svg">, lines: string[][]): string {
  const bottom = top + height;
  const inside = ({ value }: { value: number }, axis: Axis) => axis.at(value) > -0.001 && axis.at(value) < 1.001;
  const tilted = panel.x_axis?.tilted;
  const columns = x.ticks.filter((tick) => inside(tick, x)).map(({ value, label }) => {
    const at = round(left + width * x.at(value));
    const place = tilted
      ? `text-anchor="end" transform="rotate(-45 ${at} ${bottom + 12})" x="${at}" y="${bottom + 12}"`
      : `text-anchor="middle" x="${at}" y="${bottom + 14}"`;
    return `<path class="grid" d="M${at} ${top}V${bottom}"/><text ${place}>${escaped(label)}</text>`;
  });
  const rows = y.ticks.map((tick, place) => {
    if (!inside(tick, y)) return "";
    const at = round(bottom - height * y.at(tick.value));
    const own = lines[place] ?? [];
    const first = at + 4 - (LINE * (own.length - 1)) / 2;
    const texts = own.map((line, row) => `<text text-anchor="end" x="${left - 6}" y="${first + LINE * row}">${escaped(line)}</text>`);
    return `<path class="grid" d="M${left} ${at}H${round(left + width)}"/>${texts.join("")}`;
  });
  const middle = top + height / 2;
  const titles = [
    panel.x ? `<text text-anchor="middle" x="${round(left + width / 2)}" y="${bottom + (tilted ? 0 : 31)}">${escaped(panel.x)}</text>` : "",
    panel.y && isTitled(panel) ? `<text text-anchor="middle" x="11" y="${middle}" transform="rotate(-90 11 ${middle})">${escaped(panel.y)}</text>` : "",
  ];
  return `${columns.join("")}${rows.join("")}${tilted ? "" : titles[0]}${titles[1]}<rect class="frame" x="${left}" y="${top}" width="${round(width)}" height="${height}"/>`;
}

/** The name of a tick in one or two lines. */
function wrapped(label: string): string[] {
  return label.split(": ").map((line) => (line.length > MOST_LETTERS ? `${line.slice(0, MOST_LETTERS - 1)}…` : line));
}

function span_({ x, left, top, width, height }: Omit<Drawn, "svg">, [from, to]: readonly [number, number], colour: string, opacity: number): string {
  const [begin, end] = [left + width * x.at(from), left + width * x.at(to)];
  return `<rect x="${round(begin)}" y="${top}" width="${round(Math.max(end - begin, 1))}" height="${height}" fill="${ink(colour)}" opacity="${opacity}"/>`;
}

/** The marks of a layer, pale if other names are chosen. */
function faded({ name, part = "" }: Layer, { chosen }: View, marks: string): string {
  const isPale = name !== "" && chosen !== undefined && chosen.size > 0 && !chosen.has(name) && !chosen.has(part);
  return isPale && name !== "capacity" && name !== "bound" ? `<g opacity="0.07">${marks}</g>` : marks;
}

/** A colour that follows the reader's scheme: the page declares one property for each. */
export const ink = (colour = "#444444") => (colour.startsWith("#") ? `var(--${colour.slice(1)}, ${colour})` : colour);

export const round = (value: number) => Math.round(value * 10) / 10;

export const escaped = (text: string) => text.replace(/[&<>"]/g, (sign) => `&#${sign.charCodeAt(0)};`);
