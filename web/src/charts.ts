// The charts of an experiment: panels with a shared time axis, zoom and cursor.

import { figureOf, unitOf } from "./chart-data.ts";
import { type Look, looksOf, swatch } from "./colours.ts";
import { el, fill } from "./dom.ts";
import type { Experiment, Values } from "./experiment.ts";
import { type Drawn, before, drawPanel } from "./figure/panel.ts";
import { type Part, drags, mark, valueAt } from "./figure/pointer.ts";
import { PANELS, type Panel, curvesOf, ownersOf, timesOf } from "./panels.ts";
import { zoom } from "./zoom.ts";

const HEIGHT = { rate: 140, delay: 180, window: 120, rtt: 120 };
/** From this width on, panels are side by side, and taller. */
const WIDE = 1700;
/** Share of the shown time that one key press moves or zooms. */
const STEP = 0.2;
/** Pixels that one key press moves the cursor. */
const PIXELS = 4;

interface Shown {
  panel: Panel;
  element: HTMLElement;
  host: HTMLElement;
  drawn: Drawn | undefined;
  scale: number;
  /** The elements with the unit: below the title, and in the table. */
  unit: HTMLElement;
  head: HTMLElement;
  curves: Map<string, Values>;
}

/** The panels, and a table with the values at the cursor. */
export class Charts {
  readonly element: HTMLElement;
  private readonly panels = el("div", { class: "panels" });
  private readonly readout = el("div", { class: "readout" });
  private shown: Shown[] = [];
  private experiment: Experiment | undefined;
  private signature = "";
  private readonly hidden = new Set<string>();
  private looks = new Map<string, Look>();
  /** The cells of the table, by line, and its caption. */
  private cells = new Map<string, HTMLElement[]>();
  private readonly caption = el("caption", {});
  private duration = 0;
  /** The time of the cursor, and the shown part of the time. */
  private cursor: number | undefined;
  private part: Part = [0, 0];
  private width = 0;

  constructor() {
    this.element = el("div", { class: "charts" }, this.readout, this.panels);
    new ResizeObserver(() => this.resize()).observe(this.panels);
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.redraw());
    this.panels.addEventListener("keydown", (event) => this.onKey(event));
  }

  /** Show an experiment as far as it is. */
  show(experiment: Experiment): void {
    this.experiment = experiment;
    const owners = ownersOf(experiment);
    const duration = experiment.described?.duration_s ?? 0;
    const signature = JSON.stringify([owners.map((own) => [...own]), experiment.focus, duration]);
    if (signature !== this.signature) {
      this.signature = signature;
      this.build(experiment, owners, duration);
    } else {
      for (const shown of this.shown) describe(shown, experiment);
    }
    this.draw();
    this.read();
  }

  private redraw(): void {
    this.signature = "";
    if (this.experiment) this.show(this.experiment);
  }

  private build(experiment: Experiment, owners: Map<string, string>[], duration: number): void {
    this.looks = new Map(owners.flatMap((own) => [...looksOf(own)]));
    // A zoom outlives a change of the lines.
    const { min, max } = zoom.take(duration) ?? {};
    if (min !== undefined && max !== undefined) this.part = [min, max];
    else if (duration !== this.duration) this.part = [0, duration];
    this.duration = duration;
    this.cursor = undefined;
    this.shown = PANELS.map((panel) => this.panel(panel, experiment));
    fill(this.panels, ...this.shown.map(({ element }) => element));
    this.buildTable();
    this.width = widthOf(this.panels);
  }

  private panel(panel: Panel, experiment: Experiment): Shown {
    const [unit, head] = [el("span", { class: "unit" }), el("th", { scope: "col" })];
    const host = el("div", { class: "plot" });
    const title = panel.key === "delay" ? `${panel.title} of ${experiment.focus}` : panel.title;
    const element = el(
      "figure",
      { tabindex: 0, "aria-label": `${title} over time; arrow keys move the cursor, + and - zoom` },
      el("figcaption", {}, title, unit),
      host,
    );
    const shown: Shown = { panel, element, host, drawn: undefined, scale: 1, unit, head, curves: new Map() };
    const at = (event: PointerEvent) => shown.drawn && valueAt(shown.drawn, event.offsetX);
    host.addEventListener("pointermove", (event) => this.point(at(event)));
    host.addEventListener("pointerleave", () => this.point(undefined));
    host.addEventListener("dblclick", () => this.zoom([0, this.duration]));
    drags(host, () => shown.drawn as Drawn, (part) => this.zoom(part));
    describe(shown, experiment);
    return shown;
  }

  /** Draws all panels for the shown part of the time. */
  private draw(): void {
    const { experiment, width } = this;
    if (!experiment || width === 0) return;
    const isWhole = this.part[0] <= 0 && this.part[1] >= this.duration;
    const keyOf = (name: string) => (this.hidden.has(name) ? undefined : this.looks.get(name));
    for (const shown of this.shown) {
      const height = innerWidth < WIDE ? HEIGHT[shown.panel.key] : 1.5 * HEIGHT.delay;
      const figure = { ...figureOf(experiment, shown.panel, keyOf), height };
      shown.drawn = drawPanel(figure, { width, part: isWhole ? undefined : this.part, ends: width > 480 });
      // The texts in it are escaped.
      shown.host.innerHTML = shown.drawn.svg;
      mark(shown.host, shown.drawn, this.cursor);
    }
  }

  /** Shows a part of the time in all panels. */
  private zoom([from, to]: Part): void {
    const part: Part = [Math.max(0, from), Math.min(this.duration, to)];
    if (part[0] >= part[1]) return;
    this.part = part;
    zoom.note(...part, this.duration);
    this.draw();
  }

  private point(time: number | undefined): void {
    this.cursor = time;
    for (const { host, drawn } of this.shown) if (drawn) mark(host, drawn, time);
    this.read();
  }

  private onKey(event: KeyboardEvent): void {
    const [from, to] = this.part;
    if (event.ctrlKey || event.metaKey) return;
    const span = to - from;
    const move = (by: number) => {
      const begin = Math.max(0, Math.min(this.duration - span, from + by));
      this.zoom([begin, begin + span]);
    };
    const cursor = (by: number) => {
      const pixels = this.shown[0]?.drawn?.width ?? 1;
      const time = (this.cursor ?? (from + to) / 2) + (by * PIXELS * span) / pixels;
      this.point(Math.min(to, Math.max(from, time)));
    };
    const actions: Record<string, () => void> = {
      "+": () => this.zoom([from + STEP * span, to - STEP * span]),
      "-": () => this.zoom([from - STEP * span, to + STEP * span]),
      "0": () => this.zoom([0, this.duration]),
      PageUp: () => move(-STEP * span),
      PageDown: () => move(STEP * span),
      ArrowLeft: () => cursor(-1),
      ArrowRight: () => cursor(1),
    };
    const action = actions[event.key];
    if (!action) return;
    event.preventDefault();
    action();
  }

  /** The values at the cursor, or the last ones. */
  private read(): void {
    const experiment = this.experiment;
    if (!experiment) return;
    const times = timesOf(experiment);
    const index = this.cursor === undefined ? times.length - 1 : Math.max(0, before(times, this.cursor));
    const at = times[index];
    this.caption.textContent = at === undefined ? "Values" : `Values at ${at.toFixed(2)} s`;
    for (const [label, cells] of this.cells) {
      this.shown.forEach(({ curves, scale }, place) => {
        const value = curves.get(label)?.[index];
        const cell = cells[place];
        if (cell) cell.textContent = value === null || value === undefined ? "" : (value / scale).toFixed(2);
      });
    }
  }

  /** Builds the table. Its values change in place, so that its boxes keep the focus. */
  private buildTable(): void {
    this.cells = new Map([...this.looks.keys()].map((label) => [label, this.shown.map(() => el("td", {}))]));
    const rows = [...this.looks].map(([label, look]) => {
      const toggle = el("input", {
        type: "checkbox",
        checked: !this.hidden.has(label),
        onchange: () => this.toggle(label),
      });
      const name = el("th", { scope: "row" }, el("label", {}, toggle, swatch(look), label));
      return el("tr", {}, name, ...(this.cells.get(label) ?? []));
    });
    const heads = this.shown.map(({ head }) => head);
    const head = el("tr", {}, el("th", { scope: "col" }, "Line"), ...heads);
    fill(this.readout, el("table", {}, this.caption, el("thead", {}, head), el("tbody", {}, ...rows)));
  }

  private toggle(label: string): void {
    if (!this.hidden.delete(label)) this.hidden.add(label);
    this.draw();
  }

  private resize(): void {
    const width = widthOf(this.panels);
    if (width === this.width) return;
    this.width = width;
    this.draw();
  }
}

const widthOf = (panels: HTMLElement) => panels.querySelector(".plot")?.clientWidth ?? 0;

/** Sets the unit of a panel, and the values of the table. */
function describe(shown: Shown, experiment: Experiment): void {
  const { panel } = shown;
  const [scale, unit] = unitOf(panel, experiment);
  shown.scale = scale;
  shown.curves = new Map(curvesOf(panel, experiment).map(({ label, values }) => [label, values]));
  shown.unit.textContent = unit;
  shown.head.textContent = `${panel.title}, ${unit}`;
}
