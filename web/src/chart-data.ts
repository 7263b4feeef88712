// The values of a panel in its unit, one for each time, as uPlot takes them.

import type uPlot from "uplot";
import type { Experiment, Values } from "./experiment.ts";
import { type Panel, curvesOf, timesOf } from "./panels.ts";

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

/** The times of a panel and the values of its curves; the goodput has the capacity first. */
export function dataOf(panel: Panel, experiment: Experiment, scale: number): uPlot.AlignedData {
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
