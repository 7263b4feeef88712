// Scales of axes: from values to shares of the axis, with ticks at round numbers.

import type { Scale, Ticks } from "./model.ts";

export interface Axis {
  /** Both ends; the first may be the greater. */
  ends: readonly [number, number];
  /** Share of the axis at a value: 0 at its first end, 1 at its last. */
  at: (value: number) => number;
  /** The value at a share. */
  value: (share: number) => number;
  ticks: { value: number; label: string }[];
}

type Kind = NonNullable<Scale["type"]>;

const FORWARD: Record<Kind, (value: number) => number> = {
  linear: (value) => value,
  log: (value) => Math.log10(Math.max(value, Number.MIN_VALUE)),
  sqrt: (value) => Math.sign(value) * Math.sqrt(Math.abs(value)),
};
const BACK: Record<Kind, (value: number) => number> = {
  linear: (value) => value,
  log: (value) => 10 ** value,
  sqrt: (value) => Math.sign(value) * value * value,
};

/** The axis of values between two, with about `count` ticks. */
export function axisOf(low: number, high: number, count: number, scale: Scale = {}, ticks: Ticks = {}): Axis {
  const kind = scale.type ?? "linear";
  const [forward, back] = [FORWARD[kind], BACK[kind]];
  const ends = endsOf(low, high, count, scale);
  const [first, last] = [forward(ends[0]), forward(ends[1])];
  const span = last - first || 1;
  const at = (value: number) => (forward(value) - first) / span;
  const value = (share: number) => back(first + share * span);
  return { ends, at, value, ticks: ticksOf(ends, count, kind, ticks) };
}

function endsOf(low: number, high: number, count: number, scale: Scale): readonly [number, number] {
  if (scale.domain) return scale.domain;
  if (!(low <= high)) return scale.type === "log" ? [1, 10] : [0, 1];
  let [least, most] = [low, high];
  if (scale.zero) [least, most] = [Math.min(0, least), Math.max(0, most)];
  if (scale.domainMin !== undefined) least = scale.domainMin;
  if (scale.type === "log") return [least * 0.93, most * 1.07];
  if (least === most) {
    const beside = Math.abs(least) * 0.1 || 1;
    [least, most] = [scale.zero || scale.domainMin !== undefined ? least : least - beside, most + beside];
  }
  if (scale.nice === false) return [least, most];
  const step = stepOf(most - least, count);
  const floor = scale.domainMin ?? Math.floor(least / step + 1e-9) * step;
  return [floor, Math.ceil(most / step - 1e-9) * step];
}

/** The distance of ticks: 1, 2 or 5 times a power of ten. */
function stepOf(span: number, count: number): number {
  const power = 10 ** Math.floor(Math.log10(span / count));
  const least = span / count / power;
  return power * ([1, 2, 5].find((one) => one >= least - 1e-9) ?? 10);
}

function ticksOf(ends: readonly [number, number], count: number, kind: Kind, given: Ticks): Axis["ticks"] {
  const [low, high] = [Math.min(...ends), Math.max(...ends)];
  if (given.values) {
    const texts = given.labels ?? given.values.map((value) => plain(value));
    return given.values.map((value, place) => ({ value, label: texts[place] ?? "" }));
  }
  const values = kind === "log" ? powers(low, high, count) : even(low, high, count);
  return values.map((value) => ({ value, label: given.percent ? `${plain(100 * value)}%` : plain(value) }));
}

function even(low: number, high: number, count: number): number[] {
  const step = stepOf(high - low || 1, count);
  const first = Math.ceil(low / step - 1e-9);
  const last = Math.floor(high / step + 1e-9);
  // A product has fewer spurious digits than a sum.
  return Array.from({ length: Math.max(last - first + 1, 0) }, (_, place) => (first + place) * step);
}

/** Powers of ten and, if they are few, values between them. */
function powers(low: number, high: number, count: number): number[] {
  const decades = Math.log10(high / low);
  const between = decades < 0.7 ? [1, 1.5, 2, 3, 4, 5, 6, 7, 8, 9] : decades < 2.5 ? [1, 2, 5] : [1];
  const found: number[] = [];
  for (let power = Math.floor(Math.log10(low)); power <= Math.log10(high); power++) {
    for (const one of between) found.push(one * 10 ** power);
  }
  const inside = found.filter((value) => value >= low * 0.999 && value <= high * 1.001);
  const every = Math.ceil(inside.length / Math.max(count * 1.5, 2));
  return inside.filter((_, place) => place % every === 0);
}

/** A number with at most six digits, and never with an exponent. */
export function plain(value: number): string {
  return Number(value.toPrecision(6)).toLocaleString("en", { maximumFractionDigits: 12 });
}

/** Writes values of an axis with the same decimals: two more than its ticks need. */
export function steady({ ticks, ends }: Pick<Axis, "ticks" | "ends">): (value: number) => string {
  const step = Math.abs((ticks[1]?.value ?? ends[1]) - (ticks[0]?.value ?? ends[0])) || 1;
  const decimals = Math.min(Math.max(Math.ceil(-Math.log10(step)) + 2, 0), 6);
  return (value) => value.toLocaleString("en", { minimumFractionDigits: decimals, maximumFractionDigits: decimals });
}

/** A figure at the pointer: four digits, never with an exponent. */
export function figure(value: number): string {
  return Number(value.toPrecision(4)).toLocaleString("en", { maximumFractionDigits: 12 });
}
