// A sweep as a heat map: a figure over two axes of its points. A cell runs its point.

import { button, el, fill, scrolling } from "./dom.ts";
import { MISSING, general } from "./formatting.ts";

interface Axis {
  name: string;
  values: string[];
}

interface Point {
  /** The identity of its first run. */
  run: string;
  /** For each axis, the place of its value. */
  at: number[];
  /** The medians of the figures over the seeds. */
  values: (number | null | undefined)[];
}

/** A dataset, as `sojourn view` serves it. */
export interface Sweep {
  title: string;
  axes: Axis[];
  figures: { title: string; of: string }[];
  points: Point[];
}

/** Share of the colour at the greatest value, in per cent. */
const DARKEST = 70;
/** More cells than these take seconds to draw. */
const MOST_CELLS = 4000;

/** Shows one sweep after the other. */
export class SweepView {
  readonly element = el("section", { class: "sweep", "aria-label": "Sweep" });
  private readonly map = scrolling("Heat map", { "aria-live": "polite" });
  private readonly choices = el("div", { class: "exports" });
  private sweep: Sweep | undefined;
  private figure = 0;
  private across = 0;
  private down = 0;
  /** The chosen value of each axis that the map does not show. */
  private fixed: number[] = [];

  constructor(private readonly onChoose: (run: string, title: string) => void) {}

  show(sweep: Sweep): void {
    const isSame = JSON.stringify(this.sweep?.axes) === JSON.stringify(sweep.axes);
    this.sweep = sweep;
    // A sweep that goes on keeps its choices.
    if (!isSame) this.reset(sweep);
    const hint = "Each cell has the median over the seeds, and runs its point.";
    fill(this.element, el("h2", {}, sweep.title), el("p", {}, hint), this.choices, this.map);
    this.draw();
  }

  private reset({ axes, figures }: Sweep): void {
    const varied = axes.flatMap(({ values }, place) => (values.length > 1 ? [place] : []));
    this.across = varied[0] ?? 0;
    this.down = varied[1] ?? this.across;
    this.fixed = axes.map(() => 0);
    const spike = figures.findIndex(({ title }) => title.startsWith("queue p99"));
    this.figure = Math.max(0, spike);
  }

  private draw(): void {
    const { sweep } = this;
    if (!sweep) return;
    fill(this.choices, ...this.selects(sweep));
    const [columns, rows] = [sweep.axes[this.across], sweep.axes[this.down]];
    if (!columns || !rows) return;
    const isLine = this.across === this.down;
    const count = columns.values.length * (isLine ? 1 : rows.values.length);
    if (count > MOST_CELLS) {
      return fill(this.map, el("p", { class: "fault" }, `The map has ${count} cells; choose other axes.`));
    }
    const shown = sweep.points.filter(({ at }) =>
      at.every((value, axis) => axis === this.across || axis === this.down || value === this.fixed[axis]),
    );
    const most = Math.max(0, ...shown.map(({ values }) => values[this.figure] ?? 0));
    const lines = isLine ? [0] : rows.values.keys();
    const body = [...lines].map((y) => {
      const cells = columns.values.map((_, x) => {
        const here = ({ at }: Point) => at[this.across] === x && (isLine || at[this.down] === y);
        return el("td", {}, this.cell(shown.find(here), most));
      });
      return el("tr", {}, el("th", { scope: "row" }, isLine ? "" : (rows.values[y] ?? "")), ...cells);
    });
    const head = columns.values.map((value) => el("th", { scope: "col" }, value));
    const { title, of } = sweep.figures[this.figure] ?? { title: "", of: "" };
    const down = isLine ? "" : `; ${rows.name} (down)`;
    const caption = `${title}${of && ` of ${of}`}: ${columns.name} (across)${down}`;
    const top = el("thead", {}, el("tr", {}, el("td", {}), ...head));
    fill(this.map, el("table", { class: "map" }, el("caption", {}, el("span", { class: "wide" }, caption)), top, el("tbody", {}, ...body)));
  }

  private cell(point: Point | undefined, most: number): HTMLElement | string {
    if (!point) return MISSING;
    const value = point.values[this.figure];
    const text = typeof value === "number" ? general(value, 4) : MISSING;
    const title = this.nameOf(point);
    const open = button(text, () => this.onChoose(point.run, title), { "aria-label": `${text}: run ${title}` });
    // Colours beside the numbers: the darkest is the greatest.
    const share = most > 0 ? Math.max(0, value ?? 0) / most : 0;
    open.style.background = `color-mix(in srgb, var(--heat) ${Math.round(DARKEST * share)}%, var(--paper))`;
    return open;
  }

  private nameOf({ at }: Point): string {
    const axes = this.sweep?.axes ?? [];
    return axes.map(({ name, values }, axis) => `${name} ${values[at[axis] ?? 0] ?? ""}`).join(", ");
  }

  private selects({ axes, figures }: Sweep): HTMLElement[] {
    const names = axes.map(({ name }) => name);
    const set = (change: (value: number) => void) => (value: number) => {
      change(value);
      this.draw();
    };
    const titles = figures.map(({ title }) => title);
    const found = [select("Figure", titles, this.figure, set((value) => (this.figure = value)))];
    if (axes.length > 1) {
      found.push(select("Across", names, this.across, set((value) => (this.across = value))));
      found.push(select("Down", names, this.down, set((value) => (this.down = value))));
    }
    axes.forEach(({ name, values }, axis) => {
      if (axis === this.across || axis === this.down || values.length < 2) return;
      found.push(select(name, values, this.fixed[axis] ?? 0, set((value) => (this.fixed[axis] = value))));
    });
    return found;
  }
}

/** A labelled choice; `onChange` gets the place of the chosen text. */
function select(
  label: string,
  texts: readonly string[],
  chosen: number,
  onChange: (place: number) => void,
): HTMLElement {
  const options = texts.map((text, place) => el("option", { value: place, selected: place === chosen }, text));
  const made = el("select", { onchange: () => onChange(Number(made.value)) }, ...options);
  return el("label", { class: "choice" }, `${label} `, made);
}
