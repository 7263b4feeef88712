// The results of an experiment: its answer, the charts, tables, and the ways to share it.

import { barsOf } from "./chart-data.ts";
import { Charts } from "./charts.ts";
import { button, el, fill } from "./dom.ts";
import { Experiment, type Stored } from "./experiment.ts";
import type { Scenario } from "./messages.ts";
import type { RecordedRuns } from "./model.ts";
import type { Pool } from "./pool.ts";
import { Share } from "./share.ts";
import { tablesOf } from "./table.ts";
import { VerdictView } from "./verdict-view.ts";

/** Least time between two drawings of first runs that go on. */
const DRAW_MS = 250;
/** Faster runs show no progress. */
const SLOW_MS = 400;
/** While a value is dragged, its runs go on this long, so that a steady drag draws some on a slow phone too. */
const STALE_MS = 2000;

/** Shows one experiment after the other. */
export class Results {
  readonly element: HTMLElement;
  /** The experiment of the newest runs. */
  experiment: Experiment | undefined;
  readonly charts = new Charts();
  readonly share = new Share(() => this.experiment);
  private readonly status = el("p", { class: "status", role: "status" });
  private readonly bar = el("progress", { max: 1, value: 0, "aria-label": "Progress of the runs" });
  private readonly verdict = el("div", { class: "verdict", "aria-live": "polite" });
  private readonly picture = new VerdictView();
  private readonly answer: HTMLElement;
  private readonly rest: HTMLElement;
  private readonly tables = el("div", { class: "tables" });
  private readonly cancel = button("Cancel", () => this.experiment?.stop(), { hidden: true });
  /** The experiment in the charts: an earlier one until that of newer runs is whole. */
  private shown: Experiment | undefined;
  private frame = 0;
  private began = 0;
  private drawn = 0;
  private isDragging = false;
  private beside: Experiment | undefined;
  /** The newest scenario of a drag, whose runs begin when those before it are over or stale. */
  private next: Scenario | undefined;
  private timer = 0;
  /** Raised when the runs are abandoned: what was read for them comes too late. */
  private latest = 0;

  constructor(
    private readonly pool: Pool,
    private readonly onShown: (experiment: Experiment) => void = () => {},
  ) {
    const top = el("div", { class: "top" }, this.status, this.bar, this.cancel, this.share.element);
    this.answer = el("div", { class: "answer" }, this.picture.element, this.verdict);
    this.rest = el("div", { class: "rest" }, top, this.charts.others, this.tables);
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.shown && this.drawAnswer(this.shown));
    this.element = el("section", { class: "results", "aria-label": "Results" }, this.answer, this.charts.stage, this.rest);
  }

  /** Run a scenario, instead of the one that runs now. `beside` has recorded runs to compare. */
  run(scenario: Scenario, isDragging = false, beside?: Experiment): void {
    this.beside = beside;
    const left = STALE_MS - (performance.now() - this.began);
    // Runs that are over wait for their frame: a newer value must not take it from them.
    const isGoing = this.experiment?.isOver === false || this.frame !== 0;
    if (isDragging && this.isDragging && isGoing && left > 0) {
      if (!this.next) this.timer = setTimeout(() => this.follow(), left);
      this.next = scenario;
      return;
    }
    this.isDragging = isDragging;
    this.start(scenario);
  }

  /** Run the newest scenario of a drag. */
  private follow(): void {
    if (this.next) this.start(this.next);
  }

  private start(scenario: Scenario): void {
    this.abandon();
    this.began = this.drawn = performance.now();
    this.experiment = new Experiment(this.pool, scenario, (one) => this.onChange(one));
    this.experiment.beside = this.beside;
    this.age();
    this.status.classList.remove("fault");
    this.status.textContent = "Simulating …";
    void this.experiment.start();
  }

  /** Show recorded runs. */
  async show(record: RecordedRuns): Promise<void> {
    this.abandon();
    this.began = performance.now();
    this.age();
    const own = this.latest;
    const ready = (one: Experiment) => {
      if (own !== this.latest) return;
      this.experiment = one;
      this.onChange(one);
    };
    await Experiment.recorded(this.pool, record, ready);
  }

  /** Show results that the page contains, at once. */
  showStored(stored: Stored): void {
    this.began = performance.now();
    this.experiment = Experiment.stored(stored);
    this.draw(this.experiment);
  }

  /** Stop the runs; their later replies are dropped. */
  abandon(): void {
    this.latest += 1;
    this.experiment?.abandon();
    this.pool.dropAll();
    this.next = undefined;
    clearTimeout(this.timer);
    cancelAnimationFrame(this.frame);
    this.frame = 0;
  }

  /** Mark the results as those of an earlier scenario, until new ones are complete. */
  private age(): void {
    this.element.removeAttribute("data-drawn-ms");
    this.element.classList.add("old");
    this.share.allow(false);
  }

  private onChange(experiment: Experiment): void {
    if (experiment !== this.experiment || this.frame !== 0) return;
    if (!experiment.isOver && performance.now() - this.drawn < DRAW_MS) return;
    this.frame = requestAnimationFrame(() => {
      this.frame = 0;
      this.draw(experiment);
      this.drawn = performance.now();
      if (experiment.isOver) this.follow();
    });
  }

  private draw(experiment: Experiment): void {
    const { fault, isOver, described } = experiment;
    // The results before stay until these are whole.
    if (described && (isOver || !this.shown)) this.charts.show(experiment);
    const slow = performance.now() - this.began > SLOW_MS;
    this.bar.value = experiment.progress();
    this.bar.classList.toggle("idle", isOver || !slow);
    this.cancel.hidden = isOver || !slow;
    this.status.classList.toggle("fault", fault !== undefined);
    if (fault) this.status.textContent = fault.message;
    if (!isOver) return;
    this.element.classList.remove("old");
    this.shown = described && experiment;
    this.charts.hide(!described);
    this.share.allow(described !== undefined);
    this.drawAnswer(experiment);
    fill(this.tables, ...tablesOf(experiment));
    if (!fault) this.finish();
    this.onShown(experiment);
  }

  /** The verdict as a picture, with the sentences in the rest; without one, the sentences. */
  private drawAnswer(experiment: Experiment): void {
    const { picture } = experiment;
    this.picture.show(picture, barsOf(experiment));
    fill(this.verdict, ...experiment.verdict().map((sentence) => el("p", {}, unbroken(sentence))));
    if (picture) this.tables.before(this.verdict);
    else this.answer.append(this.verdict);
  }

  private finish(): void {
    const taken = Math.round(performance.now() - this.began);
    this.status.textContent = `Done in ${taken} ms.`;
    if (performance.getEntriesByName("drawn").length === 0) performance.mark("drawn");
    this.element.dataset["drawnMs"] = String(taken);
    this.element.dataset["memory"] = String(this.pool.memory());
  }
}

/** The text with numbers and units on one line. */
function unbroken(text: string): string {
  return text.replace(/(\d) (ms|s|%|[kMG]?bit)/g, "$1\u00a0$2");
}
