// The table below the charts: one row for each run or, for flows of several tables, for each flow.

import { el, scrolling } from "./dom.ts";
import type { Experiment } from "./experiment.ts";
import { MISSING, rateText } from "./formatting.ts";
import type { FlowSummary, RunSummary } from "./record.ts";
import { markOf } from "./panels.ts";

/** Flows with rows of their own. */
const MOST_FLOWS = 24;

type Figure = [head: string, meaning: string, text: string];

const ms = (seconds: number | null | undefined) =>
  seconds === null || seconds === undefined ? MISSING : (1000 * seconds).toFixed(1);
const share = (value: number | null | undefined) =>
  value === null || value === undefined ? MISSING : (100 * value).toFixed(1);
const count = (value: number | null | undefined) => (value ?? 0).toLocaleString("en");

const total = (flows: readonly FlowSummary[], value: (flow: FlowSummary) => number) =>
  flows.reduce((sum, flow) => sum + value(flow), 0);

/** The figures of a run: its flows together, its shown link, its greatest spike. */
function figuresOf(run: RunSummary, focus: string): Figure[] {
  const link = run.links.find((one) => one.name === focus);
  const falls = run.spikes.filter((one) => one.link === focus && one.to_bps < one.from_bps);
  const spike = [...falls].sort((a, b) => (b.spike_s ?? 0) - (a.spike_s ?? 0))[0];
  const spikes: Figure[] = spike
    ? [
        ["spike ms", "peak queueing delay after the change of capacity", ms(spike.spike_s)],
        ["bound ms", "smallest possible spike for the rate that the link carried", ms(spike.bound_s)],
        ["excess ms", "spike minus bound", ms(spike.excess_s)],
        ["recovery ms", "until the queueing delay is back for good", ms(spike.recovery_s)],
      ]
    : [];
  return [
    ["goodput", "payload delivered, of all flows", rateText(total(run.flows, (f) => f.goodput_bps))],
    ["util. %", "share of the capacity used", share(link?.utilisation)],
    ["queue p50 ms", "median queueing delay", ms(link?.queue_delay_p50_s)],
    ["queue p99 ms", "99th percentile of queueing delay", ms(link?.queue_delay_p99_s)],
    ["queue max ms", "greatest queueing delay", ms(link?.queue_delay_max_s)],
    ...spikes,
    ["drops", "packets dropped by the link", count(link?.dropped_packets)],
    ["marks", "packets marked CE by the link", count(link?.marked_packets)],
    ["re\u2011sent", "retransmitted packets", count(total(run.flows, (f) => f.retransmitted_packets))],
  ];
}

function flowFigures(flow: FlowSummary): Figure[] {
  return [
    ["controller", "", flow.control],
    ["goodput", "payload delivered, between the warm-up and the end of the flow", rateText(flow.goodput_bps)],
    ["base RTT ms", "round-trip time without any queue", ms(flow.base_rtt_s)],
    ["RTT p50 ms", "median round-trip time", ms(flow.rtt_p50_s)],
    ["RTT p99 ms", "99th percentile of round-trip times", ms(flow.rtt_p99_s)],
    ["drops", "packets dropped", count(flow.dropped_packets)],
    ["marks", "packets marked CE", count(flow.marked_packets)],
    ["re\u2011sent", "retransmitted packets", count(flow.retransmitted_packets)],
  ];
}

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
