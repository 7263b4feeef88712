// The capacity of a link over time as text for the simulator, and the delay that it makes
// unavoidable.

import { brief, percent, rateText } from "./formatting.ts";
import type { Document, RunSummary, Unavoidable } from "./model.ts";

// A longer trace takes seconds.
const MOST_OPPORTUNITIES = 3_000_000;

/** The link that the charts show: one whose capacity changes, else the first with a rate. */
export function focusLink(document: Document): string {
  const links = Object.entries(document.link);
  const changing = links.find(([, link]) => typeof link["rate"] === "object");
  const limited = links.find(([, link]) => link["rate"] !== undefined);
  return (changing ?? limited ?? links[0])?.[0] ?? "";
}

/** The name of the trace that a link follows, if it follows one. */
export function traceOf(document: Document, link: string): string | undefined {
  const rate = document.link[link]?.["rate"];
  const trace = typeof rate === "object" ? (rate as { trace?: unknown }).trace : undefined;
  return typeof trace === "string" ? trace : undefined;
}

/** The opportunities of a trace up to a time in seconds; it begins again after its last one. */
export function repeated(text: string, duration: number): string | undefined {
  const end = Math.round(1000 * duration);
  const once = text.split(/\s+/).filter(Boolean).map(Number);
  const period = once.at(-1) ?? 0;
  if (!(period > 0) || once.length * (Math.floor(end / period) + 1) > MOST_OPPORTUNITIES) {
    return undefined;
  }
  const every: number[] = [];
  for (let start = 0; start < end; start += period) {
    for (const time of once) if (start + time < end) every.push(start + time);
  }
  return [...every, end].join("\n");
}

/** Samples of a capacity as rows of a table; undefined if it never changes or ends at zero. */
export function table(times: ArrayLike<number>, rates: ArrayLike<number | null>): string | undefined {
  const rows: string[] = [];
  let last = -1;
  for (let k = 0; k < times.length; k++) {
    const rate = Math.round(rates[k] ?? 0);
    // A sample covers the time before it.
    if (rate !== last) rows.push(`${k === 0 ? 0 : times[k - 1]},${rate}bit`);
    last = rate;
  }
  if (rows.length < 2 || last <= 0) return undefined;
  return [...rows, `${times[times.length - 1]},${last}bit`].join("\n");
}

/** The greatest loop delay of the flows over a link, in seconds. */
export function loopOf(document: Document, link: string, run: RunSummary): number {
  const known = run.spikes.flatMap((spike) => (spike.link === link ? (spike.loop_s ?? []) : []));
  if (known.some((loop) => loop > 0)) return Math.max(...known);
  const over = Object.keys(document.flow).filter((name) => {
    const path = document.flow[name]?.["path"];
    return Array.isArray(path) && path.includes(link);
  });
  const own = run.flows.filter((flow) => over.includes(flow.name));
  return Math.max(...(own.length > 0 ? own : run.flows).map((flow) => flow.base_rtt_s));
}

/** The unavoidable delay of a trace, and each controller's avoidable share, in words. */
export function traceSentence(
  link: string,
  loop: number,
  found: Unavoidable,
  runs: readonly RunSummary[],
): string {
  const clauses = runs.flatMap((run) => {
    const own = run.links.find((one) => one.name === link);
    const delay = own?.queue_delay_p99_s;
    return delay ? `${run.control} had ${against(delay, found.p99_s, own.utilisation)}` : [];
  });
  const least = `a 99th percentile of ${brief(found.p99_s)} of queueing delay was unavoidable`;
  return (
    `The capacity of ${link} follows a trace, ${rateText(found.mean_rate_bps)} on average. ` +
    `With a loop delay of ${brief(loop)}, ${[least, ...clauses.slice(0, 12)].join("; ")}.`
  );
}

function against(delay: number, least: number, used: number | null): string {
  if (delay >= least) return `${brief(delay)}, ${percent(1 - least / delay)} of it avoidable`;
  const load = used === null ? "" : ` because it used ${percent(used)} of the link`;
  return `${brief(delay)}, less than that${load}`;
}
