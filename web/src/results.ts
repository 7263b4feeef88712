// The results of an experiment: progress, verdict, charts, tables, exports.

import { Charts } from "./charts.ts";
import { isDark, looksOf } from "./colours.ts";
import { button, el, fill } from "./dom.ts";
import { Experiment } from "./experiment.ts";
import { csvOf, parquetOfSamples, pngOf, save, svgOf } from "./export.ts";
import type { Scenario } from "./messages.ts";
import type { RecordedRuns } from "./model.ts";
import type { Pool } from "./pool.ts";
import { tablesOf } from "./table.ts";
import { VerdictView } from "./verdict-view.ts";

/** Least time between two drawings of runs that go on. */
const DRAW_MS = 150;
/** Of the time, at most this part goes to such drawings: those of long runs take long. */
const DRAW_SHARE = 0.2;
/** While a value is dragged, its runs go on this long, so that a steady drag draws some. */
const STALE_MS = 500;

const PARQUET = "application/vnd.apache.parquet";

/** Shows one experiment after the other. */
export class Results {
  readonly element: HTMLElement;
  experiment: Experiment | undefined;
  private readonly charts = new Charts();
  private readonly status = el("p", { class: "status", role: "status" });
  private readonly bar = el("progress", { max: 1, value: 0, "aria-label": "Progress of the runs" });
  private readonly verdict = el("div", { class: "verdict", "aria-live": "polite" });
  private readonly picture = new VerdictView();
  private readonly tables = el("div", { class: "tables" });
  private readonly cancel = button("Cancel", () => this.experiment?.stop(), { hidden: true });
  private readonly exports = el("div", { class: "exports" });
  private frame = 0;
  private began = 0;
  private drawn = 0;
  private pause = DRAW_MS;
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
    const top = el("div", { class: "top" }, this.status, this.bar, this.cancel);
    fill(this.exports, ...this.exportButtons());
    const parts = [top, this.verdict, this.picture.element, this.charts.element, this.tables, this.exports];
    this.element = el("section", { class: "results", "aria-label": "Results" }, ...parts);
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
    this.allowSaving(false);
  }

  private allowSaving(isAllowed: boolean): void {
    for (const one of this.exports.querySelectorAll("button")) one.disabled = !isAllowed;
  }

  private onChange(experiment: Experiment): void {
    if (experiment !== this.experiment || this.frame !== 0) return;
    if (!experiment.isOver && performance.now() - this.drawn < this.pause) return;
    this.frame = requestAnimationFrame(() => {
      this.frame = 0;
      const began = performance.now();
      this.draw(experiment);
      this.drawn = performance.now();
      this.pause = Math.max(DRAW_MS, (this.drawn - began) / DRAW_SHARE);
      if (experiment.isOver) this.follow();
    });
  }

  private draw(experiment: Experiment): void {
    if (experiment.described) this.charts.show(experiment);
    const { fault, isOver } = experiment;
    const slow = performance.now() - this.began > 400;
    this.bar.value = experiment.progress();
    this.bar.classList.toggle("idle", isOver || !slow);
    this.cancel.hidden = isOver || !slow;
    this.status.classList.toggle("fault", fault !== undefined);
    if (fault) this.status.textContent = fault.message;
    if (!isOver) return;
    this.element.classList.remove("old");
    // A refused scenario has no charts.
    this.charts.element.hidden = experiment.described === undefined;
    this.allowSaving(experiment.described !== undefined);
    const verdict = experiment.verdict();
    fill(this.verdict, ...verdict.map((sentence) => el("p", {}, unbroken(sentence))));
    const looks = looksOf(new Map(experiment.runs.flatMap(({ lines: [line] }) => (line ? [[line.run, line.owner]] : []))));
    this.picture.show(experiment.picture, {
      colours: experiment.picture?.rows.map(({ control }) => looks.get(control)?.colour) ?? [],
      isDark: isDark(),
    });
    fill(this.tables, ...tablesOf(experiment));
    if (!fault) this.finish();
    this.onShown(experiment);
  }

  private finish(): void {
    const taken = Math.round(performance.now() - this.began);
    this.status.textContent = `Done in ${taken} ms.`;
    if (performance.getEntriesByName("drawn").length === 0) performance.mark("drawn");
    this.element.dataset["drawnMs"] = String(taken);
    this.element.dataset["memory"] = String(this.pool.memory());
  }

  private exportButtons(): HTMLElement[] {
    const own = (name: string, make: (experiment: Experiment) => Blob | Promise<Blob>) =>
      button(name, async () => {
        const experiment = this.experiment;
        if (experiment?.described) save(await make(experiment), `sojourn.${name.toLowerCase()}`);
      });
    const text = (content: string, type: string) => new Blob([content], { type });
    return [
      el("span", {}, "Save as "),
      own("TOML", (experiment) => text(experiment.described?.toml ?? "", "application/toml")),
      own("CSV", (experiment) => text(csvOf(experiment), "text/csv")),
      own("Parquet", async (experiment) => new Blob([await parquetOfSamples(experiment)], { type: PARQUET })),
      own("JSON", (experiment) => text(JSON.stringify(experiment.summaries()), "application/json")),
      own("PNG", pngOf),
      own("SVG", (experiment) => text(svgOf(experiment), "image/svg+xml")),
    ];
  }
}

/** The text with numbers and units on one line. */
function unbroken(text: string): string {
  return text.replace(/(\d) (ms|s|%|[kMG]?bit)/g, "$1\u00a0$2");
}
