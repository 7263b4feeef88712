// Explore: one bottleneck with sliders.

import first from "first";
import { button, el, fill } from "./dom.ts";
import {
  COARSE_SAMPLES,
  CONTROLS,
  FIELDS,
  type Field,
  QUEUES,
  SAMPLES,
  START,
  type State,
  WITH_ECN,
  documentOf,
  fragmentOf,
  stateOf,
  within,
} from "./explore-state.ts";
import { HeatMap } from "./heat-map.ts";
import type { Pool } from "./pool.ts";
import { Results } from "./results.ts";
import type { Keep, View } from "./view.ts";

/** The view with the sliders. */
export class Explore implements View {
  readonly element: HTMLElement;
  private state = START;
  private readonly results: Results;
  private readonly map: HeatMap;
  private readonly form = el("form", { class: "fields", onsubmit: (event) => event.preventDefault() });

  constructor(
    pool: Pool,
    private readonly onFragment: Keep,
    private readonly onWrite: (toml: string, files: Record<string, string>) => void,
  ) {
    this.results = new Results(pool);
    const intro = el("p", {}, "A link loses capacity while flows fill it. Grey is the delay that no sender could avoid.");
    const stop = () => {
      this.results.abandon();
      return this.state;
    };
    this.map = new HeatMap(pool, stop, (state) => this.set(state));
    const side = el("div", { class: "side" }, intro, this.form, this.map.element);
    this.element = el("div", { class: "columns" }, side, this.results.element);
  }

  open(fragment: string): void {
    const state = stateOf(fragment);
    // The page contains the results of its start; the runs then replace their rounded samples.
    if (first && fragmentOf(state) === fragmentOf(START)) this.results.showStored(first);
    this.set(state);
  }

  private set(state: State): void {
    this.state = state;
    this.build();
    this.run(false);
  }

  close(): void {
    this.results.abandon();
  }

  private build(): void {
    fill(
      this.form,
      ...FIELDS.map((field) => this.field(field)),
      this.queueField(),
      this.controlsField(),
      button("Start again", () => this.open("")),
      button("Edit as a scenario", () => {
        const toml = this.results.experiment?.described?.toml;
        if (toml) this.onWrite(toml, {});
      }),
    );
  }

  private field(field: Field): HTMLElement {
    const { key, min, max } = field;
    const toSlider = (value: number) => (field.isLog ? Math.log(value) : value);
    const ofSlider = (place: number) => (field.isLog ? Math.exp(place) : place);
    const name = `explore-${key}`;
    const step = field.isLog ? (toSlider(max) - toSlider(min)) / 200 : 1;
    const slider = el("input", { type: "range", min: toSlider(min), max: toSlider(max), step });
    slider.setAttribute("aria-label", field.label);
    const number = el("input", { type: "number", id: name, min, max, step: "any" });
    const show = (isSlider: boolean) => {
      number.value = String(this.state[key]);
      if (!isSlider) slider.value = String(toSlider(this.state[key]));
      slider.setAttribute("aria-valuetext", `${this.state[key]} ${field.unit}`);
    };
    const set = (value: number, isDragging: boolean, isSlider: boolean) => {
      if (!Number.isFinite(value)) return show(false);
      this.state = { ...this.state, [key]: within(field, value) };
      show(isSlider);
      this.run(isDragging);
    };
    slider.addEventListener("input", () => set(ofSlider(Number(slider.value)), true, true));
    slider.addEventListener("change", () => set(ofSlider(Number(slider.value)), false, true));
    number.addEventListener("change", () => set(number.valueAsNumber, false, false));
    show(false);
    const label = el("label", { for: name }, field.label);
    return el("div", { class: "field" }, label, slider, number, el("span", {}, field.unit));
  }

  private queueField(): HTMLElement {
    const options = QUEUES.map((queue) =>
      el("option", { value: queue, selected: queue === this.state.queue }, queue),
    );
    const ecn = el("input", { type: "checkbox", checked: this.state.ecn });
    const select = el("select", { id: "explore-queue" }, ...options);
    const update = () => {
      this.state = { ...this.state, queue: select.value, ecn: ecn.checked };
      ecn.disabled = !WITH_ECN.includes(select.value);
      this.run(false);
    };
    ecn.disabled = !WITH_ECN.includes(this.state.queue);
    select.addEventListener("change", update);
    ecn.addEventListener("change", update);
    const mark = el("label", { class: "mark" }, ecn, "marks (ECN)");
    return el("div", { class: "field" }, el("label", { for: "explore-queue" }, "Queue"), select, mark);
  }

  private controlsField(): HTMLElement {
    const boxes = CONTROLS.map((name) => {
      const checked = this.state.controls.includes(name);
      const box = el("input", { type: "checkbox", value: name, checked });
      box.addEventListener("change", () => {
        const others = this.state.controls.filter((one) => one !== name);
        const controls = box.checked ? [...others, name] : others;
        if (controls.length === 0) box.checked = true;
        else this.state = { ...this.state, controls: CONTROLS.filter((one) => controls.includes(one)) };
        this.run(false);
      });
      return el("label", {}, box, name);
    });
    return el("fieldset", { class: "boxes" }, el("legend", {}, "Controllers"), ...boxes);
  }

  private run(isDragging: boolean): void {
    this.map.show(this.state);
    const text = documentOf(this.state, isDragging ? COARSE_SAMPLES : SAMPLES);
    this.results.run({ text, files: {} }, isDragging);
    if (!isDragging) this.onFragment(fragmentOf(this.state));
  }
}
