// An experiment as a record, such as `sojourn view` serves: its lines are the flows.

import type { Experiment, Line, Run, Values } from "./experiment.ts";
import type { RecordedRuns, Samples } from "./model.ts";

export function recordOf(experiment: Experiment): RecordedRuns {
  const { described, scenario, runs, focus } = experiment;
  return {
    title: described?.title ?? "",
    scenario: described?.toml ?? "",
    files: named(scenario.files, described?.toml ?? ""),
    runs: experiment.summaries(),
    flows: runs.map(flowsOf),
    links: runs.map(({ link }) => {
      const { time, capacity, carried, delay } = link;
      return { names: [focus], columns: { t_s: time, capacity_bps: capacity, carried_bps: carried, queue_delay_s: delay } };
    }),
  };
}

/** The files that a scenario names. */
function named(files: Record<string, string>, toml: string): Record<string, string> {
  return Object.fromEntries(Object.entries(files).filter(([name]) => toml.includes(name)));
}

/** At each time one row for every line. */
function flowsOf({ lines }: Run): Samples {
  const times = lines[0]?.time ?? [];
  const column = (of: (line: Line) => Values) => times.flatMap((_, row) => lines.map((line) => of(line)[row] ?? null));
  return {
    names: lines.map(({ label, run }) => label.replace(`${run}: `, "")),
    columns: {
      t_s: column(({ time }) => time),
      goodput_bps: column(({ rate }) => rate),
      cwnd_bytes: column(({ window }) => window),
      rtt_s: column(({ rtt }) => rtt),
    },
  };
}
