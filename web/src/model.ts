// The data that cross the border of the simulator. Keys are those of `sojourn run --json`.

export interface Problem {
  line: number | null;
  column: number | null;
  path: string;
  message: string;
  help: string;
}

/** A checked scenario. */
export interface Described {
  title: string;
  duration_s: number;
  seed: number;
  controls: string[];
  memory_bytes: number;
  document: Document;
  toml: string;
}

/** A scenario as an object. */
export interface Document {
  title?: string;
  duration?: unknown;
  controls?: unknown[];
  link: Record<string, Record<string, unknown>>;
  flow: Record<string, Record<string, unknown>>;
  [key: string]: unknown;
}

/** Samples of flows or links: one row for every name of each sample. */
export interface Samples<T extends ArrayLike<number | null> = ArrayLike<number | null>> {
  names: string[];
  columns: Record<string, T>;
}

/** Samples in memory of their own, which can pass to another thread. */
export type OwnSamples = Samples<Float64Array<ArrayBuffer>>;

/** A run directory, as `sojourn view` serves it. */
export interface RecordedRuns {
  title: string;
  scenario: string;
  files: Record<string, string>;
  runs: RunSummary[];
  flows: Samples[];
  links: Samples[];
}

/** The delay that no sender can avoid on the shown link. */
export interface Unavoidable {
  queue_delay_p99_s: number | null;
  queue_delay_max_s: number | null;
  /** End of each interval, and the greatest delay in it. */
  series: [number, number | null][];
}

/** What the runs mean. */
export interface Judgement {
  sentences: string[];
  unavoidable: Unavoidable | null;
}

export interface FlowSummary {
  name: string;
  control: string;
  start_s: number;
  goodput_bps: number;
  base_rtt_s: number;
  rtt_p50_s: number | null;
  rtt_p99_s: number | null;
  sent_packets: number;
  retransmitted_packets: number;
  marked_packets: number;
  dropped_packets: number;
  rwnd_limited_s: number | null;
  response_p50_s: number | null;
  response_p99_s: number | null;
}

export interface LinkSummary {
  name: string;
  utilisation: number | null;
  capacity_bps: number | null;
  queue_delay_p50_s: number | null;
  queue_delay_p99_s: number | null;
  queue_delay_max_s: number | null;
  dropped_packets: number;
  marked_packets: number;
}

export interface Spike {
  link: string;
  at_s: number;
  complete_at_s: number | null;
  from_bps: number;
  to_bps: number;
  spike_s: number | null;
  bound_s: number | null;
  excess_s: number | null;
  duration_s: number | null;
  loop_s: number | null;
  carried_loop_bps: number | null;
  offered_loop_bps: number | null;
  queue_delay_before_s: number | null;
  dropped_to_peak_packets: number | null;
  utilisation_before: number | null;
  utilisation_after: number | null;
}

export interface RunSummary {
  control: string;
  seed: number;
  duration_s: number;
  flows: FlowSummary[];
  links: LinkSummary[];
  spikes: Spike[];
}
