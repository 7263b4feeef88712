// The data that cross the border of the simulator. Keys are those of `sojourn run --json`.
import type { RunSummary, VerdictPicture } from "./record.ts";

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
  picture: VerdictPicture | null;
  unavoidable: Unavoidable | null;
}
