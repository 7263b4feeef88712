// The panels of the charts: which values each shows, and in which unit.

import type { Experiment, LinkLine, Line, Values } from "./experiment.ts";
import { rateUnit } from "./formatting.ts";

export interface Panel {
  key: "rate" | "delay" | "window" | "rtt";
  title: string;
  /** A value's size in the panel's unit, and the unit. */
  scale: (largest: number) => [number, string];
  /** The values of a line. */
  values: (line: Line, link: LinkLine) => Values;
}

const ms = (): [number, string] => [1e-3, "ms"];

function bytes(largest: number): [number, string] {
  const units: [number, string][] = [
    [1e6, "MB"],
    [1e3, "kB"],
  ];
  return units.find(([scale]) => largest >= scale) ?? [1, "B"];
}

export const PANELS: Panel[] = [
  { key: "rate", title: "Goodput", scale: rateUnit, values: (line) => line.rate },
  { key: "delay", title: "Queueing delay", scale: ms, values: (_, link) => link.delay },
  { key: "window", title: "Congestion window", scale: bytes, values: (line) => line.window },
  { key: "rtt", title: "Round-trip time", scale: ms, values: (line) => line.rtt },
];

/** One curve of a panel. */
export interface Curve {
  label: string;
  values: Values;
}

/** The curves of a panel. The queueing delay is the link's, and has one curve for each run. */
export function curvesOf(panel: Panel, experiment: Experiment): Curve[] {
  if (panel.key === "delay") {
    return experiment.runs.map((run) => ({
      label: run.lines[0]?.run || experiment.focus,
      values: run.link.delay,
    }));
  }
  return experiment.runs.flatMap((run) =>
    run.lines.map((line) => ({ label: line.label, values: panel.values(line, run.link) })),
  );
}

/** Labels of all curves, in the order of their colours. */
export function labelsOf(experiment: Experiment): string[] {
  const all = PANELS.flatMap((panel) => curvesOf(panel, experiment).map((curve) => curve.label));
  return [...new Set(all)];
}

/** The times of the samples: those of the run that is furthest. */
export function timesOf(experiment: Experiment): number[] {
  const all = experiment.runs.map((run) => run.link.time);
  return all.reduce((most, one) => (one.length > most.length ? one : most), all[0] ?? []);
}
