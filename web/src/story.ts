// A story of Learn: sentences with sliders in them, an experiment, marks on its picture, and a question.

import type { Choice as Part } from "./shown-part.ts";
import type { Experiment } from "./experiment.ts";
import type { Layer } from "./figure/model.ts";
import { brief, rateText } from "./formatting.ts";
import { BOUND } from "./palette.ts";
import type { Panel } from "./panels.ts";
import { dropOf } from "./shown-part.ts";

/** The chosen values, by the names of their controls. */
export type Values = Record<string, number | string>;

/** A number with a slider, or a choice, within a sentence. */
export type Control =
  | { kind: "slider"; min: number; max: number; step: number; unit: string; label: string }
  | { kind: "choice"; options: [value: string, text: string][]; label: string };

export interface Option {
  text: string;
  /** Why it is right or wrong. */
  answer: string;
  /** The values that it claims something about, where they differ from those of the question. */
  values?: Values;
  /** A level of the leading panel that it claims, in the panel's SI unit. */
  claim?: number;
}

export interface Story {
  key: string;
  title: string;
  /** `[name]` is a control, and `{name}` a figure. Backticks are around names. */
  text: string[];
  controls: Record<string, Control>;
  start: Values;
  scenario: (values: Values) => string;
  /** Figures of the text from the results. */
  figures?: (values: Values, experiment: Experiment) => Record<string, string>;
  /** The leading panel; without one, the queueing delay. */
  lead?: Panel["key"];
  /** The part of the time in which it happens; without one, the drop. */
  part?: Part;
  question: string;
  /** The values of the question's experiment. */
  asked: Values;
  options: Option[];
  right: number;
  explanation: string[];
}

/** The texts of the marks stand at this height over the greatest peak. */
const TEXTS = 1.12;

/** The marks of a drop: it, the first moment at which a sender can act on it, and each run's peak. */
export function dropNotes(experiment: Experiment, scale: number): Layer[] {
  const drop = dropOf(experiment);
  if (!drop) return [];
  const news = drop.at_s + drop.loop_s;
  const peaks = experiment.summaries().flatMap(({ control, spikes }) => {
    const own = spikes.find(({ at_s, link }) => at_s === drop.at_s && link === drop.link);
    return own?.spike_s ? [{ control, at: own.peak_at_s, spike: own.spike_s }] : [];
  });
  const top = Math.max(...peaks.map(({ spike }) => spike), drop.bound_s ?? 0) / scale;
  const greatest = peaks.sort((a, b) => b.spike - a.spike).slice(0, 1);
  return [
    upright([drop.at_s, news]),
    beside(news, TEXTS * top, `\u00a0the drop; ${brief(drop.loop_s)} later senders can act`),
    {
      name: "",
      kind: "text",
      columns: [greatest.map(({ at }) => at), greatest.map(({ spike }) => spike / scale)],
      texts: greatest.map(({ control, spike }) => `\u00a0peak of ${control}: ${brief(spike)}`),
      colour: "var(--ink)",
      align: "left",
    },
  ];
}

/** Lines at times. */
function upright(times: number[]): Layer {
  const none = times.map(() => null);
  return { name: "", kind: "rules", columns: [times, none, times, none], colour: "var(--soft)", dash: [2, 3] };
}

/** A text beside a time, at a value of the axis. */
function beside(time: number, value: number, text: string): Layer {
  return { name: "", kind: "text", columns: [[time], [value]], texts: [text], colour: "var(--ink)", align: "left" };
}

/** The level that an answer claims. */
export function claimNote(claim: number, scale: number, end: number, isLight: boolean): Layer {
  const level = [claim / scale];
  const colour = isLight ? BOUND.light : BOUND.dark;
  return { name: "", kind: "rules", columns: [[0], level, [end], level], texts: ["your answer"], colour, width: 2.4 };
}

/** The figure of a run as text. */
export const goodputOf = (experiment: Experiment, control: string, flow: string) => {
  const own = experiment.summaries().find((run) => run.control === control) ?? experiment.summaries()[0];
  return rateText(own?.flows.find(({ name }) => name === flow)?.goodput_bps ?? 0);
};

export const delayOf = (experiment: Experiment, control: string, of: "p50" | "p99" | "max" = "p99") => {
  const own = experiment.summaries().find((run) => run.control === control);
  const link = own?.links.find(({ name }) => name === experiment.focus);
  return brief(link?.[`queue_delay_${of}_s`] ?? 0);
};

export const spikeOf = (experiment: Experiment, control: string) => {
  const own = experiment.summaries().find((run) => run.control === control);
  return brief(own?.spikes[0]?.spike_s ?? 0);
};

