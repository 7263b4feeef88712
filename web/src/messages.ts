// The messages between the page and its workers.

import type { Described, Judgement, Problem, Samples } from "./model.ts";
import type { RunSummary } from "./record.ts";
import type { Text } from "./simulator.ts";

/** The columns that the charts show. */
export const FLOW_COLUMNS = ["t_s", "goodput_bps", "cwnd_bytes", "rtt_s"] as const;
export const LINK_COLUMNS = ["t_s", "capacity_bps", "carried_bps", "queue_delay_s"] as const;

export interface Scenario {
  text: Text;
  files: Record<string, string>;
}

export type Task =
  | { kind: "load"; scenario: Scenario }
  | { kind: "run"; scenario: Scenario; control: number }
  | { kind: "judge"; scenario: Scenario; focus: string; runs: RunSummary[] }
  | { kind: "explain"; file: File; cures: boolean; reader: WebAssembly.Module }
  | { kind: "qlog"; file: File; reader: WebAssembly.Module }
  | { kind: "schema" };

/** A request. A worker drops the requests before `oldest`, also one that runs. */
export type Request =
  | { module: WebAssembly.Module }
  | { id: number; task: Task }
  | { oldest: number };

/** New samples of a run. */
export interface Progress {
  now: number;
  flows: Samples;
  links: Samples;
}

export type Result = Described | Judgement | string | object;

export type Response =
  | { id: number; progress: Progress }
  | { id: number; result: Result; memory: number }
  | { id: number; fault: string; problems: Problem[]; isBroken: boolean }
  /** The end of a dropped request. */
  | { id: number; isDropped: true };
