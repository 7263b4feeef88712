// Write: a scenario as text.

import type { Schema } from "./completion.ts";
import { button, el, fill } from "./dom.ts";
import { Editor } from "./editor.ts";
import type { Experiment } from "./experiment.ts";
import type { Scenario } from "./messages.ts";
import { fragmentOf, scenarioOf } from "./permalink.ts";
import { Fault, type Pool } from "./pool.ts";
import { Results } from "./results.ts";
import { files as shippedFiles, pathOf, scenarios, titleOf } from "./shipped.ts";
import type { View } from "./view.ts";

const FIRST = "capacity-drop.toml";
/** Pause in typing after which the text is checked. */
const CHECK_MS = 250;

/** The view with the editor. */
export class Write implements View {
  readonly element: HTMLElement;
  private readonly editor: Editor;
  private readonly results: Results;
  private readonly problems = el("ul", { class: "problems", "aria-live": "polite" });
  private readonly link = el("input", { type: "text", readonly: true, hidden: true });
  private readonly keep = button("Compare with these results", () => this.toggleKept(), { "aria-pressed": "false" });
  private files = shippedFiles;
  /** Results that the next ones are shown beside. */
  private kept: Experiment | undefined;
  private checking = 0;
  private opened = "";
  /** Raised by each newer text and by the end of the view: earlier replies then come too late. */
  private latest = 0;

  constructor(
    private readonly pool: Pool,
    private readonly onFragment: (fragment: string) => void,
  ) {
    this.results = new Results(pool, ({ fault }) => this.showProblems(fault));
    const host = el("div", { class: "editor" });
    const schema = pool.schema() as Promise<Schema>;
    this.editor = new Editor(host, schema, () => this.onEdit(), () => this.run());
    this.link.setAttribute("aria-label", "Link to this scenario");
    const controls = el(
      "div",
      { class: "exports" },
      button("Run (Ctrl-Enter)", () => this.run(), { class: "main" }),
      this.menu(),
      button("Link to this scenario", () => void this.showLink()),
      this.keep,
    );
    const side = el("div", { class: "side" }, controls, this.link, host, this.problems);
    this.element = el("div", { class: "columns wide" }, side, this.results.element);
  }

  open(fragment: string): void {
    void this.load(fragment);
  }

  close(): void {
    this.latest += 1;
    clearTimeout(this.checking);
    this.results.abandon();
  }

  /** Edit this text, which may name these files. */
  edit(text: string, files: Record<string, string> = {}): void {
    this.latest += 1;
    this.files = { ...shippedFiles, ...files };
    this.opened ||= FIRST;
    this.editor.set(text);
    this.run();
  }

  private async load(fragment: string): Promise<void> {
    this.latest += 1;
    const own = this.latest;
    if (fragment === "" && this.opened !== "") return this.run();
    this.opened = fragment || FIRST;
    const path = pathOf(this.opened);
    if (path !== undefined) return this.edit(scenarios[path] ?? "");
    const scenario = await scenarioOf(fragment);
    if (own !== this.latest) return;
    if (!scenario) {
      this.editor.set("");
      return this.showProblems(new Fault("The link holds no scenario; it may be incomplete."));
    }
    this.files = { ...shippedFiles, ...scenario.files };
    this.editor.set(scenario.text);
    this.run();
  }

  private menu(): HTMLElement {
    const option = (path: string) => el("option", { value: path }, `${titleOf(path)} (${path})`);
    const first = el("option", { value: "" }, "Open a shipped scenario …");
    const select = el("select", { "aria-label": "Shipped scenarios" }, first);
    select.append(...Object.keys(scenarios).map(option));
    select.addEventListener("change", () => {
      if (select.value === "") return;
      this.opened = select.value;
      this.onFragment(select.value);
      this.edit(scenarios[select.value] ?? "");
      select.value = "";
    });
    return select;
  }

  private scenario(): Scenario & { text: string } {
    return { text: this.editor.text(), files: this.files };
  }

  private run(): void {
    clearTimeout(this.checking);
    this.link.hidden = true;
    this.showProblems(undefined);
    this.results.run(this.scenario(), false, this.kept);
  }

  /** Keep the results for a comparison with those of other scenarios, or forget them. */
  private toggleKept(): void {
    const { experiment } = this.results;
    if (this.kept) this.kept = undefined;
    else if (experiment?.isOver && !experiment.fault) this.kept = experiment;
    this.keep.setAttribute("aria-pressed", String(this.kept !== undefined));
    // Without the kept results, those of the scenario stay alone.
    if (!this.kept) this.run();
  }

  private onEdit(): void {
    this.link.hidden = true;
    clearTimeout(this.checking);
    this.checking = setTimeout(() => void this.check(), CHECK_MS);
  }

  private async check(): Promise<void> {
    const [scenario, own] = [this.scenario(), this.latest];
    const fault = await this.pool.load(scenario).then(
      () => undefined,
      (reason: Fault) => reason,
    );
    if (own === this.latest && scenario.text === this.editor.text()) this.showProblems(fault);
  }

  private showProblems(fault: Fault | undefined): void {
    const problems = fault?.problems ?? [];
    this.editor.mark(problems);
    const items = problems.map(({ line, column, path, message, help }) => {
      const place = line === null ? path : `line ${line}, column ${column}`;
      return el("li", {}, el("strong", {}, place), ` ${message}`, help && ` (${help})`);
    });
    const other = fault && problems.length === 0 ? el("li", {}, fault.message) : null;
    fill(this.problems, ...items, other);
  }

  private async showLink(): Promise<void> {
    const [{ text, files }, own] = [this.scenario(), this.latest];
    // The files that the text names are part of the link.
    const named = Object.entries(files).filter(([name]) => text.includes(name));
    const fragment = await fragmentOf({ text, files: Object.fromEntries(named) });
    if (own !== this.latest) return;
    this.opened = fragment;
    this.onFragment(fragment);
    this.link.value = location.href;
    this.link.hidden = false;
    this.link.select();
  }
}
