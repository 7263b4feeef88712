// The charts of an experiment: panels with a shared time axis, zoom and cursor.

import uPlot from "uplot";
import { axes, single } from "./axes.ts";
import { drawBounds, drawUnavoidable } from "./bounds.ts";
import { dataOf, unitOf } from "./chart-data.ts";
import { coloursOf, dashesOf, ink, swatch } from "./colours.ts";
import { el, fill } from "./dom.ts";
import type { Experiment, Values } from "./experiment.ts";
import { type Bound, PANELS, type Panel, boundsOf, curvesOf, isBeside, labelsOf, timesOf } from "./panels.ts";
import { REACH } from "./figure/panel.ts";
import { zoom } from "./zoom.ts";

const HEIGHT = { rate: 170, delay: 210, window: 150, rtt: 150 };
/** From this width on, panels are side by side, and taller. */
const WIDE = 1700;
const SYNC = "time";
/** Share of the shown time that one key press moves or zooms. */
const STEP = 0.2;

interface Shown {
  panel: Panel;
  plot: uPlot;
  element: HTMLElement;
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
  private colours = new Map<string, string>();
  private dashes = new Map<string, number[]>();
  /** The cells of the table, by line, and its caption. */
  private cells = new Map<string, HTMLElement[]>();
  private readonly caption = el("caption", {});
  private duration = 0;
  private cursor: number | null = null;

  constructor() {
    this.element = el("div", { class: "charts" }, this.readout, this.panels);
    new ResizeObserver(() => this.resize()).observe(this.panels);
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.redraw());
    this.panels.addEventListener("keydown", (event) => this.onKey(event));
  }

  /** Show an experiment as far as it is. */
  show(experiment: Experiment): void {
    this.experiment = experiment;
    const labels = labelsOf(experiment);
    const duration = experiment.described?.duration_s ?? 0;
    const signature = JSON.stringify([labels, experiment.focus, duration]);
    if (signature !== this.signature) {
      this.signature = signature;
      this.build(experiment, labels, duration);
    } else {
      for (const shown of this.shown) update(shown, experiment);
    }
    this.read();
  }

  /** The panels as one picture. */
  picture(): HTMLCanvasElement {
    const all = this.shown.map(({ plot, panel }) => ({ from: plot.ctx.canvas, title: panel.title }));
    const ratio = devicePixelRatio;
    const head = 22 * ratio;
    const width = Math.max(...all.map(({ from }) => from.width));
    const height = all.reduce((sum, { from }) => sum + from.height + head, head);
    const canvas = el("canvas", { width, height });
    const context = canvas.getContext("2d");
    if (!context) return canvas;
    context.fillStyle = ink("--paper");
    context.fillRect(0, 0, width, height);
    context.font = `${13 * ratio}px sans-serif`;
    let [x, y] = [10 * ratio, 15 * ratio];
    for (const [label, colour] of this.colours) {
      context.fillStyle = colour;
      const sign = this.dashes.get(label)?.length ? "- -" : "—";
      context.fillText(`${sign} ${label}`, x, y);
      x += context.measureText(`${sign} ${label}   `).width;
    }
    y = head;
    for (const { from, title } of all) {
      context.fillStyle = ink("--ink");
      context.fillText(title, 10 * ratio, y + 15 * ratio);
      context.drawImage(from, 0, y + head);
      y += head + from.height;
    }
    return canvas;
  }

  private redraw(): void {
    this.signature = "";
    if (this.experiment) this.show(this.experiment);
  }

  private build(experiment: Experiment, labels: string[], duration: number): void {
    const colours = coloursOf(labels);
    const dashes = dashesOf(labels);
    this.colours = new Map(labels.map((label, place) => [label, colours[place] ?? ""]));
    this.dashes = new Map(labels.map((label, place) => [label, dashes[place] ?? []]));
    // A zoom outlives a change of the lines.
    const before = duration === this.duration ? this.shown[0]?.plot.scales["x"] : undefined;
    const { min, max } = zoom.take(duration) ?? before ?? {};
    this.duration = duration;
    for (const { plot } of this.shown) plot.destroy();
    this.shown = [];
    this.shown = PANELS.map((panel) => this.panel(panel, experiment, duration));
    fill(this.panels, ...this.shown.map(({ element }) => element));
    this.buildTable(labels);
    if (typeof min === "number" && typeof max === "number") this.shown[0]?.plot.setScale("x", { min, max });
    this.resize();
  }

  private panel(panel: Panel, experiment: Experiment, duration: number): Shown {
    const [scale] = unitOf(panel, experiment);
    const [unit, head] = [el("span", { class: "unit" }), el("th", { scope: "col" })];
    const host = el("div", { class: "plot" });
    const title = panel.key === "delay" ? `${panel.title} of ${experiment.focus}` : panel.title;
    const element = el(
      "figure",
      { tabindex: 0, "aria-label": `${title} over time; arrow keys move the cursor, + and - zoom` },
      el("figcaption", {}, title, unit),
      host,
    );
    const data = dataOf(panel, experiment, scale);
    const plot = new uPlot(this.options(panel, experiment, duration), data, host);
    const shown = { panel, plot, element, scale, unit, head, curves: new Map() };
    describe(shown, experiment);
    return shown;
  }

  private options(panel: Panel, experiment: Experiment, duration: number): uPlot.Options {
    const line = (label: string): uPlot.Series => ({
      label,
      stroke: () => this.colours.get(label) ?? "",
      width: isBeside(label) ? 1 : 1.25,
      dash: this.dashes.get(label) ?? [],
      points: single(),
      show: !this.hidden.has(label),
    });
    const capacity: uPlot.Series = {
      label: "capacity",
      stroke: () => ink("--faint"),
      width: 2,
      points: { show: false },
    };
    const extra = panel.key === "rate" ? [capacity] : [];
    return {
      width: 640,
      height: heightOf(panel),
      legend: { show: false },
      cursor: {
        sync: { key: SYNC, setSeries: false },
        drag: { x: true, y: false },
        points: { show: false },
        bind: { dblclick: (plot) => () => (plot.setScale("x", { min: 0, max: duration }), null) },
      },
      scales: {
        x: { time: false, auto: false, min: 0, max: duration },
        y: { range: (_, __, max) => [0, this.top(panel, max)] },
      },
      axes: axes(),
      series: [{}, ...extra, ...curvesOf(panel, experiment).map((curve) => line(curve.label))],
      hooks: {
        setScale: [(plot, key) => key === "x" && this.zoom(plot)],
        setCursor: [(plot) => this.point(plot.cursor.idx ?? null)],
        drawAxes: [(plot) => panel.key === "delay" && drawUnavoidable(plot, this.experiment?.unavoidable)],
        draw: [(plot) => panel.key === "delay" && drawBounds(plot, this.bounds())],
      },
    };
  }

  /** The top of a panel: its greatest value, and bounds of the queueing delay that are near. */
  private top(panel: Panel, max: number | null): number {
    const every = panel.key === "delay" ? this.bounds().map(({ bound }) => bound / 1e-3) : [];
    const bounds = every.filter((bound) => bound < REACH * (max ?? 0));
    const least = panel.key === "delay" ? 1 : 0;
    return 1.06 * Math.max(max ?? 0, least, ...bounds) || 1;
  }

  private bounds(): Bound[] {
    return this.experiment ? boundsOf(this.experiment) : [];
  }

  /** Zooms all panels as one of them was. */
  private zoom(from: uPlot): void {
    const { min, max } = from.scales["x"] ?? {};
    if (min === undefined || max === undefined) return;
    for (const { plot } of this.shown) {
      const own = plot.scales["x"];
      if (plot !== from && (own?.min !== min || own?.max !== max)) plot.setScale("x", { min, max });
    }
    if (this.shown.length > 0) zoom.note(min, max, this.duration);
  }

  private point(index: number | null): void {
    this.cursor = index;
    this.read();
  }

  private onKey(event: KeyboardEvent): void {
    const plot = this.shown[0]?.plot;
    const { min, max } = plot?.scales["x"] ?? {};
    if (!plot || min === undefined || max === undefined || event.ctrlKey || event.metaKey) return;
    const span = max - min;
    const duration = this.experiment?.described?.duration_s ?? max;
    const set = (from: number, to: number) =>
      plot.setScale("x", { min: Math.max(0, from), max: Math.min(duration, to) });
    const move = (by: number) => {
      const from = Math.max(0, Math.min(duration - span, min + by));
      set(from, from + span);
    };
    const actions: Record<string, () => void> = {
      "+": () => set(min + STEP * span, max - STEP * span),
      "-": () => set(min - STEP * span, max + STEP * span),
      "0": () => set(0, duration),
      PageUp: () => move(-STEP * span),
      PageDown: () => move(STEP * span),
      ArrowLeft: () => this.moveCursor(plot, -1),
      ArrowRight: () => this.moveCursor(plot, 1),
    };
    const action = actions[event.key];
    if (!action) return;
    event.preventDefault();
    action();
  }

  private moveCursor(plot: uPlot, by: number): void {
    const width = plot.over.clientWidth;
    const left = (plot.cursor.left ?? -1) < 0 ? width / 2 : (plot.cursor.left ?? 0);
    plot.setCursor({ left: Math.min(width, Math.max(0, left + by * 4)), top: 1 });
  }

  /** The values at the cursor, or the last ones. */
  private read(): void {
    const experiment = this.experiment;
    if (!experiment) return;
    const times = timesOf(experiment);
    const index = this.cursor ?? times.length - 1;
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
  private buildTable(labels: string[]): void {
    this.cells = new Map(labels.map((label) => [label, this.shown.map(() => el("td", {}))]));
    const rows = labels.map((label) => {
      const toggle = el("input", {
        type: "checkbox",
        checked: !this.hidden.has(label),
        onchange: () => this.toggle(label),
      });
      const sample = swatch(this.colours.get(label) ?? "", this.dashes.get(label));
      const name = el("th", { scope: "row" }, el("label", {}, toggle, sample, label));
      return el("tr", {}, name, ...(this.cells.get(label) ?? []));
    });
    const heads = this.shown.map(({ head }) => head);
    const head = el("tr", {}, el("th", { scope: "col" }, "Line"), ...heads);
    fill(this.readout, el("table", {}, this.caption, el("thead", {}, head), el("tbody", {}, ...rows)));
  }

  private toggle(label: string): void {
    if (!this.hidden.delete(label)) this.hidden.add(label);
    for (const { plot } of this.shown) {
      plot.series.forEach((series, place) => {
        if (series.label === label) plot.setSeries(place, { show: !this.hidden.has(label) });
      });
    }
  }

  private resize(): void {
    const width = this.panels.querySelector(".plot")?.clientWidth ?? 0;
    if (width === 0) return;
    for (const { plot, panel } of this.shown) {
      if (plot.width !== width) plot.setSize({ width, height: heightOf(panel) });
    }
  }
}

function heightOf(panel: Panel): number {
  return innerWidth < WIDE ? HEIGHT[panel.key] : 1.5 * HEIGHT.delay;
}

/** Fits the height to new data, and keeps the zoom. */
function rescale(plot: uPlot): void {
  const { min, max } = plot.scales["x"] ?? {};
  if (min !== undefined && max !== undefined) plot.setScale("x", { min, max });
}

/** Gives a panel the values of an experiment, in their unit, and keeps the zoom. */
function update(shown: Shown, experiment: Experiment): void {
  describe(shown, experiment);
  shown.plot.setData(dataOf(shown.panel, experiment, shown.scale), false);
  rescale(shown.plot);
}

/** Sets the unit of a panel, and the values of the table. */
function describe(shown: Shown, experiment: Experiment): void {
  const { panel } = shown;
  const [scale, unit] = unitOf(panel, experiment);
  shown.scale = scale;
  shown.curves = new Map(curvesOf(panel, experiment).map(({ label, values }) => [label, values]));
  shown.unit.textContent = unit;
  shown.head.textContent = `${panel.title}, ${unit}`;
}
