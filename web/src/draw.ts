// Draw: a capacity over time, drawn by hand or read from a mahimahi trace.

import { button, el, fill, scrolling } from "./dom.ts";
import { Drawing } from "./drawing.ts";
import type { Experiment } from "./experiment.ts";
import { MISSING, brief, general, percent } from "./formatting.ts";
import type { Scenario } from "./messages.ts";
import type { Pool } from "./pool.ts";
import { Results } from "./results.ts";
import { files as shipped } from "./shipped.ts";
import type { View } from "./view.ts";

const PARTS = 120;
const DURATION_S = 30;
const MOST_MBIT = 60;
const CONTROLS = ["cubic", "bbr", "copa", "ideal"];
/** A larger file is refused, as it would take long to read. */
const MOST_TRACE = 8 << 20;
const TRACE = "dropped.trace";

type Shape = [name: string, rate: (share: number) => number];

const SHAPES: Shape[] = [
  ["Step down", (share) => (share < 0.5 ? 50 : 15)],
  ["Outage", (share) => (share > 0.5 && share < 0.55 ? 0 : 40)],
  ["Wave", (share) => 30 + 22 * Math.sin(share * 6 * Math.PI)],
  ["Product of waves", (share) => 20 + 18 * Math.abs(Math.sin(share * 91.7) * Math.cos(share * 37.3))],
];

/** The scenario with a rate. `rate` is a value of the document. */
function scenarioOf(rate: object, files: Record<string, string>, samples: number): Scenario {
  const text = {
    title: "Drawn capacity",
    duration: `${DURATION_S}s`,
    controls: CONTROLS,
    record: { interval: `${Math.round((DURATION_S * 1e6) / samples)}us` },
    link: {
      bottleneck: { rate, delay: "20ms", buffer: "500kB" },
      back: { delay: "20ms" },
    },
    flow: { upload: { path: ["bottleneck"], back: ["back"] } },
  };
  return { text, files };
}

/** The view with the drawing. */
export class Draw implements View {
  readonly element: HTMLElement;
  private readonly drawing: Drawing;
  private readonly results: Results;
  private readonly excess = scrolling("Delay of each controller", { "aria-live": "polite" });
  private readonly status = el("p", { class: "fault", role: "status" });
  private trace: string | undefined;
  /** Raised by each newer capacity and by the end of the view: a file read for an earlier one is late. */
  private latest = 0;

  constructor(pool: Pool) {
    this.results = new Results(pool, (experiment) => this.compare(experiment));
    const first = SHAPES[0]?.[1] ?? (() => 1);
    const rates = Array.from({ length: PARTS }, (_, part) => first(part / PARTS));
    this.drawing = new Drawing(rates, MOST_MBIT, DURATION_S, (isDrawing) => this.onDraw(isDrawing));
    const side = el(
      "div",
      { class: "side" },
      el(
        "p",
        {},
        "Draw the capacity of a link over 30 s, or drop a mahimahi trace here. The round trip takes " +
          "40 ms, so no sender can follow at once: the table shows the delay that this makes " +
          "unavoidable, and the excess of each controller.",
      ),
      this.drawing.element,
      this.shapes(),
      this.status,
      this.excess,
    );
    this.element = el("div", { class: "columns wide" }, side, this.results.element);
    this.element.addEventListener("dragover", (event) => event.preventDefault());
    this.element.addEventListener("drop", (event) => {
      event.preventDefault();
      void this.read(event.dataTransfer?.files[0]);
    });
  }

  open(): void {
    this.run(false);
  }

  close(): void {
    this.latest += 1;
    this.results.abandon();
  }

  private shapes(): HTMLElement {
    const shapes = SHAPES.map(([name, rate]) =>
      button(name, () => {
        this.drawing.set((part) => rate(part / PARTS));
        this.onDraw(false);
      }),
    );
    const cellular = button("Cellular trace", () => this.use(shipped["traces/cellular.trace"] ?? ""));
    const file = el("input", { type: "file", "aria-label": "A mahimahi trace" });
    file.addEventListener("change", () => void this.read(file.files?.[0]));
    return el("div", { class: "exports" }, ...shapes, cellular, file);
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

  private use(trace: string): void {
    this.trace = trace;
    this.run(false);
  }

  private run(isDrawing: boolean): void {
    this.latest += 1;
    this.status.textContent = "";
    const samples = isDrawing ? 300 : 1500;
    if (this.trace !== undefined) {
      this.results.run(scenarioOf({ trace: TRACE }, { [TRACE]: this.trace }, samples), isDrawing);
      return;
    }
    const rate = (part: number) => `${general(this.drawing.rates[part] ?? 0, 5)}Mbit`;
    const steps: object[] = [];
    for (let part = 1; part < PARTS; part++) {
      if (rate(part) !== rate(part - 1)) steps.push({ at: `${(DURATION_S * part) / PARTS}s`, rate: rate(part) });
    }
    this.results.run(scenarioOf({ start: rate(0), steps }, {}, samples), isDrawing);
  }

  /** The delay of each controller beside the unavoidable one. */
  private compare(experiment: Experiment): void {
    const { unavoidable } = experiment;
    const above = (delay: number, least: number | null | undefined) =>
      typeof least !== "number" ? MISSING : brief(Math.max(0, delay - least));
    const rows = experiment.runs.flatMap(({ summary }) => {
      const link = summary?.links.find((one) => one.name === experiment.focus);
      const [p99, most] = [link?.queue_delay_p99_s, link?.queue_delay_max_s];
      if (!summary || typeof p99 !== "number" || typeof most !== "number") return [];
      const cells = [brief(p99), above(p99, unavoidable?.queue_delay_p99_s), brief(most)];
      cells.push(above(most, unavoidable?.queue_delay_max_s), percent(link?.utilisation ?? null));
      const name = el("th", { scope: "row" }, summary.control);
      return [el("tr", {}, name, ...cells.map((text) => el("td", {}, text)))];
    });
    if (rows.length === 0) return fill(this.excess);
    const heads = ["Controller", "queue p99", "excess", "queue max", "excess", "util."];
    const caption = captionOf(experiment);
    const head = el("tr", {}, ...heads.map((text) => el("th", { scope: "col" }, text)));
    const table = el("table", {}, el("caption", {}, caption), el("thead", {}, head), el("tbody", {}, ...rows));
    fill(this.excess, table);
  }
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
