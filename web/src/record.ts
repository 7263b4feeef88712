// The tables that a run leaves. Written by docs/record_types.py from the declaration in crates/record.

export interface RunSummary {
  control: string;
  seed: number;
  duration_s: number;
  measured_from_s?: number;
  flows: FlowSummary[];
  links: LinkSummary[];
  spikes: SpikeSummary[];
  live?: LiveSummary;
  transfer?: TransferSummary;
}

export interface FlowSummary {
  name: string;
  control: string;
  host?: string;
  start_s: number;
  goodput_bps: number;
  base_rtt_s: number;
  rtt_min_s: number | null;
  rtt_p50_s: number | null;
  rtt_p99_s: number | null;
  rtt_max_s: number | null;
  rtt_mean_s: number | null;
  rtt_missing_share: number | null;
  sent_packets: number;
  retransmitted_packets: number;
  spurious_retransmissions: number | null;
  undone_reductions: number | null;
  marked_packets: number;
  dropped_packets: number;
  timeouts: number | null;
  rwnd_limited_s?: number;
  completion_s: number | null;
  completed_transfers: number;
  response_p50_s: number | null;
  response_p99_s: number | null;
  response_mean_s: number | null;
  closed?: string;
  ecn_failure?: string;
  transfers_by_size?: SizeClass[];
  media?: MediaSummary;
}

export interface SizeClass {
  from_bytes: number;
  to_bytes: number | null;
  started_transfers: number;
  completed_transfers: number;
  completion_p50_s: number | null;
  completion_p95_s: number | null;
  completion_p99_s: number | null;
  completion_mean_s: number | null;
  slowdown_p50: number | null;
  slowdown_p95: number | null;
  slowdown_p99: number | null;
  slowdown_mean: number | null;
}

export interface MediaSummary {
  frames: number;
  complete_frames: number;
  played_frames: number;
  late_frames: number;
  key_frames: number;
  frame_delay_p50_s: number | null;
  frame_delay_p95_s: number | null;
  frame_delay_p99_s: number | null;
  frame_delay_max_s: number | null;
  frame_delay_mean_s: number | null;
  playout_delay_p50_s: number | null;
  playout_delay_p95_s: number | null;
  playout_delay_p99_s: number | null;
  playout_delay_max_s: number | null;
  playout_delay_mean_s: number | null;
  least_frame_delay_mean_s: number | null;
  avoidable_share: number | null;
  freezes: number;
  frozen_s: number;
  media_bps: number;
  played_bps: number;
  quality_mos: number | null;
  quality_model: string;
}

export interface LinkSummary {
  name: string;
  utilisation: number | null;
  capacity_bps: number | null;
  queue_delay_p50_s: number | null;
  queue_delay_p99_s: number | null;
  queue_delay_max_s: number | null;
  arrived_packets: number;
  delivered_packets: number;
  dropped_packets: number;
  marked_packets: number;
  duplicated_packets: number;
  reordered_packets: number;
  warning?: string;
}

export interface SpikeSummary {
  link: string;
  at_s: number;
  complete_at_s: number;
  from_bps: number;
  to_bps: number;
  spike_s: number | null;
  bound_s: number | null;
  bound_lost_fraction: number;
  excess_s: number | null;
  recovery_s: number | null;
  peak_at_s: number;
  queue_delay_before_s: number;
  carried_before_bps: number;
  loop_s: number;
  carried_loop_bps: number;
  offered_loop_bps: number | null;
  dropped_to_peak_packets: number;
  utilisation_before: number | null;
  utilisation_after: number | null;
}

export interface LiveSummary {
  bottleneck: string;
  device: string | null;
  timing_note: string | null;
  queue_delays: string;
  flow_drops: string;
  lateness_p50_s: number | null;
  lateness_p99_s: number | null;
  lateness_p999_s: number | null;
  lateness_max_s: number | null;
  departure_p50_s: number | null;
  departure_p99_s: number | null;
  departure_p999_s: number | null;
  realtime: boolean;
  locked: boolean;
  spun_s: number;
  stolen_s: number;
  warning: string | null;
  entered_packets: number;
  delivered_packets: number;
  foreign_packets: number;
  overflowed_packets: number;
  refused_packets: number;
  inside_packets: number;
  captured_packets: number | null;
  uncaptured_packets: number | null;
  ack_rows: number | null;
  missed_ack_rows: number | null;
  departures: Record<string, Departures>;
  transports: Record<string, string>;
  paced_by: string | null;
}

export interface Departures {
  lateness_p50_s: number | null;
  lateness_p99_s: number | null;
  lateness_max_s: number | null;
}

export interface TransferSummary {
  peer: string;
  settings: Record<string, unknown>;
  complete: boolean;
  delivered_bytes: number;
  received_bytes: number | null;
  received_packets: number | null;
  duplicated_packets: number | null;
  mss_bytes: number;
  ecn: string;
  sent_ect0_packets: number;
  sent_ect1_packets: number;
  received_ect0_packets: number | null;
  received_ect1_packets: number | null;
  received_ce_packets: number | null;
  paced_by: string;
  lateness_p50_s: number | null;
  lateness_p99_s: number | null;
  lateness_max_s: number | null;
  overflowed_packets: number;
  notes: string[];
}

export interface Spread {
  n: number;
  distinct: number;
  median: number;
  low: number | null;
  high: number | null;
  p5: number;
  p95: number;
  mean: number;
  mean_low: number | null;
  mean_high: number | null;
}

export interface Verdict {
  link: string;
  at_s: number;
  complete_at_s: number | null;
  from_bps: number;
  to_bps: number;
  unavoidable_s: number | null;
  controllers: ControllerVerdict[];
  text: string;
}

export interface ControllerVerdict {
  control: string;
  outcome: "above" | "at" | "below" | "rise" | "unknown";
  bound_s: number | null;
  spike_s: number | null;
  excess_s: number | null;
  recovery_s: number | null;
  load: number | null;
  limit: "load" | "window" | null;
  utilisation_after: number | null;
  cause: "drops" | "faster" | "late" | "queue" | "slower" | null;
  cause_s: number | null;
}

export interface LinkUnavoidable {
  link: string;
  loop_s: number;
  mean_rate_bps: number;
  queue_delay_p50_s: number;
  queue_delay_p99_s: number;
  queue_delay_max_s: number;
  controllers: AvoidableDelay[];
  text: string;
  series?: [number, number][];
}

export interface AvoidableDelay {
  control: string;
  queue_delay_p99_s: number;
  avoidable_share: number;
  utilisation: number | null;
}

export interface VerdictPicture {
  title: string;
  caption: string;
  scale_s: number;
  rows: VerdictRow[];
}

export interface VerdictRow {
  control: string;
  parts: VerdictPart[];
  recovery_s: number | null;
  text: string;
}

export interface VerdictPart {
  part: "unavoidable" | "queue" | "faster" | "late" | "avoidable";
  delay_s: number;
}
