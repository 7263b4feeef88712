// The runs of one scenario, as they go: lines for the charts, summaries, the unavoidable delay.

import * as capacity from "./capacity.ts";
import type { Progress, Scenario } from "./messages.ts";
import type { Described, Judgement, RecordedRuns, Samples, Unavoidable } from "./model.ts";
import type { RunSummary, VerdictPicture } from "./record.ts";
import { Fault, type Pool } from "./pool.ts";

/** More memory than this is refused, and more real time than this ends the runs. */
const MOST_BYTES = 1 << 30;
const LONGEST_MS = 60_000;
/** Lines with a colour or a dash of their own. */
const MOST_LINES = 24;

export type Values = (number | null)[];

/** Flows that share a line: those of one table of the scenario, or of one run. */
export interface Line {
  label: string;
  /** Its controller, or the name of a flow without one. */
  owner: string;
  run: string;
  time: number[];
  rate: Values;
  window: Values;
  rtt: Values;
}

/** The shown link in one run. */
export interface LinkLine {
  time: number[];
  capacity: Values;
  carried: Values;
  delay: Values;
}

/** One run of an experiment. */
export interface Run {
  now: number;
  lines: Line[];
  link: LinkLine;
  summary: RunSummary | undefined;
}

/** Complete results, which need no simulator. */
export interface Stored {
  described: Described;
  judgement: Judgement;
  record: RecordedRuns;
}

/** All runs of a scenario. `onChange` follows each progress. */
export class Experiment {
  described: Described | undefined;
  runs: Run[] = [];
  focus = "";
  unavoidable: Unavoidable | undefined;
  private sentences: string[] = [];
  /** The verdict as a picture, once all runs are over. */
  picture: VerdictPicture | null = null;
  fault: Fault | undefined;
  isOver = false;
  /** Whether the runs were read, and not simulated. */
  isRecord = false;
  /** Recorded or earlier runs, which the charts and the table show beside these. */
  beside: Experiment | undefined;
  private timer = 0;

  constructor(
    private readonly pool: Pool | undefined,
    readonly scenario: Scenario,
    private readonly onChange: (experiment: Experiment) => void,
  ) {}

  /** An experiment whose runs were recorded. Only the unavoidable delay is computed. */
  static async recorded(
    pool: Pool,
    record: RecordedRuns,
    onChange: (experiment: Experiment) => void,
  ): Promise<Experiment> {
    const scenario = { text: record.scenario, files: record.files };
    const experiment = new Experiment(pool, scenario, onChange);
    experiment.isRecord = true;
    pool.dropAll();
    const described = await pool.load(scenario).catch(() => undefined);
    experiment.begin(described ?? unknown(record));
    if (!described) experiment.focus = record.links[0]?.names[0] ?? "";
    experiment.take(record);
    await experiment.judge(pool).catch(() => undefined);
    experiment.end();
    return experiment;
  }

  /** An experiment with results that were computed before. */
  static stored({ described, judgement, record }: Stored): Experiment {
    const scenario = { text: record.scenario, files: record.files };
    const experiment = new Experiment(undefined, scenario, () => {});
    experiment.begin(described);
    experiment.take(record);
    experiment.sentences = judgement.sentences;
    experiment.picture = judgement.picture;
    experiment.unavoidable = judgement.unavoidable ?? undefined;
    experiment.isOver = true;
    return experiment;
  }

  /** Takes the runs of a record. */
  private take(record: RecordedRuns): void {
    this.runs.forEach((run, place) => {
      run.summary = record.runs[place];
      const now = run.summary?.duration_s ?? 0;
      const [flows, links] = [record.flows[place], record.links[place]];
      if (flows && links) add(run, { now, flows, links }, this.focus);
    });
  }

  /** Check the scenario and run all its controllers. Requests of earlier experiments are dropped. */
  async start(): Promise<void> {
    const { pool } = this;
    if (!pool) return;
    pool.dropAll();
    this.timer = setTimeout(() => this.stop(), LONGEST_MS);
    try {
      const described = await pool.load(this.scenario);
      if (described.memory_bytes > MOST_BYTES) throw tooLarge(described.memory_bytes);
      this.begin(described);
      await Promise.all(this.runs.map((_, control) => this.run(pool, control)));
      await this.judge(pool);
    } catch (error) {
      this.fault = error instanceof Fault ? error : new Fault(String(error));
      pool.dropAll();
    }
    this.end();
  }

  /** Forget the experiment: a newer one takes its place. */
  abandon(): void {
    clearTimeout(this.timer);
    this.isOver = true;
  }

  /** End runs that take too long; the charts keep the part so far. */
  stop(): void {
    if (this.isOver) return;
    this.pool?.dropAll();
    const now = Math.min(...this.runs.map((run) => run.now));
    const end = this.described?.duration_s ?? 0;
    this.fault = new Fault(
      `Stopped at ${now.toFixed(1)} of ${end} simulated seconds. ` +
        "Shorten the duration, lower the rate, or run it with `sojourn run`.",
    );
    this.end();
  }

  private end(): void {
    if (this.isOver) return;
    clearTimeout(this.timer);
    this.isOver = true;
    this.onChange(this);
  }

  /** Share of the simulated time that is done. */
  progress(): number {
    const end = (this.described?.duration_s ?? 1) * this.runs.length;
    return end > 0 ? this.runs.reduce((sum, run) => sum + run.now, 0) / end : 0;
  }

  /** The summaries of the runs that are over. */
  summaries(): RunSummary[] {
    return this.runs.flatMap((run) => run.summary ?? []);
  }

  lines(): Line[] {
    return this.runs.flatMap((run) => run.lines);
  }

  /** The verdict in words, once all runs are over. */
  verdict(): string[] {
    return this.sentences;
  }

  private begin(described: Described): void {
    this.described = described;
    this.focus = capacity.focusLink(described.document);
    const count = Math.max(described.controls.length, 1);
    const label = (run: number) => described.controls[run] ?? "";
    this.runs = Array.from({ length: count }, (_, run) => ({
      now: 0,
      lines: linesOf(described, label(run), count),
      link: { time: [], capacity: [], carried: [], delay: [] },
      summary: undefined,
    }));
    this.onChange(this);
  }

  private async run(pool: Pool, control: number): Promise<void> {
    const run = this.runs[control];
    if (!run) return;
    const summary = await pool.run(this.scenario, control, (progress) => {
      add(run, progress, this.focus);
      this.onChange(this);
    });
    run.summary = JSON.parse(summary) as RunSummary;
    this.onChange(this);
  }

  /** Says what the runs mean, once all are over. */
  private async judge(pool: Pool): Promise<void> {
    const runs = this.summaries();
    if (runs.length === 0 || runs.length < this.runs.length) return;
    const found = await pool.judge(this.scenario, this.focus, runs);
    this.sentences = found.sentences;
    this.picture = found.picture;
    this.unavoidable = found.unavoidable ?? undefined;
  }
}

/** The description of a record whose scenario this page cannot read. */
function unknown(record: RecordedRuns): Described {
  const first = record.runs[0];
  const tables = (names: string[]) => Object.fromEntries(names.map((name) => [name, {}]));
  const link = tables(first?.links.map((one) => one.name) ?? []);
  const flow = tables(first?.flows.map((one) => one.name) ?? []);
  return {
    title: record.title,
    duration_s: first?.duration_s ?? 0,
    seed: first?.seed ?? 0,
    controls: record.runs.map((run) => run.control),
    memory_bytes: 0,
    document: { link, flow },
    toml: record.scenario,
  };
}

function tooLarge(bytes: number): Fault {
  const size = (bytes / 2 ** 30).toPrecision(2);
  return new Fault(
    `Refused: a run may need ${size} GiB of memory, and the page allows 1 GiB for each. ` +
      "Lower the rate, the delay or the number of flows, or run it with `sojourn run`.",
  );
}

/** The lines of a run: one for each table of flows, or one for all if there are too many. */
function linesOf(described: Described, run: string, runs: number): Line[] {
  const flows = Object.keys(described.document.flow);
  const line = (label: string, owner: string): Line => ({ label, owner, run, time: [], rate: [], window: [], rtt: [] });
  const [first = ""] = flows;
  if (flows.length === 1) return [line(run || first, controlOf(described, first, run))];
  if (flows.length * runs > MOST_LINES) return [line(run || "all flows", run)];
  return flows.map((flow) => line(runs > 1 ? `${run}: ${flow}` : flow, controlOf(described, flow, run)));
}

/** The controller of a flow: its own, that of the run, or the flow's name. */
function controlOf({ document }: Described, flow: string, run: string): string {
  const { control, source } = document.flow[flow] ?? {};
  const own = kindOf(control);
  return own === "none" || kindOf(source) === "ping" ? flow : (own ?? (run || flow));
}

const kindOf = (value: unknown) => (typeof value === "object" ? (value as { kind?: string } | null)?.kind : (value as string | undefined));

const known = (value: number | null | undefined) =>
  value === undefined || Number.isNaN(value) ? null : value;

function add(run: Run, progress: Progress, focus: string): void {
  run.now = progress.now;
  addLink(run.link, progress.links, focus);
  addFlows(run.lines, progress.flows);
}

function addLink(link: LinkLine, samples: Samples, focus: string): void {
  const width = samples.names.length;
  const place = samples.names.indexOf(focus);
  const { t_s, capacity_bps, carried_bps, queue_delay_s } = samples.columns;
  if (place < 0 || !t_s) return;
  for (let row = place; row < t_s.length; row += width) {
    link.time.push(t_s[row] ?? 0);
    link.capacity.push(known(capacity_bps?.[row]));
    link.carried.push(known(carried_bps?.[row]));
    link.delay.push(known(queue_delay_s?.[row]));
  }
}

/** Adds up the rates and the windows of a line's flows; its RTT is their greatest. */
function addFlows(lines: Line[], samples: Samples): void {
  const width = samples.names.length;
  const { t_s, goodput_bps, cwnd_bytes, rtt_s } = samples.columns;
  if (width === 0 || !t_s) return;
  const owner = samples.names.map((name) => ownerOf(lines, name));
  for (let row = 0; row < t_s.length; row += width) {
    for (const line of lines) {
      line.time.push(t_s[row] ?? 0);
      for (const values of [line.rate, line.window, line.rtt]) values.push(null);
    }
    for (let flow = 0; flow < width; flow++) {
      const line = lines[owner[flow] ?? 0];
      if (!line) continue;
      const last = line.time.length - 1;
      line.rate[last] = sum(line.rate[last], known(goodput_bps?.[row + flow]));
      line.window[last] = sum(line.window[last], known(cwnd_bytes?.[row + flow]));
      line.rtt[last] = greatest(line.rtt[last], known(rtt_s?.[row + flow]));
    }
  }
}

/** The line of a flow: that of its table, whose copies have numbers. */
function ownerOf(lines: Line[], flow: string): number {
  if (lines.length === 1) return 0;
  const table = flow.replace(/-\d+$/, "");
  const named = (name: string) =>
    lines.findIndex((line) => line.label === name || line.label === `${line.run}: ${name}`);
  return Math.max(named(flow) >= 0 ? named(flow) : named(table), 0);
}

function sum(a: number | null | undefined, b: number | null): number | null {
  return b === null ? (a ?? null) : (a ?? 0) + b;
}

function greatest(a: number | null | undefined, b: number | null): number | null {
  return b === null ? (a ?? null) : Math.max(a ?? b, b);
}
