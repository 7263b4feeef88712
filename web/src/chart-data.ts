// The panels of an experiment as those of a figure.

import { type Look, isDark, looksOf } from "./colours.ts";
import type { Experiment, Values } from "./experiment.ts";
import type { BarsView } from "./figure/verdict.ts";
import type { Layer, Panel as FigurePanel } from "./figure/model.ts";
import { brief } from "./formatting.ts";
import { BOUND } from "./palette.ts";
import { type Panel, boundsOf, curvesOf, timesOf } from "./panels.ts";

/** Means of the goodput over the run. */
const MEANS = 600;

/** The unit of a panel: its size and its name. */
export function unitOf(panel: Panel, experiment: Experiment): [number, string] {
  const all: Values[] = curvesOf(panel, experiment).map((curve) => curve.values);
  if (panel.key === "rate") all.push(experiment.runs[0]?.link.capacity ?? []);
  let largest = 0;
  for (const values of all) for (const value of values) if ((value ?? 0) > largest) largest = value ?? 0;
  return panel.scale(largest);
}

/** The colours of the rows of the verdict's picture. */
export function barsOf({ picture, runs }: Experiment, isLight = !isDark()): Omit<BarsView, "width"> {
  const owners = new Map(runs.flatMap(({ lines: [line] }) => (line ? [[line.run, line.owner]] : [])));
  const looks = looksOf(owners, isLight);
  return { colours: picture?.rows.map(({ control }) => looks.get(control)?.colour) ?? [], isDark: !isLight };
}

/** The times of a panel and the values of its curves; the goodput has the capacity first. */
function dataOf(panel: Panel, experiment: Experiment, scale: number): [number[], ...Values[]] {
  const times = timesOf(experiment);
  const all = curvesOf(panel, experiment).map((curve) => curve.values);
  if (panel.key !== "rate") return [times, ...all.map((values) => scaled(times, values, scale))];
  // Rates of short intervals differ by whole packets, and would fill the panel.
  const interval = (times[1] ?? 0) - (times[0] ?? 0);
  const duration = experiment.described?.duration_s ?? 0;
  const width = interval > 0 ? Math.max(1, Math.round(duration / MEANS / interval)) : 1;
  const smooth = all.map((values) => scaled(times, means(values, width), scale));
  return [times, scaled(times, furthest(experiment), scale), ...smooth];
}

/** A line with fewer values than this share of its times, such as that of a ping, has no gaps. */
const SPARSE = 0.2;

/** The points of a line. Those of a sparse one are connected: it would be dots between gaps. */
function connected(times: number[], values: Values): [number[], Values] {
  const rows = values.flatMap((value, row) => (value === null ? [] : [row]));
  if (rows.length > SPARSE * values.length) return [times, values];
  return [rows.map((row) => times[row] ?? 0), rows.map((row) => values[row] ?? null)];
}

/** The values in a unit, one for each time. */
function scaled(times: number[], values: Values, scale: number): Values {
  return times.map((_, row) => {
    const value = values[row] ?? null;
    return value === null ? null : value / scale;
  });
}

/** The mean of each value and those before it, `width` in all. */
function means(values: Values, width: number): Values {
  let sum = 0;
  return values.map((value, row) => {
    sum += value ?? 0;
    if (row >= width) sum -= values[row - width] ?? 0;
    return value === null ? null : Math.max(0, sum) / Math.min(row + 1, width);
  });
}

/** The capacity in the run that is furthest. */
function furthest(experiment: Experiment): Values {
  const all = experiment.runs.map((run) => run.link.capacity);
  return all.reduce((most, one) => (one.length > most.length ? one : most), all[0] ?? []);
}

/** The look of a line; nothing if a reader hides it. */
type LookOf = (label: string) => Look | undefined;
const CAPACITY: Look = { colour: "#aaaaaa", dash: [], weight: 1.6 };
const WIDTH = 1.25;

/** A panel of the page as a panel of a figure. */
export function figureOf(experiment: Experiment, panel: Panel, lookOf: LookOf, isLight = !isDark()): FigurePanel {
  const [scale, unit] = unitOf(panel, experiment);
  const [times, ...values] = dataOf(panel, experiment, scale);
  const lines = curvesOf(panel, experiment).map(({ label }) => label);
  const names = panel.key === "rate" ? ["", ...lines] : lines;
  const layers = values.flatMap((column, place): Layer[] => {
    const name = names[place] ?? "";
    const look = name ? lookOf(name) : CAPACITY;
    return look ? [{ name, kind: "line", columns: connected(times, column), width: WIDTH * look.weight, ...look }] : [];
  });
  const guides = panel.key === "delay" ? guidesOf(experiment, scale, isLight) : [];
  const domain = [0, experiment.described?.duration_s || 1] as const;
  return {
    title: `${panel.title}, ${unit}`,
    layers: [...guides, ...layers],
    behind: [],
    height: 170,
    x_scale: { domain },
    y_scale: { zero: true },
  };
}

/** The unavoidable delay as an area, and the bounds. */
function guidesOf(experiment: Experiment, scale: number, isLight: boolean): Layer[] {
  const series = experiment.unavoidable?.series ?? [];
  const begins = [0, ...series.map(([end]) => end)];
  const corners = series.flatMap(([end, delay], place) => [begins[place] ?? 0, end].map((at) => [at, (delay ?? 0) / scale]));
  const column = (place: number) => corners.map((corner) => corner[place] ?? 0);
  const area: Layer = { name: "", kind: "area", columns: [column(0), corners.map(() => 0), column(1)], colour: "#c9ccd1" };
  const bounds = boundsOf(experiment);
  const level = bounds.map(({ bound }) => bound / scale);
  const rules: Layer = {
    name: "bound",
    kind: "rules",
    columns: [bounds.map(({ from }) => from), level, bounds.map(({ to }) => to), level],
    texts: bounds.map(({ bound }) => `bound ${brief(bound)}`),
    colour: isLight ? BOUND.light : BOUND.dark,
    dash: [6, 4],
  };
  return [...(corners.length ? [area] : []), rules];
}
