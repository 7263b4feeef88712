// Figures as text for readers, as python/sojourn/record/formatting.py writes them.

export const MISSING = "–";

/** As Python's format `.Ng`: this many digits, without trailing zeros. */
export function general(value: number, digits: number): string {
  if (value === 0 || !Number.isFinite(value)) return String(value);
  const [mantissa = "", power = "0"] = value.toExponential(digits - 1).split("e");
  const exponent = Number(power);
  const trimmed = (text: string) => (text.includes(".") ? text.replace(/\.?0+$/, "") : text);
  if (exponent < -4 || exponent >= digits) {
    const sign = exponent < 0 ? "-" : "+";
    return `${trimmed(mantissa)}e${sign}${String(Math.abs(exponent)).padStart(2, "0")}`;
  }
  return trimmed(Number(value.toExponential(digits - 1)).toFixed(digits - 1 - exponent));
}

/** As Python's format `.0f`, which rounds halves to even. */
export function whole(value: number): string {
  const floor = Math.floor(value);
  const isHalf = value - floor === 0.5;
  return String(isHalf ? floor + (floor % 2) : Math.round(value));
}

/** The largest unit in which a rate is at least one. */
export function rateUnit(bps: number): [number, string] {
  const units: [number, string][] = [
    [1e9, "Gbit/s"],
    [1e6, "Mbit/s"],
    [1e3, "kbit/s"],
  ];
  return units.find(([scale]) => bps >= scale) ?? [1, "bit/s"];
}

/** A rate: `60 Mbit/s`. */
export function rateText(bps: number): string {
  const [scale, unit] = rateUnit(bps);
  return `${general(bps / scale, 4)} ${unit}`;
}

/** A time with three digits. */
export function brief(seconds: number): string {
  if (seconds >= 1) return `${general(seconds, 3)} s`;
  return seconds < 0.9995 ? `${general(1e3 * seconds, 3)} ms` : "1 s";
}

/** A share in per cent. */
export function percent(share: number | null): string {
  return `${whole(100 * (share ?? 0))} %`;
}
