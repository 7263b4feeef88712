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
  /** The owner of its colour. */
  owner: string;
  values: Values;
}

/** Marks the labels of recorded runs, and of earlier ones, beside changed ones. */
export const RECORDED = " (recorded)";
export const BEFORE = " (before)";

/** The label without such a mark. */
export const withoutMark = (label: string) => label.replace(/ \((recorded|before)\)$/, "");
/** Whether a label has such a mark. */
export const isBeside = (label: string) => withoutMark(label) !== label;

/** The mark of the runs beside an experiment. */
export const markOf = (experiment: Experiment) => (experiment.beside?.isRecord ? RECORDED : BEFORE);

/** The curves of a panel, with those of recorded or earlier runs beside them. */
export function curvesOf(panel: Panel, experiment: Experiment): Curve[] {
  const { beside } = experiment;
  const own = ownCurves(panel, experiment);
  if (!beside) return own;
  const [to, from] = [timesOf(experiment), timesOf(beside)];
  const recorded = ownCurves(panel, beside).map(({ label, owner, values }) => ({
    label: label + markOf(experiment),
    owner,
    values: resampled(to, from, values),
  }));
  return [...own, ...recorded];
}

/** The values at other times: at each, the first sample that is not earlier. */
function resampled(to: number[], from: number[], values: Values): Values {
  // Most changes keep the times of the samples.
  if (to[1] === from[1]) return values;
  let row = 0;
  return to.map((time) => {
    while (row < from.length && (from[row] ?? 0) < time) row += 1;
    return values[row] ?? null;
  });
}

/** The queueing delay is the link's, and has one curve for each run. */
function ownCurves(panel: Panel, experiment: Experiment): Curve[] {
  if (panel.key === "delay") {
    return experiment.runs.map((run) => ({
      label: run.lines[0]?.run || experiment.focus,
      owner: (run.lines.length === 1 && run.lines[0]?.owner) || run.lines[0]?.run || experiment.focus,
      values: run.link.delay,
    }));
  }
  return experiment.runs.flatMap((run) =>
    run.lines.map((line) => ({ label: line.label, owner: line.owner, values: panel.values(line, run.link) })),
  );
}

/** The owners of the flows' curves, and of the queue's, by their labels. No panel has curves of both. */
export function ownersOf(experiment: Experiment): Map<string, string>[] {
  return [false, true].map((isQueue) => {
    const own = PANELS.filter(({ key }) => (key === "delay") === isQueue).flatMap((panel) => curvesOf(panel, experiment));
    return new Map(own.map(({ label, owner }) => [label, owner]));
  });
}

/** The times of the samples: those of the run that is furthest. A record may have no links. */
export function timesOf(experiment: Experiment): number[] {
  const all = experiment.runs.flatMap((run) => [run.link.time, ...run.lines.map((line) => line.time)]);
  return all.reduce((most, one) => (one.length > most.length ? one : most), all[0] ?? []);
}

/** The bound of a drop's spike, from the drop to the next change. */
export interface Bound {
  from: number;
  to: number;
  bound: number;
}

/** More changes than these are too close for lines of their own. */
const MOST_BOUNDS = 8;

/** The bounds of the drops, once the runs are over. A run's bound is that of its load: the greatest is drawn. */
export function boundsOf(experiment: Experiment): Bound[] {
  const runs = experiment.summaries().map(({ spikes }) => spikes);
  const spikes = runs[0] ?? [];
  const end = experiment.described?.duration_s ?? 0;
  if (spikes.length > MOST_BOUNDS) return [];
  return spikes.flatMap(({ at_s: from, to_bps, from_bps }, place) => {
    const known = runs.flatMap((run) => run[place]?.bound_s ?? []);
    const to = spikes[place + 1]?.at_s ?? end;
    return to_bps < from_bps && known.length > 0 ? [{ from, to, bound: Math.max(...known) }] : [];
  });
}
