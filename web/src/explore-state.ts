// The state of Explore: its fields, its scenario, and its fragment of the address.

import { general } from "./formatting.ts";
import { INKS, MEDIA } from "./palette.ts";

/** A number with a slider. The slider moves by ratios if `isLog`. */
export interface Field {
  key: keyof Numbers;
  label: string;
  unit: string;
  min: number;
  max: number;
  isLog?: boolean;
  isWhole?: boolean;
}

export interface Numbers {
  rate: number;
  to: number;
  at: number;
  rtt: number;
  buffer: number;
  flows: number;
  duration: number;
}

export interface State extends Numbers {
  queue: string;
  ecn: boolean;
  controls: string[];
}

export const FIELDS: Field[] = [
  { key: "rate", label: "Rate", unit: "Mbit/s", min: 1, max: 1000, isLog: true },
  { key: "to", label: "Rate after", unit: "Mbit/s", min: 0.5, max: 1000, isLog: true },
  { key: "at", label: "Change at", unit: "% of it", min: 10, max: 90, isWhole: true },
  { key: "rtt", label: "Base RTT", unit: "ms", min: 2, max: 300, isLog: true },
  { key: "buffer", label: "Buffer", unit: "ms", min: 5, max: 1000, isLog: true },
  { key: "flows", label: "Flows", unit: "", min: 1, max: 100, isLog: true, isWhole: true },
  { key: "duration", label: "Duration", unit: "s", min: 5, max: 120, isWhole: true },
];

export const QUEUES = ["droptail", "codel", "fq_codel", "pie", "red", "step", "dualpi2"];
/** Those that drop at first, and mark if they are told to. */
export const WITH_ECN = ["codel", "fq_codel", "pie", "red"];
export const CONTROLS = INKS.map(({ name }) => name).filter((name) => name && !MEDIA.includes(name));

/** The drop of capacity-drop.toml. */
export const START: State = {
  rate: 60,
  to: 20,
  at: 50,
  rtt: 50,
  buffer: 200,
  flows: 1,
  duration: 60,
  queue: "codel",
  ecn: true,
  controls: ["reno", "cubic", "bbr", "dctcp", "ideal"],
};

/** Samples of a run: every 20 ms of a minute, so that a drop has many; fewer while a slider moves. */
export const SAMPLES = 3000;
export const COARSE_SAMPLES = 600;
/** Samples of the results that the page contains, which a first load should not wait for. */
export const STORED_SAMPLES = 1500;

/** Samples of all flows of a run: a chart shows their sum. */
const MOST_FLOW_SAMPLES = 60_000;

/** The title of a state's scenario. */
function titleOf({ rate, to }: State): string {
  const link = `A link of ${general(rate, 4)} Mbit/s`;
  return to === rate ? link : `${link} ${to < rate ? "falls" : "rises"} to ${general(to, 4)}`;
}

/** The scenario of a state, as a document. */
export function documentOf(state: State, most: number): object {
  const samples = Math.min(most, Math.max(COARSE_SAMPLES, MOST_FLOW_SAMPLES / state.flows));
  const mbit = (rate: number) => `${general(rate, 6)}Mbit`;
  const at = (state.duration * state.at) / 100;
  const steps = [{ at: `${at}s`, rate: mbit(state.to) }];
  const hasEcn = state.ecn && WITH_ECN.includes(state.queue);
  const half = `${Math.round(500 * state.rtt)}us`;
  // A path without a buffer longer than a packet cannot work.
  const bytes = Math.max(3000, Math.round((state.rate * 1e6 * state.buffer) / 8000));
  return {
    title: titleOf(state),
    duration: `${state.duration}s`,
    controls: state.controls,
    record: { interval: `${Math.round((1e6 * state.duration) / samples)}us` },
    link: {
      bottleneck: {
        rate: state.to === state.rate ? mbit(state.rate) : { start: mbit(state.rate), steps },
        delay: half,
        queue: hasEcn ? { kind: state.queue, ecn: true } : state.queue,
        buffer: `${bytes}B`,
      },
      back: { delay: half },
    },
    flow: {
      upload: {
        path: ["bottleneck"],
        back: ["back"],
        count: state.flows,
        ...(["rapid", "ledbat"].some((name) => state.controls.includes(name)) ? { host: { receive_times: true } } : {}),
      },
    },
  };
}

/** The state as a fragment. */
export function fragmentOf(state: State): string {
  const entries = Object.entries(state).map(([key, value]): [string, string] => [key, String(value)]);
  return new URLSearchParams(entries).toString();
}

/** The state of a fragment. Values that are missing or impossible keep their start. */
export function stateOf(fragment: string): State {
  const given = new URLSearchParams(fragment.slice(0, 2000));
  const state: State = { ...START };
  for (const field of FIELDS) {
    const value = Number(given.get(field.key) ?? Number.NaN);
    if (Number.isFinite(value)) state[field.key] = within(field, value);
  }
  const queue = given.get("queue");
  if (queue !== null && QUEUES.includes(queue)) state.queue = queue;
  if (given.has("ecn")) state.ecn = given.get("ecn") === "true";
  const controls = (given.get("controls") ?? "").split(",").filter((one) => CONTROLS.includes(one));
  if (controls.length > 0) state.controls = [...new Set(controls)];
  return state;
}

export function within(field: Field, value: number): number {
  const kept = Math.min(field.max, Math.max(field.min, value));
  return field.isWhole ? Math.round(kept) : Number(kept.toPrecision(3));
}
