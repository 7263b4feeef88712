// The shown part of the time, which the address keeps: `;t=FROM-TO` after the state of the view.

interface Part {
  min: number;
  max: number;
}

/** Pause after which the address follows a zoom. Browsers limit how often it may change. */
const PAUSE_MS = 300;

class Zoom {
  /** Called when the address should change. */
  onChange: () => void = () => {};
  /** The part of the address for the shown time; empty for the whole run. */
  suffix = "";
  private wanted: Part | undefined;
  private timer = 0;

  /** Split a fragment; keep its time for the next charts, and return its state. */
  read(fragment: string): string {
    const found = /^(.*);t=(\d+(?:\.\d+)?)-(\d+(?:\.\d+)?)$/s.exec(fragment);
    const [min, max] = [Number(found?.[2]), Number(found?.[3])];
    this.forget();
    if (found && min < max) {
      this.wanted = { min, max };
      this.suffix = `;t=${min}-${max}`;
    }
    return found?.[1] ?? fragment;
  }

  /** The time of the address, once, if a run of this duration has it. */
  take(duration: number): Part | undefined {
    const { wanted } = this;
    if (duration > 0) this.wanted = undefined;
    return wanted && wanted.max <= duration ? wanted : undefined;
  }

  /** Note the shown part of a run. */
  note(min: number, max: number, duration: number): void {
    const isWhole = min <= 0 && max >= duration;
    const suffix = isWhole ? "" : `;t=${Number(min.toFixed(4))}-${Number(max.toFixed(4))}`;
    if (this.wanted || suffix === this.suffix) return;
    this.suffix = suffix;
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.onChange(), PAUSE_MS);
  }

  /** Show whole runs from now on. */
  forget(): void {
    clearTimeout(this.timer);
    this.wanted = undefined;
    this.suffix = "";
  }
}

/** The page has one, as it has one address. */
export const zoom = new Zoom();
