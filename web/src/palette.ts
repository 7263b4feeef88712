// The looks of lines, and the figures of tables: heading, unit, meaning. Written by docs/record_types.py from the declaration in crates/record.

/** A colour on white, and on a dark ground. */
interface Shades {
  light: string;
  dark: string;
}

/** The look of a controller; other names share those without a name. */
export interface Ink extends Shades {
  name: string;
  /** The place of its dash in `DASHES`. */
  dash: number;
}

/** The look of a part of a delay in the picture of a verdict. */
export interface PartInk extends Shades {
  name: string;
  label: string;
}

export const DASHES: number[][] = [[], [7, 3], [9, 3, 2, 3], [2, 2], [14, 4], [9, 3, 2, 3, 2, 3], [2, 6], [18, 3, 2, 3], [14, 3, 5, 3], [3, 8], [5, 2, 5, 7], [9, 2, 2, 2, 2, 2, 2, 2]];

export const WEIGHTS: number[] = [1.0, 2.2, 0.5, 3.4];

export const INKS: Ink[] = [{"name": "reno", "light": "#a56996", "dark": "#d287b4", "dash": 0},
  {"name": "cubic", "light": "#0078ff", "dark": "#a5b4ff", "dash": 0},
  {"name": "bbr", "light": "#d2781e", "dark": "#ff780f", "dash": 0},
  {"name": "bbr3", "light": "#0f2dff", "dark": "#7869b4", "dash": 0},
  {"name": "copa", "light": "#5a692d", "dark": "#a5c378", "dash": 0},
  {"name": "dctcp", "light": "#009669", "dark": "#69b496", "dash": 0},
  {"name": "prague", "light": "#5a2d00", "dark": "#96693c", "dash": 0},
  {"name": "vegas", "light": "#96871e", "dark": "#d2d25a", "dash": 1},
  {"name": "ledbat", "light": "#964b00", "dark": "#e15a1e", "dash": 1},
  {"name": "ledbat++", "light": "#c37878", "dark": "#ffb4d2", "dash": 1},
  {"name": "swift", "light": "#1e96d2", "dark": "#2d78a5", "dash": 1},
  {"name": "vivace", "light": "#4b4b96", "dark": "#b496d2", "dash": 1},
  {"name": "lola", "light": "#783c96", "dark": "#a578ff", "dash": 0},
  {"name": "ideal", "light": "#1e1e1e", "dark": "#e1e1e1", "dash": 0},
  {"name": "rapid", "light": "#78000f", "dark": "#a5695a", "dash": 1},
  {"name": "scream", "light": "#005aff", "dark": "#7878ff", "dash": 1},
  {"name": "nada", "light": "#4b784b", "dark": "#78e1a5", "dash": 1},
  {"name": "gcc", "light": "#780f5a", "dark": "#d28796", "dash": 1},
  {"name": "", "light": "#116677", "dark": "#5599aa", "dash": 0},
  {"name": "", "light": "#dd6644", "dark": "#ffbb99", "dash": 0},
  {"name": "", "light": "#bb2211", "dark": "#ff6655", "dash": 0},
  {"name": "", "light": "#662233", "dark": "#aa6677", "dash": 0},
  {"name": "", "light": "#449999", "dark": "#88dddd", "dash": 0},
  {"name": "", "light": "#9977ee", "dark": "#cc99ff", "dash": 0}];

export const PARTS: PartInk[] = [{"name": "unavoidable", "label": "unavoidable", "light": "#8a8a8a", "dark": "#8a8a8a"},
  {"name": "queue", "label": "standing queue", "light": "#a87800", "dark": "#f0a818"},
  {"name": "faster", "label": "sent faster before it could know", "light": "#480030", "dark": "#fff0ff"},
  {"name": "late", "label": "late reaction", "light": "#a80030", "dark": "#d81818"},
  {"name": "avoidable", "label": "avoidable", "light": "#1878a8", "dark": "#18a8ff"}];

export const BOUND: Shades = {"light": "#d0006f", "dark": "#ff6fb5"};

export const MEDIA: string[] = ["scream", "nada", "gcc"];

export const METRICS = {"spike": {"spike_s": ["spike", "ms", "peak queueing delay after it, of the packets that wait at the change (from the change on) and of those that arrive until the next change, and at most `record.spike_window` (5 s) after the end of this one or a loop delay, if that is longer; null if there were none"],
  "bound_s": ["bound", "ms", "least spike possible for the rate that the link carried in the loop delay before the change (`carried_loop_bps`); null if capacity goes to zero and stays there"],
  "excess_s": ["excess", "ms", "spike minus bound; negative if the queue dropped packets that would have waited, or senders slowed before they could know of the change; null for a rise, which builds up no queue"],
  "recovery_s": ["recovery", "ms", "from the change until the queueing delay stays at or below the greater of the bound and the 95th percentile of up to 10 s before (since the change before and `measure.from`), within 1 ms or two packets, to the next change or the end; null if it does not"],
  "utilisation_after": ["util. after", "percent", "share of the capacity used until the next change"],
  "utilisation_before": ["util. before", "percent", "share of the capacity used since the change before"]},
  "flow": {"goodput_bps": ["goodput", "rate", "payload delivered, each byte once, over its time from `start_s` (or from `measured_from_s`, if that is later) to stop, completion or the end; 0 if it ended in the warm-up"],
  "base_rtt_s": ["base RTT", "ms", "propagation delay out and back, at the start"],
  "dropped_packets": ["drops", "count", "data packets that a queue dropped or a wire lost"],
  "retransmitted_packets": ["re-sent", "count", "retransmitted data packets"],
  "marked_packets": ["marks", "count", "data packets that arrived with CE"],
  "rtt_p50_s": ["RTT p50", "ms", "of all samples of the round-trip time; of pings, from request to reply"],
  "rtt_p99_s": ["RTT p99", "ms", "of all samples of the round-trip time; of pings, from request to reply"]},
  "link": {"queue_delay_p50_s": ["queue p50", "ms", "percentiles of the time that packets waited in its queue"],
  "queue_delay_p99_s": ["queue p99", "ms", "percentiles of the time that packets waited in its queue"],
  "queue_delay_max_s": ["queue max", "ms", "the longest; packets that still wait at the end count as if sent at the last rate"],
  "utilisation": ["util.", "percent", "share of the capacity that was used; null for a link without a rate"],
  "dropped_packets": ["drops", "count", "packets that its queue dropped or its wire lost"],
  "marked_packets": ["marks", "count", "packets that its queue marked CE"]}} as const;
