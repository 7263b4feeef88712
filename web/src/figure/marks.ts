// The marks of a layer as SVG.

import type { Column, Layer } from "./model.ts";
import { type Drawn, escaped, ink, round } from "./panel.ts";
import { figure } from "./scale.ts";

type Place = Omit<Drawn, "svg">;

export function marksOf(layer: Layer, place: Place): string {
  return MARKS[layer.kind](layer, place);
}

const MARKS: Record<Layer["kind"], (layer: Layer, place: Place) => string> = { line, area, dots, text, boxes, rects, rules };

const xOf = ({ x, left, width }: Place) => (value: number) => round(left + width * x.at(value));
const yOf = ({ y, top, height }: Place) => (value: number) => round(top + height * (1 - y.at(value)));

function stroke({ colour, width = 1.6, dash, opacity }: Layer): string {
  const dashes = dash?.length ? ` stroke-dasharray="${dash.join(" ")}"` : "";
  return `fill="none" stroke="${ink(colour)}" stroke-width="${width}" stroke-linejoin="round"${dashes}${pale(opacity)}`;
}

const pale = (opacity?: number) => (opacity === undefined ? "" : ` opacity="${opacity}"`);

/** A line with its gaps; a sample between two gaps is a dot. */
function line(layer: Layer, place: Place): string {
  const [xs, ys] = thinned(layer.columns[0] ?? [], layer.columns[1] ?? [], place);
  const { path, single } = pathOf(xs, ys, place, layer.steps);
  const dots = single ? `<path d="${single}" stroke-linecap="round" ${stroke({ ...layer, width: 4, dash: [] })}/>` : "";
  return `<path d="${path}" ${stroke(layer)}/>${dots}`;
}

/** Points of a rising line for each pixel. */
const PER_PIXEL = 4;

/** The least and the greatest value of each pixel, and its gaps, if a rising line has more points than show. */
function thinned(xs: Column, ys: Column, place: Place): [Column, Column] {
  const x = xOf(place);
  // Of the points beside the shown part, only the next.
  const inside = (row: number) => x(xs[row] ?? 0) >= place.left && x(xs[row] ?? 0) <= place.left + place.width;
  if (xs.length <= PER_PIXEL * place.width || (xs[0] ?? 0) > (xs[xs.length - 1] ?? 0)) return [xs, ys];
  const [keptX, keptY]: [(number | null)[], (number | null)[]] = [[], []];
  let [pixel, rows]: [number, number[]] = [NaN, []];
  const keep = () => {
    for (const row of [...new Set(rows)].sort((a, b) => a - b)) {
      keptX.push(xs[row] ?? null);
      keptY.push(ys[row] ?? null);
    }
  };
  for (let row = 0; row < xs.length; row++) {
    if (!inside(row) && !inside(row + 1) && !inside(row - 1)) continue;
    const own = Math.round(x(xs[row] ?? 0));
    if (own !== pixel) {
      keep();
      [pixel, rows] = [own, [row, row, row, row]];
    }
    // First, least, greatest and last; the first gap stays.
    const value = ys[row] ?? null;
    if (value === null) rows[4] ??= row;
    else if (value < (ys[rows[1] ?? row] ?? Infinity)) rows[1] = row;
    else if (value > (ys[rows[2] ?? row] ?? -Infinity)) rows[2] = row;
    rows[3] = row;
  }
  keep();
  return [keptX, keptY];
}

function pathOf(xs: Column, ys: Column, place: Place, steps?: string): { path: string; single: string } {
  const [x, y] = [xOf(place), yOf(place)];
  const parts: string[] = [];
  let [single, length, last] = ["", 0, ""];
  const end = () => {
    if (length === 1) {
      parts.pop();
      single += `${last}h0`;
    }
    length = 0;
  };
  ys.forEach((value, row) => {
    if (value === null) return end();
    const [left, up] = [x(xs[row] ?? 0), y(value)];
    if (length === 0) parts.push((last = `M${left} ${up}`));
    else if (steps === "step-before") parts.push(`V${up}H${left}`);
    else parts.push(steps === "step-after" ? `H${left}V${up}` : `L${left} ${up}`);
    length += 1;
  });
  end();
  return { path: parts.join(""), single };
}

function area(layer: Layer, place: Place): string {
  const [xs = [], lows = [], highs = []] = layer.columns;
  const [x, y] = [xOf(place), yOf(place)];
  const parts: string[] = [];
  let begin = 0;
  const close = (end: number) => {
    const rows = Array.from({ length: end - begin }, (_, row) => begin + row);
    const up = rows.map((row) => `${x(xs[row] ?? 0)} ${y(highs[row] ?? 0)}`);
    const down = rows.reverse().map((row) => `${x(xs[row] ?? 0)} ${y(lows[row] ?? 0)}`);
    if (up.length > 0) parts.push(`M${[...up, ...down].join("L")}Z`);
    begin = end + 1;
  };
  highs.forEach((value, row) => {
    if (value === null) close(row);
  });
  close(highs.length);
  return `<path d="${parts.join("")}" fill="${ink(layer.colour)}"${pale(layer.opacity)}/>`;
}

/** Outlines of half the size 1 around the origin. */
const SHAPES: Record<string, string> = {
  circle: "M-1 0A1 1 0 1 0 1 0A1 1 0 1 0-1 0Z",
  square: "M-.9-.9H.9V.9H-.9Z",
  diamond: "M0-1.25L1.25 0L0 1.25L-1.25 0Z",
  cross: "M-1-.35H-.35V-1H.35V-.35H1V.35H.35V1H-.35V.35H-1Z",
  "triangle-up": "M0-1.1L1.1.9H-1.1Z",
  "triangle-down": "M0 1.1L1.1-.9H-1.1Z",
};

function dots({ columns: [xs = [], ys = []], shape = "circle", size = 40, colour, opacity }: Layer, place: Place): string {
  const [x, y] = [xOf(place), yOf(place)];
  const half = round(Math.sqrt(size / Math.PI));
  const outline = SHAPES[shape] ?? SHAPES["circle"];
  const each = xs.map((value, row) => {
    const up = ys[row];
    if (value === null || up === null || up === undefined) return "";
    return `<path transform="translate(${x(value)} ${y(up)})scale(${half})" d="${outline}"/>`;
  });
  return `<g fill="${ink(colour)}"${pale(opacity)}>${each.join("")}</g>`;
}

function text(layer: Layer, place: Place): string {
  const [xs = [], ys = []] = layer.columns;
  const [x, y] = [xOf(place), yOf(place)];
  const anchor = { left: "start", center: "middle", right: "end" }[layer.align ?? "center"];
  // Texts of rectangles stand in their middle, and others above their points.
  const up = layer.fills ? -4 : 3;
  const each = (layer.texts ?? []).map((one, row) => {
    const own = layer.fills?.[row];
    const fill = own ?? ink(layer.colour);
    return `<text class="label" text-anchor="${anchor}" x="${x(xs[row] ?? 0)}" y="${y(ys[row] ?? 0) - up}" fill="${fill}">${escaped(one)}</text>`;
  });
  return each.join("");
}

/** Boxes: whiskers, the box, and the middle in the colour of the ground. */
function boxes({ name, columns, colour, size = 14, horizontal }: Layer, place: Place): string {
  const [places = []] = columns;
  const along = horizontal ? xOf(place) : yOf(place);
  const across = horizontal ? yOf(place) : xOf(place);
  const each = places.map((at, row) => {
    const five = columns.slice(1).map((column) => column[row] ?? 0);
    const [low, q1, middle, q3, high] = five.map(along);
    const here = across(at ?? 0);
    const bar = (from = 0, to = 0) => (horizontal ? `M${from} ${here}H${to}` : `M${here} ${from}V${to}`);
    const half = size / 2;
    const tick = horizontal ? `M${middle} ${here - half}v${size}` : `M${here - half} ${middle}h${size}`;
    const said = `${name} ${five.map(figure).join(" – ")}`.trim();
    return `<g><title>${escaped(said)}</title><path d="${bar(low, high)}" stroke-width="1.4"/><path d="${bar(q1, q3)}" stroke-width="${size}"/><path class="middle" d="${tick}" stroke-width="2"/></g>`;
  });
  return `<g fill="none" stroke="${ink(colour)}">${each.join("")}</g>`;
}

function rects({ name, columns: [x0 = [], y0 = [], x1 = [], y1 = []], colour, fills, texts, opacity }: Layer, place: Place): string {
  const [x, y] = [xOf(place), yOf(place)];
  const each = x0.map((value, row) => {
    const [left, right] = [x(value ?? 0), x(x1[row] ?? 0)].sort((a, b) => a - b) as [number, number];
    const [top, bottom] = [y(y0[row] ?? 0), y(y1[row] ?? 0)].sort((a, b) => a - b) as [number, number];
    const said = texts?.[row] ?? name;
    const title = said ? `<title>${escaped(said)}</title>` : "";
    return `<rect x="${left}" y="${top}" width="${round(right - left)}" height="${round(bottom - top)}" fill="${fills?.[row] ?? ink(colour)}">${title}</rect>`;
  });
  return `<g${pale(opacity)}>${each.join("")}</g>`;
}

/** Guides; one above the shown values has its name at the edge. */
function rules(layer: Layer, place: Place): string {
  const [x0 = [], y0 = [], x1 = [], y1 = []] = layer.columns;
  const [x, y] = [xOf(place), yOf(place)];
  const { left, top, width, height } = place;
  const or = (value: number | null | undefined, at: (value: number) => number, missing: number) =>
    value === null || value === undefined ? missing : at(value);
  const ends = x0.map((_, row) => ({
    from: [or(x0[row], x, left), or(y0[row], y, top)] as const,
    to: [or(x1[row], x, left + width), or(y1[row], y, top + height)] as const,
  }));
  const path = ends.map(({ from, to }) => `M${from.join(" ")}L${to.join(" ")}`).join("");
  const texts = (layer.texts ?? []).map((one, row) => {
    const { from, to } = ends[row] ?? { from: [0, 0], to: [0, 0] };
    const right = Math.min(to[0], left + width) - 4;
    if (!one || right < left + 20 || from[0] > left + width || to[1] > top + height) return "";
    const isAbove = to[1] < top;
    const up = Math.max(to[1] - 4, top + 12);
    return `<text class="label rim" text-anchor="end" x="${round(right)}" y="${round(up)}" fill="${ink(layer.colour)}">${escaped(one)}${isAbove ? " ↑" : ""}</text>`;
  });
  return `<path d="${path}" ${stroke(layer)}/>${texts.join("")}`;
}
