// The table below the charts: one row for each run or, for flows of several tables, for each flow.

import { el, scrolling } from "./dom.ts";
import type { Experiment } from "./experiment.ts";
import { MISSING, rateText } from "./formatting.ts";
import { METRICS } from "./palette.ts";
import type { FlowSummary, RunSummary } from "./record.ts";
import { markOf } from "./panels.ts";

/** Flows with rows of their own. */
const MOST_FLOWS = 24;

type Figure = [head: string, meaning: string, text: string];
type Value = number | null | undefined;

const fixed = (scale: number) => (value: Value) => (value === null || value === undefined ? MISSING : (scale * value).toFixed(1));
const count = (value: Value) => (value ?? 0).toLocaleString("en");
/** The unit in a heading, and the text of a value, by the unit of the figure. */
const UNITS: Record<string, [string, (value: Value) => string]> = {
  rate: ["", (value) => rateText(value ?? 0)],
  percent: [" %", fixed(100)],
  ms: [" ms", fixed(1000)],
  count: ["", count],
};

/** The figures of an entry with these keys. */
function figuresFrom<S extends keyof typeof METRICS>(
  subject: S,
  keys: readonly (keyof (typeof METRICS)[S] & string)[],
  entry: object | undefined,
): Figure[] {
  const metrics = METRICS[subject] as Record<string, readonly [string, string, string]>;
  const values = (entry ?? {}) as Record<string, Value>;
  return keys.map((key) => {
    const [head = key, kind = "count", meaning = ""] = metrics[key] ?? [];
    const [unit = "", text = count] = UNITS[kind] ?? [];
    return [head.replace("-", "\u2011") + unit, meaning, text(values[key])];
  });
}

/** The figures of a run: its flows together, its shown link, its greatest spike. */
function figuresOf(run: RunSummary, focus: string): Figure[] {
  const link = run.links.find((one) => one.name === focus);
  const falls = run.spikes.filter((one) => one.link === focus && one.to_bps < one.from_bps);
  const spike = [...falls].sort((a, b) => (b.spike_s ?? 0) - (a.spike_s ?? 0))[0];
  const total = (key: "goodput_bps" | "retransmitted_packets") => ({ [key]: run.flows.reduce((sum, flow) => sum + flow[key], 0) });
  return [
    ...figuresFrom("flow", ["goodput_bps"], total("goodput_bps")),
    ...figuresFrom("link", ["utilisation", "queue_delay_p50_s", "queue_delay_p99_s", "queue_delay_max_s"], link),
    ...(spike ? figuresFrom("spike", ["spike_s", "bound_s", "excess_s", "recovery_s"], spike) : []),
    ...figuresFrom("link", ["dropped_packets", "marked_packets"], link),
    ...figuresFrom("flow", ["retransmitted_packets"], total("retransmitted_packets")),
  ];
}

const FLOW = ["goodput_bps", "base_rtt_s", "rtt_p50_s", "rtt_p99_s", "dropped_packets", "marked_packets", "retransmitted_packets"] as const;

const flowFigures = (flow: FlowSummary): Figure[] => [["controller", "", flow.control], ...figuresFrom("flow", FLOW, flow)];

function drawn(caption: string, rows: [string, Figure[]][]): HTMLElement {
  const heads = (rows[0]?.[1] ?? []).map(([head, meaning]) =>
    el("th", { scope: "col", title: meaning || undefined }, head),
  );
  const body = rows.map(([name, figures]) => {
    const cells = figures.map(([, , text]) => el("td", {}, text));
    return el("tr", {}, el("th", { scope: "row" }, name), ...cells);
  });
  return scrolling(
    caption,
    {},
    el(
      "table",
      {},
      el("caption", {}, caption),
      el("thead", {}, el("tr", {}, el("th", { scope: "col" }, "Run"), ...heads)),
      el("tbody", {}, ...body),
    ),
  );
}

/** The tables of the runs that are over. */
export function tablesOf(experiment: Experiment): HTMLElement[] {
  const runs = experiment.summaries();
  if (runs.length === 0) return [];
  const named = (run: RunSummary) => run.control || "run";
  const caption = `Runs, with the queue of ${experiment.focus}`;
  const { focus, beside } = experiment;
  const row = (run: RunSummary, note = ""): [string, Figure[]] => [named(run) + note, figuresOf(run, focus)];
  const recorded = beside?.summaries().map((run) => row(run, markOf(experiment))) ?? [];
  const found = [drawn(caption, [...runs.map((run) => row(run)), ...recorded])];
  const flows = runs.flatMap((run) => run.flows);
  if (flows.length > runs.length && flows.length <= MOST_FLOWS) {
    const several = runs.length > 1;
    const rows = runs.flatMap((run) =>
      run.flows.map((flow): [string, Figure[]] => [
        several ? `${named(run)}: ${flow.name}` : flow.name,
        flowFigures(flow),
      ]),
    );
    found.push(drawn("Flows", rows));
  }
  return found;
}
