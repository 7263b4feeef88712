// Runs: the run directories, sweeps and captures that `sojourn view` serves.

import { type Capture, CaptureView } from "./capture.ts";
import { button, el, fill } from "./dom.ts";
import type { Experiment } from "./experiment.ts";
import type { Document, RecordedRuns } from "./model.ts";
import type { Pool } from "./pool.ts";
import { Results } from "./results.ts";
import { type Sweep, SweepView } from "./sweep.ts";
import { Values } from "./values.ts";
import type { View } from "./view.ts";

interface Entry {
  key: string;
  kind: "run" | "sweep" | "capture";
  name: string;
  controls: string[];
  changed: number;
}

/** A scenario that a reader can change: that of a record, or of a point of a sweep. */
type Base = Pick<RecordedRuns, "scenario" | "files">;

interface Listed {
  items: Entry[];
  /** Items beyond the longest list. */
  left_out: number;
}

const ALL = "Recorded runs, with the first seed of each controller, sweeps and captures.";
const OWN =
  "The recorded runs, with the first seed of each controller. Change a value below: the scenario is " +
  "simulated anew, and the recorded runs stay beside it, dashed.";

/** Time between two looks at the directories; a run that ended meanwhile is shown anew. */
const LOOK_MS = 2000;

/** Content of the server; an error is its reason. */
async function fetched(name: string): Promise<unknown> {
  const response = await fetch(name);
  const content: unknown = await response.json();
  if (response.ok) return content;
  const { error } = content as { error?: unknown };
  throw new Error(typeof error === "string" ? error : `The server refused ${name}.`);
}

/** The view with a list of run directories. */
export class Runs implements View {
  readonly element: HTMLElement;
  private readonly results: Results;
  private readonly capture = new CaptureView();
  private readonly sweep = new SweepView((run, title) => void this.runPoint(run, title));
  private readonly point = el("h2", {});
  private readonly right = el("div", { class: "right" });
  private readonly list = el("ul", { class: "runs" });
  private readonly rest = el("p", { hidden: true });
  private readonly status = el("p", { class: "fault", role: "status" });
  private readonly edit = button("Edit its scenario", () => this.change(), { hidden: true });
  private readonly values = new Values((document) => this.compare(document));
  private readonly back = button("Show the runs before the change alone", () => this.again(), { hidden: true });
  /** The runs before a change, as they are drawn. */
  private recorded: Experiment | undefined;
  private base: Base | undefined;
  /** The record that `base` belongs to; a point of a sweep has none. */
  private record: RecordedRuns | undefined;
  private shown: Entry | undefined;
  private buttons: HTMLButtonElement[] = [];
  private keys: string[] = [];
  private signature = "";
  private timer = 0;
  /** Raised when something else is to be shown: a reply to an earlier request then comes too late. */
  private latest = 0;

  constructor(
    pool: Pool,
    private readonly own: RecordedRuns | undefined,
    private readonly onWrite: (toml: string, files: Record<string, string>) => void,
  ) {
    this.results = new Results(pool, (experiment) => this.onShown(experiment));
    const intro = el("p", {}, own ? OWN : ALL);
    const listed = [intro, this.list, this.rest];
    const side = el("div", { class: "side" }, ...listed, this.values.element, this.back, this.edit, this.status);
    this.element = el("div", { class: "columns" }, side, this.right);
  }

  open(): void {
    if (this.own) {
      this.take(this.own);
      return;
    }
    // Its reply may have come too late for the view before.
    if (this.shown) void this.show(this.shown);
    void this.look();
    this.timer = setInterval(() => void this.look(), LOOK_MS);
  }

  close(): void {
    this.latest += 1;
    clearInterval(this.timer);
    this.results.abandon();
  }

  private async look(): Promise<void> {
    const own = this.latest;
    try {
      const { items: entries, left_out } = (await fetched("items.json")) as Listed;
      if (own !== this.latest) return;
      this.enlist(entries);
      this.rest.hidden = left_out === 0;
      this.rest.textContent = `${left_out} more are not listed. Name them, or folders of fewer.`;
      const now = entries.find((entry) => entry.key === this.shown?.key);
      const first = this.shown ? undefined : entries[0];
      if (now && now.changed !== this.shown?.changed) await this.show(now);
      else if (first) await this.show(first);
    } catch (error) {
      if (own === this.latest) this.status.textContent = error instanceof Error ? error.message : String(error);
    }
  }

  /** Shows the list, if it is another one: a button that is replaced loses the focus. */
  private enlist(entries: Entry[]): void {
    const signature = JSON.stringify(entries);
    if (signature === this.signature) return;
    this.signature = signature;
    this.keys = entries.map((entry) => entry.key);
    this.buttons = entries.map((entry) => button(entry.name, () => void this.show(entry)));
    const items = this.buttons.map((open, place) =>
      el("li", {}, open, ` ${noteOf(entries[place])}`),
    );
    fill(this.list, ...items);
    this.mark();
  }

  /** Marks the shown entry in the list. */
  private mark(): void {
    this.buttons.forEach((open, place) => {
      if (this.keys[place] === this.shown?.key) open.setAttribute("aria-current", "true");
      else open.removeAttribute("aria-current");
    });
  }

  private async show(entry: Entry): Promise<void> {
    this.latest += 1;
    const own = this.latest;
    this.shown = entry;
    this.mark();
    this.status.textContent = "";
    try {
      const content = await fetched(`item-${entry.key}.json`);
      if (own !== this.latest) return;
      if (entry.kind === "run") this.take(content as RecordedRuns);
      else if (entry.kind === "sweep") this.showSweep(content as Sweep);
      else this.showCapture(content as Capture);
    } catch (error) {
      if (own === this.latest) this.status.textContent = error instanceof Error ? error.message : String(error);
    }
  }

  private showCapture(capture: Capture): void {
    this.forget();
    this.right.replaceChildren(this.capture.element);
    this.capture.show(capture);
  }

  private showSweep(sweep: Sweep): void {
    // A sweep that goes on keeps the point that its reader chose.
    if (!this.sweep.element.isConnected) {
      this.forget();
      this.right.replaceChildren(this.sweep.element);
    }
    this.sweep.show(sweep);
  }

  /** Ends the runs of what was shown before. */
  private forget(): void {
    this.results.abandon();
    this.base = this.record = this.recorded = undefined;
    this.values.show(undefined);
    this.edit.hidden = this.back.hidden = true;
  }

  /** Run a point of the sweep. */
  private async runPoint(run: string, title: string): Promise<void> {
    this.latest += 1;
    const own = this.latest;
    this.status.textContent = "";
    try {
      const base = (await fetched(`item-${this.shown?.key}-${run}.json`)) as Base;
      if (own !== this.latest) return;
      this.forget();
      this.base = base;
      this.edit.hidden = false;
      this.point.textContent = `Simulated anew: ${title}`;
      this.right.replaceChildren(this.sweep.element, this.point, this.results.element);
      this.again();
    } catch (error) {
      if (own === this.latest) this.status.textContent = error instanceof Error ? error.message : String(error);
    }
  }

  /** The first results of a point are those that changed ones are compared with. */
  private onShown(experiment: Experiment): void {
    if (!this.base || this.record || this.recorded || experiment.fault) return;
    this.recorded = experiment;
    this.values.show(experiment.described?.document);
  }

  private take(record: RecordedRuns): void {
    this.right.replaceChildren(this.results.element);
    this.base = this.record = record;
    this.edit.hidden = record.scenario === "";
    this.again();
  }

  /** Show the runs without a changed one. */
  private again(): void {
    this.back.hidden = true;
    if (this.record) void this.showRecord(this.record);
    else if (this.base) this.results.run({ text: this.base.scenario, files: this.base.files });
  }

  private async showRecord(record: RecordedRuns): Promise<void> {
    const own = this.latest;
    await this.results.show(record);
    if (own !== this.latest || this.record !== record) return;
    this.recorded = this.results.experiment;
    const described = this.recorded?.described;
    // The page cannot read every scenario: one may name a controller in Python.
    const isKnown = record.scenario !== "" && described?.memory_bytes !== 0;
    this.values.show(isKnown ? described?.document : undefined);
    this.edit.hidden = !isKnown;
  }

  /** Run a changed scenario, and show the runs before the change beside it. */
  private compare(document: Document): void {
    if (!this.base) return;
    this.back.hidden = false;
    this.results.run({ text: document, files: this.base.files }, false, this.recorded);
  }

  private change(): void {
    if (this.base) this.onWrite(this.base.scenario, this.base.files);
  }
}

/** The controllers of an entry, or its kind. */
function noteOf(entry: Entry | undefined): string {
  return entry?.kind === "sweep" ? "sweep" : (entry?.controls.join(", ") ?? "");
}
