// Draw: a capacity over time, drawn by hand or read from a mahimahi trace.

import { button, el, fill } from "./dom.ts";
import { Drawing } from "./drawing.ts";
import type { Experiment } from "./experiment.ts";
import { CONTROLS, QUEUES } from "./explore-state.ts";
import { brief, general } from "./formatting.ts";
import type { Scenario } from "./messages.ts";
import { fragmentOf, scenarioOf } from "./permalink.ts";
import type { Pool } from "./pool.ts";
import { Results } from "./results.ts";
import { files as shipped } from "./shipped.ts";
import type { Keep, View } from "./view.ts";

const PARTS = 120;
const DURATION_S = 30;
const MOST_MBIT = 60;
/** A larger file is refused, as it would take long to read. */
const MOST_TRACE = 8 << 20;
const TRACE = "dropped.trace";
const [SAMPLES, COARSE_SAMPLES] = [1500, 300];

type Shape = [name: string, rate: (share: number) => number];

const SHAPES: Shape[] = [
  ["Step down", (share) => (share < 0.5 ? 50 : 15)],
  ["Outage", (share) => (share > 0.5 && share < 0.55 ? 0 : 40)],
  ["Wave", (share) => 30 + 22 * Math.sin(share * 6 * Math.PI)],
  ["Product of waves", (share) => 20 + 18 * Math.abs(Math.sin(share * 91.7) * Math.cos(share * 37.3))],
];

/** Everything beside the capacity. */
interface Setting {
  rtt: number;
  queue: string;
  controls: string[];
}

const START: Setting = { rtt: 40, queue: "droptail", controls: ["cubic", "bbr", "copa", "ideal"] };

/** The scenario with a rate. `rate` is a value of the document. */
function documentOf(rate: object, { rtt, queue, controls }: Setting, samples: number): object {
  return {
    title: "Drawn capacity",
    duration: `${DURATION_S}s`,
    controls,
    record: { interval: `${Math.round((DURATION_S * 1e6) / samples)}us` },
    link: {
      bottleneck: { rate, delay: `${rtt / 2}ms`, queue, buffer: "500kB" },
      back: { delay: `${rtt / 2}ms` },
    },
    flow: { upload: { path: ["bottleneck"], back: ["back"] } },
  };
}

/** The view with the pad. */
export class Draw implements View {
  readonly element: HTMLElement;
  private setting = START;
  private readonly drawing: Drawing;
  private readonly results: Results;
  private readonly form = el("form", { class: "fields", onsubmit: (event) => event.preventDefault() });
  private readonly caption = el("p", { class: "caption", role: "status" });
  private readonly status = el("p", { class: "fault", role: "status" });
  private trace: string | undefined;
  /** Raised by each newer capacity and by the end of the view: a file read for an earlier one is late. */
  private latest = 0;

  constructor(
    pool: Pool,
    private readonly onFragment: Keep,
    private readonly onWrite: (toml: string, files: Record<string, string>) => void,
  ) {
    this.results = new Results(pool, (experiment) => this.onShown(experiment));
    this.results.charts.usual = "all";
    this.results.charts.isNamed = false;
    this.drawing = new Drawing(ratesOf(SHAPES[0]), MOST_MBIT, DURATION_S, (isDrawing) => this.onDraw(isDrawing));
    const hint = "Draw the capacity of a link, or drop a mahimahi trace on it. Grey is the delay that it makes unavoidable.";
    const side = el("div", { class: "side" }, el("p", {}, hint), this.shapes(), this.form, this.status);
    const title = el("figcaption", {}, "Capacity", el("span", { class: "unit" }, "Mbit/s: draw here"));
    this.results.charts.above(el("div", { class: "own" }, title, this.drawing.element, this.caption));
    this.element = el("div", { class: "columns draw" }, side, this.results.element);
  }

  open(fragment: string): void {
    if (fragment === "") {
      this.build();
      return this.run(false);
    }
    void this.restore(fragment);
  }

  close(): void {
    this.latest += 1;
    this.results.abandon();
  }

  /** Use a trace, such as one that was dropped on another view. */
  use(trace: string): void {
    this.trace = trace;
    this.build();
    this.run(false);
  }

  /** Takes capacity and setting from the address. */
  private async restore(fragment: string): Promise<void> {
    this.latest += 1;
    const own = this.latest;
    const held = await scenarioOf(fragment);
    if (own !== this.latest) return;
    const { rates, ...setting } = settingOf(held?.text ?? "");
    this.setting = setting;
    this.trace = held?.files[TRACE];
    if (rates) this.drawing.set((part) => rates[part] ?? 0);
    this.build();
    this.run(false);
  }

  private shapes(): HTMLElement {
    const shapes = SHAPES.map((shape) =>
      button(shape[0], () => {
        const rates = ratesOf(shape);
        this.drawing.set((part) => rates[part] ?? 0);
        this.onDraw(false);
      }),
    );
    const cellular = button("Cellular trace", () => this.use(shipped["traces/cellular.trace"] ?? ""));
    const file = el("input", { type: "file", "aria-label": "A mahimahi trace" });
    file.addEventListener("change", () => void this.read(file.files?.[0]));
    return el("div", { class: "exports" }, ...shapes, cellular, file);
  }

  private build(): void {
    const { rtt, queue, controls } = this.setting;
    const slider = el("input", { type: "range", id: "draw-rtt", min: 2, max: 300, value: rtt });
    const shown = el("span", {}, `${rtt} ms`);
    slider.addEventListener("input", () => {
      shown.textContent = `${slider.value} ms`;
      this.change({ rtt: Number(slider.value) }, true);
    });
    slider.addEventListener("change", () => this.change({}, false));
    const options = QUEUES.map((one) => el("option", { value: one, selected: one === queue }, one));
    const select = el("select", { id: "draw-queue", onchange: () => this.change({ queue: select.value }) }, ...options);
    const boxes = CONTROLS.map((name) => {
      const toggle = () => this.change({ controls: CONTROLS.filter((one) => (one === name ? box.checked : this.setting.controls.includes(one))) });
      const box = el("input", { type: "checkbox", checked: controls.includes(name), onchange: toggle });
      return el("label", {}, box, name);
    });
    fill(
      this.form,
      el("div", { class: "field" }, el("label", { for: "draw-rtt" }, "Base RTT"), slider, shown),
      el("div", { class: "field" }, el("label", { for: "draw-queue" }, "Queue"), select),
      el("fieldset", { class: "boxes" }, el("legend", {}, "Controllers"), ...boxes),
      button("Edit as a scenario", () => {
        const { described, scenario } = this.results.experiment ?? {};
        if (described) this.onWrite(described.toml, scenario?.files ?? {});
      }),
    );
  }

  private change(part: Partial<Setting>, isDragging = false): void {
    if (part.controls?.length === 0) return this.build();
    this.setting = { ...this.setting, ...part };
    this.run(isDragging);
  }

  private onDraw(isDrawing: boolean): void {
    this.trace = undefined;
    this.run(isDrawing);
  }

  private async read(file: File | undefined): Promise<void> {
    if (!file) return;
    if (file.size > MOST_TRACE) {
      this.status.textContent = `${file.name} has more than ${MOST_TRACE >> 20} MiB.`;
      return;
    }
    this.latest += 1;
    const own = this.latest;
    const trace = await file.text();
    if (own === this.latest) this.use(trace);
  }

  private run(isDrawing: boolean): void {
    this.latest += 1;
    this.status.textContent = "";
    const { text, files } = this.scenario(isDrawing ? COARSE_SAMPLES : SAMPLES);
    this.results.run({ text, files }, isDrawing);
    if (!isDrawing) void this.intoAddress();
  }

  private scenario(samples: number): Scenario {
    if (this.trace !== undefined) {
      return { text: documentOf({ trace: TRACE }, this.setting, samples), files: { [TRACE]: this.trace } };
    }
    const rate = (part: number) => `${general(this.drawing.rates[part] ?? 0, 5)}Mbit`;
    const steps: object[] = [];
    for (let part = 1; part < PARTS; part++) {
      if (rate(part) !== rate(part - 1)) steps.push({ at: `${(DURATION_S * part) / PARTS}s`, rate: rate(part) });
    }
    return { text: documentOf({ start: rate(0), steps }, this.setting, samples), files: {} };
  }

  private async intoAddress(): Promise<void> {
    const own = this.latest;
    const rates = this.trace === undefined ? this.drawing.rates.map((rate) => Number(rate.toPrecision(5))) : undefined;
    const files: Record<string, string> = this.trace === undefined ? {} : { [TRACE]: this.trace };
    const fragment = await fragmentOf({ text: JSON.stringify({ ...this.setting, rates }), files });
    if (own === this.latest) this.onFragment(fragment);
  }

  private onShown(experiment: Experiment): void {
    this.caption.textContent = captionOf(experiment);
    if (this.trace === undefined) return;
    // The pad shows the trace as means of its parts.
    const { time, capacity } = experiment.runs[0]?.link ?? { time: [], capacity: [] };
    const means = Array.from({ length: PARTS }, (): number[] => []);
    time.forEach((at, row) => means[Math.min(PARTS - 1, Math.floor((at / DURATION_S) * PARTS))]?.push(capacity[row] ?? 0));
    this.drawing.set((part) => (means[part] ?? []).reduce((sum, one) => sum + one, 0) / (means[part]?.length || 1) / 1e6);
  }
}

const ratesOf = (shape: Shape | undefined) => Array.from({ length: PARTS }, (_, part) => shape?.[1](part / PARTS) ?? 0);

/** The setting of an address; impossible values keep their start. */
function settingOf(text: string): Setting & { rates: number[] | undefined } {
  let given: Partial<Setting & { rates: unknown[] }> = {};
  try {
    given = JSON.parse(text) ?? {};
  } catch {
    // A damaged address shows the start.
  }
  const rtt = Number(given.rtt);
  const controls = CONTROLS.filter((one) => Array.isArray(given.controls) && given.controls.includes(one));
  const rates = Array.isArray(given.rates) && given.rates.length === PARTS ? given.rates.map(Number) : undefined;
  return {
    rtt: rtt >= 2 && rtt <= 300 ? rtt : START.rtt,
    queue: QUEUES.find((one) => one === given.queue) ?? START.queue,
    controls: controls.length > 0 ? controls : START.controls,
    rates: rates?.every(Number.isFinite) ? rates : undefined,
  };
}

/** The unavoidable delay in words, or the reason why it is unknown. */
function captionOf({ unavoidable, described, fault }: Experiment): string {
  if (unavoidable) {
    const text = (delay: number | null) => (delay === null ? "without end" : brief(delay));
    const [p99, most] = [text(unavoidable.queue_delay_p99_s), text(unavoidable.queue_delay_max_s)];
    return `Unavoidable: ${p99} at the 99th percentile, ${most} at most`;
  }
  const rate = described?.document.link["bottleneck"]?.["rate"] as { steps?: object[]; trace?: string };
  if (!rate?.trace && !rate?.steps?.length) return "The capacity does not change: no delay is unavoidable";
  const reason = fault?.message ?? "the run is longer than the page computes with.";
  return `The unavoidable delay is unknown: ${reason}`;
}
