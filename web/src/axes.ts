// The axes of all charts: time in seconds, and values in the unit of the chart.

import type uPlot from "uplot";
import { ink } from "./colours.ts";
import { general } from "./formatting.ts";

/** Draws a sample between two gaps as a dot: a line through it has no length. */
export function single(): uPlot.Series.Points {
  const filter = (plot: uPlot, series: number) => {
    const values = plot.data[series] ?? [];
    const isGap = (row: number) => (values[row] ?? null) === null;
    return [...values.keys()].filter((row) => !isGap(row) && isGap(row - 1) && isGap(row + 1));
  };
  return { show: () => false, filter, size: 3.5 };
}

/** Both axes. */
export function axes(): uPlot.Axis[] {
  const axis: uPlot.Axis = {
    stroke: () => ink("--soft"),
    grid: { stroke: () => ink("--grid"), width: 1 },
    ticks: { stroke: () => ink("--grid"), width: 1 },
  };
  return [
    { ...axis, size: 28, values: (_, ticks) => ticks.map((tick) => `${general(tick, 6)} s`) },
    { ...axis, size: 52, values: (_, ticks) => ticks.map((tick) => general(tick, 4)) },
  ];
}
