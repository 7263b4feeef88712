// A heat map of Explore: one controller over two of its fields. A cell opens its own experiment.

import { button, el, fill, scrolling } from "./dom.ts";
import { FIELDS, type Field, type Numbers, type State, documentOf, within } from "./explore-state.ts";
import { MISSING, general } from "./formatting.ts";
import type { RunSummary } from "./record.ts";
import type { Pool } from "./pool.ts";

/** Values of each field. */
const STEPS = 6;
/** Samples of a run, which the map does not show. */
const SAMPLES = 20;

type Key = keyof Numbers;

interface Figure {
  title: string;
  /** In ms; undefined if the run has none. */
  of: (run: RunSummary) => number | null | undefined;
}

const FIGURES: Figure[] = [
  { title: "excess over the bound", of: (run) => run.spikes[0]?.excess_s },
  { title: "spike", of: (run) => run.spikes[0]?.spike_s },
  { title: "99th percentile of queueing delay", of: (run) => run.links[0]?.queue_delay_p99_s },
];

/** Values of a field at equal distances, or ratios. Those of the rate after are below the rate. */
export function valuesOf(field: Field, { rate }: State): number[] {
  const { isLog } = field;
  const [min, top] = field.key === "to" ? [0.05 * rate, 0.9 * rate] : [field.min, field.max];
  return Array.from({ length: STEPS }, (_, step) => {
    const share = step / (STEPS - 1);
    return within(field, isLog ? min * (top / min) ** share : min + (top - min) * share);
  });
}

/** The map, below the sliders. */
export class HeatMap {
  readonly element: HTMLElement;
  private readonly table = scrolling("Heat map", { "aria-live": "polite" });
  private readonly control = el("select", { "aria-label": "Controller of the map" });
  private readonly across = fieldSelect("Across", "to");
  private readonly down = fieldSelect("Down", "rtt");
  private readonly figure = el("select", { "aria-label": "Figure of the map" });
  private state: State | undefined;
  /** Number of the last map; cells of earlier ones are dropped. */
  private last = 0;

  constructor(
    private readonly pool: Pool,
    private readonly onStart: () => State,
    private readonly onChoose: (state: State) => void,
  ) {
    this.figure.append(...FIGURES.map(({ title }, place) => el("option", { value: place }, title)));
    const start = button("Map", () => void this.start());
    const parts = [this.control, " over ", this.across, " and ", this.down, ": ", this.figure, start];
    this.element = el("details", { class: "heat" }, el("summary", {}, "Heat map"), el("div", { class: "exports" }, ...parts), this.table);
  }

  /** Offer these controllers, and end a map that is being made. */
  show(state: State): void {
    this.last += 1;
    const chosen = this.control.value;
    const option = (name: string) => el("option", { value: name, selected: name === chosen }, name);
    fill(this.control, ...state.controls.map(option));
  }

  private async start(): Promise<void> {
    const control = this.control.value;
    this.state = this.onStart();
    this.last += 1;
    const [own, across, down] = [this.last, this.across.value as Key, this.down.value as Key];
    const [columns, rows] = [across, down].map((key) => FIELDS.find((field) => field.key === key));
    if (!columns || !rows || columns === rows) {
      fill(this.table, el("p", { class: "fault" }, "Choose two different fields."));
      return;
    }
    const cells = valuesOf(rows, this.state!).map((y) =>
      valuesOf(columns, this.state!).map((x) => ({ ...this.state!, [across]: x, [down]: y, controls: [control] })),
    );
    const values: (number | undefined)[][] = cells.map(() => []);
    const runs = cells.flatMap((line, y) =>
      line.map(async (state, x) => {
        const value = await this.value(state);
        if (own !== this.last) return;
        values[y]![x] = value;
        this.draw(columns, rows, cells, values);
      }),
    );
    this.draw(columns, rows, cells, values);
    await Promise.all(runs);
  }

  /** The figure of a cell in ms; NaN without one. */
  private async value(state: State): Promise<number> {
    const figure = FIGURES[Number(this.figure.value)] ?? FIGURES[0]!;
    try {
      const scenario = { text: documentOf(state, SAMPLES), files: {} };
      const summary = await this.pool.run(scenario, 0, () => {});
      return 1000 * (figure.of(JSON.parse(summary) as RunSummary) ?? Number.NaN);
    } catch {
      return Number.NaN;
    }
  }

  private draw(columns: Field, rows: Field, cells: State[][], values: (number | undefined)[][]): void {
    const known = values.flat().filter((value) => value !== undefined && !Number.isNaN(value));
    const most = Math.max(1, ...(known as number[]));
    const head = valuesOf(columns, this.state!).map((x) => el("th", { scope: "col" }, general(x, 3)));
    const body = cells.map((line, y) => {
      const label = el("th", { scope: "row" }, general(line[0]![rows.key], 3));
      const drawn = line.map((state, x) => this.cell(state, values[y]?.[x], most));
      return el("tr", {}, label, ...drawn);
    });
    const caption = `${columns.label}, ${columns.unit} (across); ${rows.label}, ${rows.unit} (down); in ms`;
    const top = el("tr", {}, el("td", {}), ...head);
    const table = el("table", { class: "map" }, el("caption", {}, el("span", { class: "wide" }, caption)), el("thead", {}, top), el("tbody", {}, ...body));
    fill(this.table, table);
  }

  private cell(state: State, value: number | undefined, most: number): HTMLElement {
    const text = value === undefined ? "…" : Number.isNaN(value) ? MISSING : value.toFixed(0);
    const open = button(text, () => this.onChoose({ ...state, controls: this.state!.controls }));
    // Colours beside the numbers: the darkest is the greatest.
    const share = value === undefined || Number.isNaN(value) ? 0 : Math.max(0, value) / most;
    open.style.background = `color-mix(in srgb, var(--heat) ${Math.round(70 * share)}%, var(--paper))`;
    return el("td", {}, open);
  }
}

function fieldSelect(label: string, chosen: Key): HTMLSelectElement {
  const options = FIELDS.filter(({ key }) => key !== "duration" && key !== "at").map(({ key, label: text }) =>
    el("option", { value: key, selected: key === chosen }, text),
  );
  return el("select", { "aria-label": label }, ...options);
}
