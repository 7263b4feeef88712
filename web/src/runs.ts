// Runs: the run directories and captures that `sojourn view` serves.

import { type Capture, CaptureView } from "./capture.ts";
import { button, el, fill } from "./dom.ts";
import type { Experiment } from "./experiment.ts";
import type { Document, RecordedRuns } from "./model.ts";
import type { Pool } from "./pool.ts";
import { Results } from "./results.ts";
import { Values } from "./values.ts";
import type { View } from "./view.ts";

interface Entry {
  key: string;
  kind: "run" | "capture";
  name: string;
  controls: string[];
  changed: number;
}

interface Listed {
  items: Entry[];
  /** Items beyond the longest list. */
  left_out: number;
}

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
  private readonly right = el("div", {});
  private readonly list = el("ul", { class: "runs" });
  private readonly rest = el("p", { hidden: true });
  private readonly status = el("p", { class: "fault", role: "status" });
  private readonly edit = button("Edit its scenario", () => this.change(), { hidden: true });
  private readonly values = new Values((document) => this.compare(document));
  private readonly back = button("Show the recorded run alone", () => this.again(), { hidden: true });
  /** The recorded runs as they are drawn. */
  private recorded: Experiment | undefined;
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
    this.results = new Results(pool);
    const intro = el("p", {}, "Recorded runs, with the first seed of each controller, and captures.");
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
      el("li", {}, open, ` ${entries[place]?.controls.join(", ") ?? ""}`),
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
      else this.showCapture(content as Capture);
    } catch (error) {
      if (own === this.latest) this.status.textContent = error instanceof Error ? error.message : String(error);
    }
  }

  private showCapture(capture: Capture): void {
    this.results.abandon();
    this.record = undefined;
    this.values.show(undefined);
    this.edit.hidden = this.back.hidden = true;
    this.right.replaceChildren(this.capture.element);
    this.capture.show(capture);
  }

  private take(record: RecordedRuns): void {
    this.right.replaceChildren(this.results.element);
    this.record = record;
    this.edit.hidden = record.scenario === "";
    void this.again();
  }

  /** Show the record without a changed run. */
  private async again(): Promise<void> {
    const { record } = this;
    if (!record) return;
    const own = this.latest;
    this.back.hidden = true;
    await this.results.show(record);
    if (own !== this.latest || this.record !== record) return;
    this.recorded = this.results.experiment;
    this.values.show(record.scenario === "" ? undefined : this.recorded?.described?.document);
  }

  /** Run a changed scenario, and show the record beside it. */
  private compare(document: Document): void {
    if (!this.record) return;
    this.back.hidden = false;
    this.results.run({ text: document, files: this.record.files }, false, this.recorded);
  }

  private change(): void {
    if (this.record) this.onWrite(this.record.scenario, this.record.files);
  }
}
