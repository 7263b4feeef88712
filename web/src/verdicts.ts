// The verdict on each change of capacity, in the words of python/sojourn/verdicts.py. The tests
// compare both for every shipped scenario.

import { brief, general, listed, percent, rateText } from "./formatting.ts";
import type { RunSummary, Spike } from "./model.ts";

const MOST_CHANGES = 5;
const MOST_CONTROLLERS = 12;
// A spike is a packet's delay, and the bound is fluid: a smaller difference meets the bound.
const SAME_S = 1e-3;
const SAME = 0.02;
const PACKET_BITS = 1538 * 8;
// A load from here on fills the link.
const FULL = 0.98;
// A receive window explains a spike if it limited a flow for this share of every run.
const MOSTLY = 0.5;
// Offered rates vary by whole packets.
const SAME_RATE = 0.98;

type Outcome = "above" | "at" | "below" | "rise" | "unknown";
type Cause = "queue" | "faster" | "late" | "load" | "window" | "drops" | "slower";

const CAUSES: Partial<Record<Cause, string>> = {
  queue: "from its queue before the change",
  faster: "by sending faster before it could know of the change",
  late: "by reacting late",
};

interface Response {
  control: string;
  outcome: Outcome;
  excess: number | null;
  recovery: number | null;
  load: number | null;
  used: number | null;
  cause: Cause | null;
  part: number | null;
}

interface Verdict {
  change: Spike;
  text: string;
  largest: number;
}

/** One sentence for each change of capacity; of many, for those with the greatest spikes. */
export function sentences(runs: readonly RunSummary[]): string[] {
  const every = verdicts(runs);
  if (every.length <= MOST_CHANGES) return every.map((one) => one.text);
  const falls = every.filter((one) => one.change.to_bps < one.change.from_bps);
  const greatest = [...falls].sort((a, b) => b.largest - a.largest).slice(0, MOST_CHANGES);
  const shown = [...greatest].sort((a, b) => a.change.at_s - b.change.at_s);
  const rest = `${every.length - shown.length} more changes of capacity are in summary.json.`;
  return [...shown.map((one) => one.text), rest];
}

/** The verdict on each change of the first run. */
function verdicts(runs: readonly RunSummary[]): Verdict[] {
  const windowed = new Set(runs.map((run) => run.control));
  for (const run of runs) if (!isWindowed(run)) windowed.delete(run.control);
  return (runs[0]?.spikes ?? []).map((change, place) => {
    const own = new Map<string, Spike>();
    for (const run of runs) {
      const spike = run.spikes[place];
      if (spike && isSame(change, spike)) own.set(run.control, spike);
    }
    const largest = Math.max(0, ...[...own.values()].map((spike) => spike.spike_s ?? 0));
    return { change, text: textOf(change, own, windowed), largest };
  });
}

/** Whether a receive window limited a flow for most of a run. */
function isWindowed(run: RunSummary): boolean {
  return run.flows.some((flow) => (flow.rwnd_limited_s ?? 0) > MOSTLY * run.duration_s);
}

function isSame(one: Spike, other: Spike): boolean {
  const { link, from_bps, to_bps } = other;
  return one.link === link && one.from_bps === from_bps && one.to_bps === to_bps;
}

function textOf(change: Spike, spikes: Map<string, Spike>, windowed: Set<string>): string {
  const every = [...spikes].map(([control, spike]) =>
    responseOf(control, spike, windowed.has(control)),
  );
  const head = headOf(change, spikes);
  if (change.to_bps >= change.from_bps) {
    const known = every.filter((one) => one.used !== null);
    const used = known.map((one) => `${one.control} used ${percent(one.used)}`);
    const after = used.length > 0 ? `: ${listed(used)} of the capacity after it` : "";
    return `${head} A rise builds up no queue${after}.`;
  }
  const bounds = [...spikes.values()].flatMap((spike) => spike.bound_s ?? []);
  const least =
    bounds.length === 0
      ? "The capacity did not return, so every queueing delay was unavoidable"
      : `${brief(Math.max(...bounds))} of queueing delay was unavoidable`;
  return `${head} ${[least, ...clauses(every)].join("; ")}.`;
}

function headOf(change: Spike, spikes: Map<string, Spike>): string {
  const { at_s, complete_at_s, link } = change;
  const times = new Set([...spikes.values()].map((spike) => spike.at_s));
  let when = `At ${four(at_s)} s ${link}`;
  if (times.size > 1) when = `The capacity of ${link}`;
  else if (complete_at_s !== null && complete_at_s > at_s) {
    when = `From ${four(at_s)} s to ${four(complete_at_s)} s ${link}`;
  }
  const verb = change.to_bps < change.from_bps ? "fell" : "rose";
  return `${when} ${verb} from ${ratesText(change.from_bps, change.to_bps)}.`;
}

function four(seconds: number): string {
  return general(seconds, 4);
}

/** Two rates: `60 to 20 Mbit/s`. */
function ratesText(from: number, to: number): string {
  const [a = "", unit = ""] = rateText(from).split(" ");
  const [b = "", same = ""] = rateText(to).split(" ");
  return unit === same ? `${a} to ${b} ${unit}` : `${a} ${unit} to ${b} ${same}`;
}

function responseOf(control: string, spike: Spike, isLimited: boolean): Response {
  const excess = spike.excess_s;
  const carried = spike.carried_loop_bps;
  const load = carried === null || !spike.from_bps ? null : carried / spike.from_bps;
  const outcome = outcomeOf(spike, excess);
  let [cause, part]: [Cause | null, number | null] = [null, null];
  if (outcome === "above") [cause, part] = causeAbove(spike, excess ?? 0);
  else if (outcome === "below") cause = causeBelow(spike, load);
  if (cause === "load" && isLimited) cause = "window";
  const used = spike.utilisation_after;
  return { control, outcome, excess, recovery: spike.duration_s, load, used, cause, part };
}

function outcomeOf(spike: Spike, excess: number | null): Outcome {
  if (spike.to_bps >= spike.from_bps) return "rise";
  if (excess === null) return "unknown";
  const packets = spike.to_bps ? (2 * PACKET_BITS) / spike.to_bps : 0;
  const same = Math.max(SAME_S, SAME * (spike.bound_s ?? 0), packets);
  if (Math.abs(excess) <= same) return "at";
  return excess > 0 ? "above" : "below";
}

/** The largest part of the excess: the queue at the change, packets sent too fast, or the rest. */
function causeAbove(spike: Spike, excess: number): [Cause | null, number | null] {
  const { from_bps: old, to_bps: now, queue_delay_before_s: before, loop_s: loop } = spike;
  if (before === null || loop === null || !now) return [null, null];
  const queue = Math.min((before * old) / now, excess);
  const above = Math.max((spike.offered_loop_bps ?? 0) - old, 0);
  const faster = Math.min((above * loop) / now, excess - queue);
  const parts: [Cause, number][] = [
    ["queue", queue],
    ["faster", faster],
    ["late", excess - queue - faster],
  ];
  return parts.reduce((most, part) => (part[1] > most[1] ? part : most));
}

/** The reason for a spike below the bound of a full link. */
function causeBelow(spike: Spike, load: number | null): Cause | null {
  const corrected = spike.excess_corrected_s;
  const isPartial = load !== null && load < FULL;
  if (isPartial && (corrected === null || corrected >= -SAME_S)) return "load";
  const { carried_loop_bps: carried, offered_loop_bps: offered } = spike;
  const isSlower = carried !== null && offered !== null && offered < SAME_RATE * carried;
  const dropped = spike.dropped_to_peak_packets ?? 0;
  // Senders that slowed down, as after a drop before the change, and lost few packets after it.
  const waited = spike.to_bps ? (dropped * PACKET_BITS) / spike.to_bps : Infinity;
  if (dropped && !(isSlower && waited < -(corrected ?? 0) / 2)) return "drops";
  if (isSlower) return "slower";
  return isPartial ? "load" : null;
}

/** One clause for each group of controllers with the same response. */
function clauses(every: readonly Response[]): string[] {
  const shown = every.slice(0, MOST_CONTROLLERS).sort(byRank);
  const groups: Response[][] = [];
  for (const one of shown) {
    const last = groups.at(-1);
    if (last?.[0] && kindOf(last[0]) === kindOf(one)) last.push(one);
    else groups.push([one]);
  }
  const found = groups.map(clause);
  const more = every.length - shown.length;
  return more > 0 ? [...found, `${more} more controllers are in the table`] : found;
}

/** The greatest excess first, and controllers with the same response together. */
function byRank(a: Response, b: Response): number {
  const order: Outcome[] = ["above", "at", "below", "rise", "unknown"];
  const kind = (one: Response) => (one.outcome === "above" ? "" : kindOf(one));
  const text = (x: string, y: string) => (x < y ? -1 : x > y ? 1 : 0);
  return (
    order.indexOf(a.outcome) - order.indexOf(b.outcome) ||
    text(kind(a), kind(b)) ||
    (b.excess ?? 0) - (a.excess ?? 0) ||
    text(a.control, b.control)
  );
}

/** The properties that controllers of one clause share. */
function kindOf(one: Response): string {
  if (one.outcome === "above") return `above ${one.control}`;
  if (one.outcome === "below" && (one.cause === "load" || one.cause === "window")) {
    return `('below', '${one.cause}', ${percent(one.load)})`;
  }
  // Python sorts by the text of a tuple, in which None comes before a quoted name.
  return `('${one.outcome}', ${one.cause === null ? "None" : `'${one.cause}'`})`;
}

function clause(same: readonly Response[]): string {
  const names = listed(same.map((one) => one.control));
  const one = same[0];
  if (!one) return "";
  switch (one.outcome) {
    case "above":
      return `${names} added ${addedText(one)}`;
    case "at":
      return `${names} met the bound`;
    case "below":
      return `${names} stayed below the bound${reasonText(one, same.length === 1)}`;
    default:
      return `no spike of ${names} was measured`;
  }
}

/** An excess: its size, its largest part, and the time until it was over. */
function addedText({ control, excess, cause, part, recovery, used }: Response): string {
  let text = brief(excess ?? 0);
  if (cause !== null && part !== null) {
    const share = part >= 0.95 * (excess ?? 0) ? "" : `, ${brief(part)} of it`;
    text += `${share} ${CAUSES[cause]},`;
  }
  if (recovery === null) return `${text} and did not recover${lockText(control, used)}`;
  return `${text} and took ${brief(recovery)} to recover`;
}

/** A queue that BBR v3 never drains (its parameter max_bw_filter). */
function lockText(control: string, used: number | null): string {
  const locks = control === "bbr3" && (used ?? 0) >= FULL;
  const why = "each ProbeRTT may keep its old estimate of the bandwidth";
  return locks ? `: ${why}, unless max_bw_filter is repaired` : "";
}

function reasonText(one: Response, isOne: boolean): string {
  const used = isOne ? "it used" : "they used";
  switch (one.cause) {
    case "load":
      return ` because ${used} ${percent(one.load)} of the link just before it`;
    case "window": {
      const whom = isOne ? "it" : "them";
      const share = percent(one.load);
      return ` because the receive window let ${whom} use only ${share} of the link just before it`;
    }
    case "drops":
      return " because the queue dropped packets";
    case "slower":
      return " because senders slowed before they could know of the change";
    default:
      return ", for a reason that was not measured";
  }
}
