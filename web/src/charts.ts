// The charts of an experiment. One panel leads: its shown part, below an overview of the whole run. The
// others follow; all have one cursor, whose values stand beside the names of the lines.

import { figureOf, unitOf } from "./chart-data.ts";
import { type Look, looksOf, swatch } from "./colours.ts";
import { button, el, fill } from "./dom.ts";
import type { Experiment, Values } from "./experiment.ts";
import type { Layer } from "./figure/model.ts";
import { type Drawn, before, drawPanel } from "./figure/panel.ts";
import { type Part, drags, mark, valueAt } from "./figure/pointer.ts";
import { PANELS, type Panel, curvesOf, ownersOf, timesOf } from "./panels.ts";
import { type Choice, partOf, presetsOf, shownPart } from "./shown-part.ts";

const OVERVIEW = 34;
/** The leading panel, on a phone and on a wider screen; the others. */
const [LEAD_NARROW, LEAD, OTHER] = [150, 230, 120];
const NARROW = 600;
/** A wider panel has the names of its lines at their ends. */
const NAMED = 480;
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
  unit: HTMLElement;
  curves: Map<string, Values>;
  /** The values at the cursor, by the names of the lines. */
  values: Map<string, HTMLElement>;
  keys: HTMLElement;
}

/** Marks that a view adds to the leading panel, in its unit. */
export type Notes = (experiment: Experiment, scale: number) => Layer[];

export class Charts {
  /** The leading panel with its overview, and the others. */
  readonly stage = el("div", { class: "stage" });
  readonly others = el("div", { class: "panels" });
  notes: Notes = () => [];
  /** The part that is shown until a reader chooses another. */
  usual: Choice = "drop";
  private readonly presets = el("div", { class: "presets", role: "group", "aria-label": "Shown part of the time" });
  private readonly time = el("span", { class: "unit cursor-time" });
  /** Whether wide panels have the names of their lines at the ends; without them, they are as wide as what is above. */
  isNamed = true;
  private readonly head = el("div", {});
  private readonly picture = el("div", { class: "picture" });
  private readonly overview = el("div", { class: "plot overview" });
  private whole: Drawn | undefined;
  private shown: Shown[] = [];
  private experiment: Experiment | undefined;
  private signature = "";
  private readonly hidden = new Set<string>();
  private looks = new Map<string, Look>();
  private duration = 0;
  /** The time of the cursor, and the shown part of the time. */
  private cursor: number | undefined;
  private part: Part = [0, 0];
  private width = 0;

  constructor(private lead: Panel["key"] = "delay") {
    // A view's own part is there before the first results.
    fill(this.stage, this.head, this.picture);
    const resized = new ResizeObserver(() => this.resize());
    for (const one of [this.stage, this.others]) {
      resized.observe(one);
      one.addEventListener("keydown", (event) => this.onKey(event));
    }
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.redraw());
    drags(this.overview, () => this.whole as Drawn, (part) => this.zoom(part), (time) => this.centre(time));
  }

  /** Put an element above the charts, in the part that stays in view. */
  above(element: HTMLElement): void {
    fill(this.head, element);
  }

  /** Hide the pictures; a refused scenario has none. */
  hide(isHidden: boolean): void {
    this.picture.hidden = this.others.hidden = isHidden;
  }

  /** Let this panel lead. */
  setLead(key: Panel["key"]): void {
    if (key !== this.lead) this.signature = "";
    this.lead = key;
  }

  /** Show an experiment as far as it is. */
  show(experiment: Experiment): void {
    this.experiment = experiment;
    const owners = ownersOf(experiment);
    this.duration = experiment.described?.duration_s ?? 0;
    const panels = panelsOf(experiment);
    const keys = panels.map(({ key }) => key);
    const signature = JSON.stringify([owners.map((own) => [...own]), experiment.focus, keys]);
    if (signature !== this.signature) {
      this.signature = signature;
      this.looks = new Map(owners.flatMap((own) => [...looksOf(own)]));
      this.build(experiment, panels);
    } else {
      for (const shown of this.shown) describe(shown, experiment);
    }
    this.part = partOf(this.choice(), experiment);
    this.offer(experiment);
    this.draw();
    this.read();
  }

  private redraw(): void {
    this.signature = "";
    if (this.experiment) this.show(this.experiment);
  }

  private build(experiment: Experiment, panels: Panel[]): void {
    this.cursor = undefined;
    const ordered = panels.toSorted((a, b) => Number(b.key === this.lead) - Number(a.key === this.lead));
    this.shown = ordered.map((panel) => this.panel(panel, experiment));
    const named = ({ curves }: Shown) => [...curves.keys()].join("\n");
    const [first] = this.shown;
    for (const one of this.shown) one.keys.classList.toggle("same", first !== one && first !== undefined && named(one) === named(first));
    const [lead, ...others] = this.shown.map(({ element }) => element);
    fill(this.picture, el("div", { class: "bar" }, this.presets, this.time), this.overview, lead);
    fill(this.others, ...others);
    this.width = widthOf(this.stage);
  }

  private panel(panel: Panel, experiment: Experiment): Shown {
    const unit = el("span", { class: "unit" });
    const host = el("div", { class: "plot" });
    const keys = el("div", { class: "keys" });
    const title = panel.key === "delay" ? `${panel.title} of ${experiment.focus}` : panel.title;
    const element = el(
      "figure",
      { tabindex: 0, "aria-label": `${title} over time; arrow keys move the cursor, + and - zoom` },
      el("figcaption", {}, title, unit),
      host,
      keys,
    );
    const shown: Shown = { panel, element, host, drawn: undefined, scale: 1, unit, curves: new Map(), values: new Map(), keys };
    const at = (event: PointerEvent) => shown.drawn && valueAt(shown.drawn, event.offsetX);
    for (const kind of ["pointermove", "pointerdown"] as const) host.addEventListener(kind, (event) => this.point(at(event)));
    // After a tap the values stay.
    host.addEventListener("pointerleave", ({ pointerType }) => pointerType === "mouse" && this.point(undefined));
    host.addEventListener("dblclick", () => this.zoom([0, this.duration]));
    drags(host, () => shown.drawn as Drawn, (part) => this.zoom(part));
    describe(shown, experiment);
    fill(keys, ...[...shown.curves.keys()].map((label) => this.key(label, shown)));
    return shown;
  }

  /** The name of a line with its value at the cursor; a press hides the line. */
  private key(label: string, shown: Shown): HTMLElement {
    const value = el("span", { class: "value" });
    shown.values.set(label, value);
    const toggle = button("", () => this.toggle(label), { "aria-pressed": String(!this.hidden.has(label)), "data-line": label });
    const look = this.looks.get(label);
    fill(toggle, look && swatch(look), el("span", { class: "name" }, label), value);
    return toggle;
  }

  private toggle(label: string): void {
    if (!this.hidden.delete(label)) this.hidden.add(label);
    for (const { keys } of this.shown) {
      for (const one of keys.querySelectorAll<HTMLElement>("button")) {
        one.setAttribute("aria-pressed", String(!this.hidden.has(one.dataset["line"] ?? "")));
      }
    }
    this.draw();
  }

  /** Offers the presets. Buttons that are the same stay, so that they keep the focus. */
  private offer(experiment: Experiment): void {
    const presets = presetsOf(experiment);
    const own = [...this.presets.children] as HTMLElement[];
    if (own.map(({ textContent }) => textContent).join() !== presets.map(([, name]) => name).join()) {
      fill(this.presets, ...presets.map(([key, name]) => button(name, () => this.choose(key), { "data-preset": key })));
    }
    const shows = (key = "") => String(partOf(key as Choice, experiment)) === String(this.part);
    const now = presets.find(([key]) => key === this.choice())?.[0] ?? presets.find(([key]) => shows(key))?.[0];
    for (const one of this.presets.children as HTMLCollectionOf<HTMLElement>) {
      one.setAttribute("aria-pressed", String(one.dataset["preset"] === now));
    }
  }

  private choice(): Choice {
    return shownPart.choice ?? this.usual;
  }

  private choose(choice: Choice): void {
    shownPart.choose(choice);
    if (!this.experiment) return;
    this.part = partOf(choice, this.experiment);
    this.offer(this.experiment);
    this.draw();
  }

  /** Draws all panels for the shown part of the time. */
  private draw(): void {
    const { experiment, width } = this;
    if (!experiment || width === 0) return;
    const isWhole = this.part[0] <= 0 && this.part[1] >= this.duration;
    const lookOf = (name: string) => (this.hidden.has(name) ? undefined : this.looks.get(name));
    for (const [place, shown] of this.shown.entries()) {
      const height = place > 0 ? OTHER : innerWidth < NARROW ? LEAD_NARROW : LEAD;
      const figure = { ...figureOf(experiment, shown.panel, lookOf), height };
      if (place === 0) this.drawOverview({ ...figure, height: OVERVIEW, bare: true }, isWhole);
      const layers = place === 0 ? [...figure.layers, ...this.notes(experiment, shown.scale)] : figure.layers;
      const own = place === 0 ? width : widthOf(shown.host);
      const keep = shown.drawn?.y.ends;
      shown.drawn = drawPanel({ ...figure, layers }, { width: own, part: isWhole ? undefined : this.part, keep, ends: this.isNamed && own > NAMED });
      // The texts in it are escaped.
      shown.host.innerHTML = shown.drawn.svg;
      mark(shown.host, shown.drawn, this.cursor);
    }
  }

  private drawOverview(figure: Parameters<typeof drawPanel>[0], isWhole: boolean): void {
    const layers = figure.layers.filter(({ kind }) => kind !== "rules");
    this.whole = drawPanel({ ...figure, layers }, { width: this.width, marked: isWhole ? undefined : this.part });
    this.overview.innerHTML = this.whole.svg;
    this.overview.firstElementChild?.setAttribute("aria-label", "The whole run; drag to choose a part of it");
  }

  /** Shows a part of the time in all panels. */
  private zoom([from, to]: Part): void {
    const part: Part = [Math.max(0, from), Math.min(this.duration, to)];
    if (part[0] >= part[1]) return;
    this.choose(part[0] <= 0 && part[1] >= this.duration ? "all" : part);
  }

  /** Shows as much of the time as now, around another. */
  private centre(time: number): void {
    const span = this.part[1] - this.part[0];
    const begin = Math.max(0, Math.min(this.duration - span, time - span / 2));
    this.zoom([begin, begin + span]);
  }

  private point(time: number | undefined): void {
    this.cursor = time;
    for (const { host, drawn } of this.shown) if (drawn) mark(host, drawn, time);
    this.read();
  }

  private onKey(event: KeyboardEvent): void {
    const [from, to] = this.part;
    // Other keys are those of the buttons.
    if (event.ctrlKey || event.metaKey || !(event.target as Element).matches("figure")) return;
    const span = to - from;
    const move = (by: number) => this.centre((from + to) / 2 + by);
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

  /** Writes the values at the cursor. */
  private read(): void {
    const times = this.experiment ? timesOf(this.experiment) : [];
    const row = this.cursor === undefined ? undefined : Math.max(0, before(times, this.cursor));
    const at = row === undefined ? undefined : times[row];
    this.others.classList.toggle("pointed", at !== undefined);
    this.time.textContent = at === undefined ? "" : `at ${at.toFixed(2)} s`;
    for (const { curves, scale, values } of this.shown) {
      for (const [label, element] of values) {
        const value = row === undefined ? undefined : curves.get(label)?.[row];
        element.textContent = value === null || value === undefined ? "" : (value / scale).toFixed(1);
      }
    }
  }

  private resize(): void {
    const width = widthOf(this.stage);
    if (width === this.width) return;
    this.width = width;
    this.draw();
  }
}

const widthOf = (element: Element) => (element.matches(".plot") ? element : element.querySelector("figure .plot"))?.clientWidth ?? 0;

/** The panels of an experiment; once it is over, those without values are left out. */
function panelsOf(experiment: Experiment): Panel[] {
  const has = (panel: Panel) => curvesOf(panel, experiment).some(({ values }) => values.some((value) => value !== null));
  const found = experiment.isOver ? PANELS.filter(has) : PANELS;
  return found.length > 0 ? found : PANELS;
}

/** Sets the unit of a panel, and its curves. */
function describe(shown: Shown, experiment: Experiment): void {
  const { panel } = shown;
  const [scale, unit] = unitOf(panel, experiment);
  // Another unit is another axis.
  if (scale !== shown.scale) shown.drawn = undefined;
  shown.scale = scale;
  shown.curves = new Map(curvesOf(panel, experiment).map(({ label, values }) => [label, values]));
  shown.unit.textContent = unit;
}
