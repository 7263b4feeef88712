// Write: a scenario as text.

import type { Schema } from "./completion.ts";
import { button, el, fill } from "./dom.ts";
import { Editor } from "./editor.ts";
import type { Experiment } from "./experiment.ts";
import { keepText, keptText } from "./kept.ts";
import type { Scenario } from "./messages.ts";
import { fragmentOf, scenarioOf } from "./permalink.ts";
import { Fault, type Pool } from "./pool.ts";
import { Results } from "./results.ts";
import { files as shippedFiles, pathOf, scenarios, titleOf } from "./shipped.ts";
import type { Keep, View } from "./view.ts";

const FIRST = "capacity-drop.toml";
/** Pause in typing after which the text is checked. */
const CHECK_MS = 250;
/** The kept draft. */
const DRAFT = "draft";

/** An edited text, and the scenario that was opened before. */
interface Draft extends Scenario {
  opened: string;
  text: string;
}

/** The view with the editor. */
export class Write implements View {
  readonly element: HTMLElement;
  private readonly editor: Editor;
  private readonly results: Results;
  private readonly problems = el("ul", { class: "problems", "aria-live": "polite" });
  private readonly discard = button("Discard my changes", () => this.restore(), { hidden: true });
  private readonly keep = button("Compare with these results", () => this.toggleKept(), { "aria-pressed": "false" });
  private files = shippedFiles;
  /** Results that the next ones are shown beside. */
  private kept: Experiment | undefined;
  private checking = 0;
  private opened = "";
  /** The text as it was opened. */
  private original = "";
  /** Raised by each newer text and by the end of the view: earlier replies then come too late. */
  private latest = 0;

  constructor(
    private readonly pool: Pool,
    private readonly onFragment: Keep,
  ) {
    this.results = new Results(pool, ({ fault }) => {
      this.showProblems(fault);
      this.onFragment(this.opened);
    });
    this.results.share.prepare = () => this.intoAddress();
    const host = el("div", { class: "editor" });
    const schema = pool.schema() as Promise<Schema>;
    this.editor = new Editor(host, schema, () => this.onEdit(), () => this.run());
    const controls = el(
      "div",
      { class: "exports" },
      button("Run (Ctrl-Enter)", () => this.run(), { class: "main" }),
      this.menu(),
      this.keep,
      this.discard,
    );
    const side = el("div", { class: "side" }, controls, host, this.problems);
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

  get title(): string | undefined {
    return this.results.experiment?.described?.title;
  }

  /** Edit this text, which may name these files. */
  edit(text: string, files: Record<string, string> = {}): void {
    this.latest += 1;
    this.opened ||= FIRST;
    this.set({ text, files });
    void this.intoAddress();
  }

  /** Puts a text into the editor, and runs it. */
  private set({ text, files }: { text: string; files: Record<string, string> }, original = text): void {
    this.files = { ...shippedFiles, ...files };
    this.original = original;
    this.editor.set(text);
    this.run();
  }

  private async load(fragment: string): Promise<void> {
    this.latest += 1;
    const own = this.latest;
    if (fragment === "" && this.opened !== "") return this.run();
    const draft = draftOf();
    this.opened = fragment || (draft?.opened ?? FIRST);
    const path = pathOf(this.opened);
    const scenario = path !== undefined ? { text: scenarios[path] ?? "", files: {} } : await scenarioOf(this.opened);
    if (own !== this.latest) return;
    if (draft && draft.opened === this.opened) return this.set(draft, scenario?.text);
    if (scenario) return this.set(scenario);
    this.editor.set("");
    this.showProblems(new Fault("The link holds no scenario; it may be incomplete."));
  }

  /** Keeps an edited text, so that it survives a reload. */
  private keepDraft(): void {
    const { text, files } = this.scenario();
    const isEdited = text !== this.original;
    this.discard.hidden = !isEdited;
    const own = Object.entries(files).filter(([name]) => text.includes(name) && !Object.hasOwn(shippedFiles, name));
    const draft: Draft = { opened: this.opened, text, files: Object.fromEntries(own) };
    // Another scenario's draft stays until this one is edited.
    if (isEdited) keepText(DRAFT, JSON.stringify(draft));
    else if (draftOf()?.opened === this.opened) keepText(DRAFT, undefined);
  }

  private restore(): void {
    this.set({ text: this.original, files: {} });
  }

  private menu(): HTMLElement {
    const option = (path: string) => el("option", { value: path }, `${titleOf(path)} (${path})`);
    const first = el("option", { value: "" }, "Open a shipped scenario …");
    const select = el("select", { "aria-label": "Shipped scenarios" }, first);
    select.append(...Object.keys(scenarios).map(option));
    select.addEventListener("change", () => {
      if (select.value === "") return;
      this.onFragment(select.value, true);
      void this.load(select.value);
      select.value = "";
    });
    return select;
  }

  private scenario(): Scenario & { text: string } {
    return { text: this.editor.text(), files: this.files };
  }

  private run(): void {
    clearTimeout(this.checking);
    this.keepDraft();
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
    clearTimeout(this.checking);
    this.checking = setTimeout(() => void this.check(), CHECK_MS);
  }

  private async check(): Promise<void> {
    this.keepDraft();
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

  /** Puts an edited text, with the files that it names, into the address. */
  private async intoAddress(): Promise<void> {
    const [{ text, files }, own] = [this.scenario(), this.latest];
    const path = pathOf(this.opened);
    if (path !== undefined && text === scenarios[path]) return;
    const named = Object.entries(files).filter(([name]) => text.includes(name));
    const fragment = await fragmentOf({ text, files: Object.fromEntries(named) });
    if (own !== this.latest) return;
    this.opened = fragment;
    this.onFragment(fragment);
  }
}

/** The kept draft; undefined without one. */
function draftOf(): Draft | undefined {
  try {
    return JSON.parse(keptText(DRAFT) ?? "null") ?? undefined;
  } catch {
    return undefined;
  }
}
