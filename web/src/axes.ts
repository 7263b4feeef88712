// The axes of all charts: time in seconds, and values in the unit of the chart.

import type uPlot from "uplot";
import { ink } from "./colours.ts";
import { general } from "./formatting.ts";

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
