// Learn: guided stories, each with a scenario and a question.

import { button, el, fill } from "./dom.ts";
import type { Pool } from "./pool.ts";
import { Results } from "./results.ts";
import { files } from "./shipped.ts";
import { STORIES, type Story } from "./stories.ts";
import type { View } from "./view.ts";

/** A paragraph, in which names are between backticks. */
function paragraph(text: string): HTMLElement {
  const parts = text.split("`").map((part, place) => (place % 2 === 1 ? el("code", {}, part) : part));
  return el("p", {}, ...parts);
}

/** The view with the stories. */
export class Learn implements View {
  readonly element: HTMLElement;
  private readonly results: Results;
  private readonly list = el("nav", { class: "stories", "aria-label": "Stories" });
  private readonly story = el("article", {});

  constructor(
    pool: Pool,
    private readonly onFragment: (fragment: string) => void,
    private readonly onWrite: (toml: string) => void,
  ) {
    this.results = new Results(pool);
    const side = el("div", { class: "side" }, this.list, this.story);
    this.element = el("div", { class: "columns wide" }, side, this.results.element);
  }

  open(fragment: string): void {
    const first = STORIES[0];
    const story = STORIES.find(({ key }) => key === fragment) ?? first;
    if (story) this.show(story);
  }

  close(): void {
    this.results.abandon();
  }

  private show(story: Story): void {
    this.onFragment(story.key);
    const tabs = STORIES.map((one, place) => {
      const tab = button(`${place + 1}. ${one.title}`, () => this.show(one));
      if (one === story) tab.setAttribute("aria-current", "true");
      return tab;
    });
    fill(this.list, ...tabs);
    const write = button("Edit this scenario", () => this.onWrite(story.scenario));
    const text = story.text.map(paragraph);
    fill(this.story, el("h2", {}, story.title), ...text, this.question(story), write);
    this.run(story.scenario);
  }

  private question(story: Story): HTMLElement {
    const answer = el("div", { class: "answer", "aria-live": "polite" });
    const options = story.options.map((option, place) => {
      const choose = button(option, () => {
        for (const other of options) other.removeAttribute("aria-pressed");
        choose.setAttribute("aria-pressed", "true");
        this.answer(answer, story, place === story.right);
      });
      return choose;
    });
    const legend = el("legend", {}, ...paragraph(story.question).childNodes);
    return el("fieldset", { class: "question" }, legend, ...options, answer);
  }

  private answer(parent: HTMLElement, story: Story, isRight: boolean): void {
    if (!isRight) {
      fill(parent, el("p", {}, "No. Look at the charts, and choose again."));
      return;
    }
    const explanation = story.explanation.map(paragraph);
    const next = button(story.next.label, () => this.run(story.next.scenario), { class: "main" });
    const back = button("Run the first scenario again", () => this.run(story.scenario));
    fill(parent, el("p", {}, el("strong", {}, "Yes.")), ...explanation, next, back);
  }

  private run(text: string): void {
    this.results.run({ text, files });
  }
}
