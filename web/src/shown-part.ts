// The shown part of the time: a preset or a part that a reader chose. The address keeps it after the state
// of the view: `;t=drop`, `;t=first`, `;t=all` or `;t=FROM-TO`; without one, a view shows its usual part.

import type { Experiment } from "./experiment.ts";
import type { Part } from "./figure/pointer.ts";

export type Preset = "drop" | "first" | "all";
export type Choice = Preset | Part;

/** Pause after which the address follows a choice. Browsers limit how often it may change. */
const PAUSE_MS = 300;
/** Times around a drop, as python/sojourn/picture/run_picture.py has them; a long loop shows more. */
const [BEFORE_S, AFTER_S, LOOPS_AFTER] = [0.5, 3.5, 20];
const FIRST_S = 1;

/** The presets that this experiment has, with their names. */
export function presetsOf(experiment: Experiment): [Preset, string][] {
  const end = experiment.described?.duration_s ?? 0;
  const drop: [Preset, string][] = dropOf(experiment) ? [["drop", "The drop"]] : [];
  const first: [Preset, string][] = end > FIRST_S ? [["first", "The first second"]] : [];
  return [...drop, ...first, ["all", "All"]];
}

/** The part of an experiment's time that a choice shows. */
export function partOf(choice: Choice, experiment: Experiment): Part {
  const end = experiment.described?.duration_s ?? 0;
  if (typeof choice !== "string") return choice[1] <= end ? choice : [0, end];
  if (choice === "first") return [0, Math.min(FIRST_S, end)];
  const drop = choice === "drop" ? dropOf(experiment) : undefined;
  if (!drop) return [0, end];
  const after = Math.max(AFTER_S, LOOPS_AFTER * drop.loop_s);
  return [Math.max(0, drop.at_s - BEFORE_S), Math.min(end, drop.complete_at_s + after)];
}

/** The drop of the shown link with the greatest spike. */
export function dropOf(experiment: Experiment) {
  const own = experiment.summaries()[0]?.spikes ?? [];
  const falls = own.filter(({ link, from_bps, to_bps }) => link === experiment.focus && to_bps < from_bps);
  return falls.sort((a, b) => (b.spike_s ?? 0) - (a.spike_s ?? 0))[0];
}

class ShownPart {
  /** Called when the address should change. */
  onChange: () => void = () => {};
  /** Undefined for the usual part of the view. */
  choice: Choice | undefined;
  private timer = 0;

  /** The part of the address for the choice. */
  get suffix(): string {
    if (this.choice === undefined) return "";
    if (typeof this.choice === "string") return `;t=${this.choice}`;
    return `;t=${this.choice.map((time) => Number(time.toFixed(4))).join("-")}`;
  }

  /** Split a fragment: keep its choice, and return the state of the view. */
  read(fragment: string): string {
    this.forget();
    const found = /^(.*);t=(?:(drop|first|all)|(\d+(?:\.\d+)?)-(\d+(?:\.\d+)?))$/s.exec(fragment);
    if (!found) return fragment;
    const part: Part = [Number(found[3]), Number(found[4])];
    if (found[2]) this.choice = found[2] as Preset;
    else if (part[0] < part[1]) this.choice = part;
    return found[1] ?? "";
  }

  choose(choice: Choice): void {
    this.choice = choice;
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.onChange(), PAUSE_MS);
  }

  /** Show the usual part from now on. */
  forget(): void {
    clearTimeout(this.timer);
    this.choice = undefined;
  }
}

/** The page has one, as it has one address. */
export const shownPart = new ShownPart();
