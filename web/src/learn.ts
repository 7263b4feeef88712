// Learn: explorable stories.

import { isDark } from "./colours.ts";
import { button, el, fill } from "./dom.ts";
import type { Experiment } from "./experiment.ts";
import type { Layer } from "./figure/model.ts";
import type { Pool } from "./pool.ts";
import { Results } from "./results.ts";
import { files } from "./shipped.ts";
import { STORIES } from "./stories.ts";
import { type Control, type Option, type Story, type Values, claimNote, dropNotes } from "./story.ts";
import type { Keep, View } from "./view.ts";

/** The view with the stories. */
export class Learn implements View {
  readonly element: HTMLElement;
  private readonly results: Results;
  private readonly list = el("nav", { class: "stories", "aria-label": "Stories" });
  private readonly article = el("article", {});
  private story: Story | undefined;
  private values: Values = {};
  private chosen: number | undefined;
  /** The places of figures in the text, and of the controls' values. */
  private figures: [string, HTMLElement][] = [];
  private shows: (() => void)[] = [];

  constructor(
    pool: Pool,
    private readonly onFragment: Keep,
    private readonly onWrite: (toml: string, files: Record<string, string>) => void,
  ) {
    this.results = new Results(pool, (experiment) => this.onShown(experiment));
    this.results.charts.notes = (experiment, scale) => this.notes(experiment, scale);
    const side = el("div", { class: "side" }, this.list, this.article);
    this.element = el("div", { class: "columns wide" }, side, this.results.element);
  }

  get title(): string | undefined {
    return this.story?.title;
  }

  /** Opens a story: its name, with the values and the answer of its reader. */
  open(fragment: string): void {
    const [key, state = ""] = fragment.split("?");
    const story = STORIES.find((one) => one.key === key) ?? STORIES[0];
    if (!story) return;
    const given = new URLSearchParams(state);
    this.story = story;
    this.values = { ...story.start };
    for (const [name, control] of Object.entries(story.controls)) {
      const value = within(control, given.get(name));
      if (value !== undefined) this.values[name] = value;
    }
    const answer = given.has("answer") ? Number(given.get("answer")) : undefined;
    this.chosen = answer !== undefined && story.options[answer] ? answer : undefined;
    this.build(story);
    if (this.chosen === undefined) this.run(this.values, false);
    else this.answer(story, this.chosen);
  }

  close(): void {
    this.results.abandon();
  }

  private build(story: Story): void {
    const tabs = STORIES.map((one, place) => {
      const tab = button(`${place + 1}. ${one.title}`, () => {
        this.onFragment(one.key, true);
        this.open(one.key);
      });
      if (one === story) tab.setAttribute("aria-current", "true");
      return tab;
    });
    fill(this.list, ...tabs);
    // On a narrow screen the list scrolls sideways.
    this.list.scrollLeft = (tabs[STORIES.indexOf(story)]?.offsetLeft ?? 0) - this.list.offsetLeft;
    this.results.charts.setLead(story.lead ?? "delay");
    this.results.charts.usual = story.part ?? "drop";
    [this.figures, this.shows] = [[], []];
    const write = button("Edit this scenario", () => this.onWrite(story.scenario(this.values), {}));
    fill(this.article, el("h2", {}, story.title), ...story.text.map((text) => this.paragraph(text)), this.question(story), write);
  }

  /** A paragraph with its controls, figures and names. */
  private paragraph(text: string): HTMLElement {
    const parts = text.split(/(`[^`]*`|\[\w+\]|\{\w+\})/).map((part) => {
      const name = part.slice(1, -1);
      if (part.startsWith("`")) return el("code", {}, name);
      const control = part.startsWith("[") ? this.story?.controls[name] : undefined;
      if (control) return this.control(name, control);
      if (!part.startsWith("{")) return part;
      const figure = el("span", { class: "figure-value" }, "…");
      this.figures.push([name, figure]);
      return figure;
    });
    return el("p", {}, ...parts);
  }

  /** A slider or a choice within the sentence. */
  private control(name: string, control: Control): HTMLElement {
    if (control.kind === "choice") {
      const options = control.options.map(([value, text]) => el("option", { value }, text));
      const select = el("select", { class: "inline", "aria-label": control.label }, ...options);
      select.addEventListener("change", () => this.set(name, select.value, false));
      this.shows.push(() => (select.value = String(this.values[name])));
      return select;
    }
    const { min, max, step, unit, label } = control;
    const slider = el("input", { type: "range", min, max, step, "aria-label": label });
    const shown = el("b", {});
    slider.addEventListener("input", () => this.set(name, Number(slider.value), true));
    slider.addEventListener("change", () => this.set(name, Number(slider.value), false));
    this.shows.push(() => {
      slider.value = String(this.values[name]);
      shown.textContent = `${this.values[name]} ${unit}`;
      slider.setAttribute("aria-valuetext", shown.textContent);
    });
    return el("span", { class: "inline" }, shown, slider);
  }

  private set(name: string, value: number | string, isDragging: boolean): void {
    this.values = { ...this.values, [name]: value };
    this.chosen = undefined;
    for (const one of this.article.querySelectorAll(".question > button")) one.setAttribute("aria-pressed", "false");
    this.run(this.values, isDragging);
  }

  private run(values: Values, isDragging: boolean): void {
    for (const show of this.shows) show();
    if (!this.story) return;
    this.results.run({ text: this.story.scenario(values), files }, isDragging);
    if (!isDragging) this.keep();
  }

  private keep(): void {
    const { story } = this;
    if (!story) return;
    const changed = Object.entries(this.values).filter(([name, value]) => story.start[name] !== value && name in story.controls);
    const state = new URLSearchParams(changed.map(([name, value]) => [name, String(value)]));
    if (this.chosen !== undefined) state.set("answer", String(this.chosen));
    this.onFragment(state.size > 0 ? `${story.key}?${state}` : story.key);
  }

  private onShown(experiment: Experiment): void {
    const figures = this.story?.figures?.(this.values, experiment) ?? {};
    for (const [name, place] of this.figures) place.textContent = figures[name]?.replaceAll(" ", "\u00a0") ?? "";
  }

  /** The marks of the picture: those of a drop, and the level that an answer claims. */
  private notes(experiment: Experiment, scale: number): Layer[] {
    const { claim } = (this.chosen === undefined ? undefined : this.story?.options[this.chosen]) ?? {};
    const end = experiment.described?.duration_s ?? 0;
    const drops = (this.story?.lead ?? "delay") === "delay" ? dropNotes(experiment, scale) : [];
    return [...drops, ...(claim === undefined ? [] : [claimNote(claim, scale, end, !isDark())])];
  }

  private question(story: Story): HTMLElement {
    const options = story.options.map(({ text }, place) => {
      const pressed = String(this.chosen === place);
      return button(text, () => this.answer(story, place), { "aria-pressed": pressed });
    });
    const answer = el("div", { class: "answer-text", "aria-live": "polite" });
    const legend = el("legend", {}, ...this.paragraph(story.question).childNodes);
    return el("fieldset", { class: "question" }, legend, ...options, answer);
  }

  /** The picture answers: it shows the experiment that the chosen answer is about. */
  private answer(story: Story, place: number): void {
    const option = story.options[place];
    const parent = this.article.querySelector(".answer-text");
    if (!option || !parent) return;
    this.chosen = place;
    const buttons = this.article.querySelectorAll(".question > button");
    buttons.forEach((one, own) => one.setAttribute("aria-pressed", String(own === place)));
    const isRight = place === story.right;
    const verdict = el("strong", {}, isRight ? "Yes. " : "No. ");
    const first = el("p", {}, verdict, ...this.paragraph(option.answer).childNodes);
    fill(parent, first, ...(isRight ? story.explanation.map((text) => this.paragraph(text)) : []));
    this.show(story, option);
  }

  private show(story: Story, option: Option): void {
    const values = { ...story.start, ...story.asked, ...option.values };
    this.values = values;
    this.run(values, false);
  }
}

/** A value of a control from the address; undefined if it is impossible. */
function within(control: Control, text: string | null): number | string | undefined {
  if (text === null) return undefined;
  if (control.kind === "choice") return control.options.some(([value]) => value === text) ? text : undefined;
  const value = Number(text);
  return Number.isFinite(value) && value >= control.min && value <= control.max ? value : undefined;
}
