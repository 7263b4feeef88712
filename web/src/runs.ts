// Runs: the run directories that `sojourn view` serves.

import { button, el, fill } from "./dom.ts";
import type { RecordedRuns } from "./model.ts";
import type { Pool } from "./pool.ts";
import { Results } from "./results.ts";
import type { View } from "./view.ts";

interface Entry {
  place: number;
  name: string;
  controls: string[];
  changed: number;
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
  private readonly list = el("ul", { class: "runs" });
  private readonly status = el("p", { class: "fault", role: "status" });
  private readonly edit = button("Edit its scenario", () => this.change(), { hidden: true });
  private record: RecordedRuns | undefined;
  private shown: Entry | undefined;
  private timer = 0;

  constructor(
    pool: Pool,
    private readonly onWrite: (toml: string, files: Record<string, string>) => void,
  ) {
    this.results = new Results(pool);
    const intro = el("p", {}, "Recorded runs, with the first seed of each controller.");
    const side = el("div", { class: "side" }, intro, this.list, this.edit, this.status);
    this.element = el("div", { class: "columns" }, side, this.results.element);
  }

  open(): void {
    void this.look();
    this.timer = setInterval(() => void this.look(), LOOK_MS);
  }

  close(): void {
    clearInterval(this.timer);
    this.results.abandon();
  }

  private async look(): Promise<void> {
    try {
      const entries = (await fetched("runs.json")) as Entry[];
      fill(this.list, ...entries.map((entry) => this.item(entry)));
      const now = entries.find((entry) => entry.name === this.shown?.name);
      const first = this.shown ? undefined : entries[0];
      if (now && now.changed !== this.shown?.changed) await this.show(now);
      else if (first) await this.show(first);
    } catch (error) {
      this.status.textContent = error instanceof Error ? error.message : String(error);
    }
  }

  private item(entry: Entry): HTMLElement {
    const open = button(entry.name, () => void this.show(entry));
    if (entry.name === this.shown?.name) open.setAttribute("aria-current", "true");
    return el("li", {}, open, ` ${entry.controls.join(", ")}`);
  }

  private async show(entry: Entry): Promise<void> {
    this.shown = entry;
    this.status.textContent = "";
    try {
      this.record = (await fetched(`run-${entry.place}.json`)) as RecordedRuns;
      this.edit.hidden = this.record.scenario === "";
      await this.results.show(this.record);
    } catch (error) {
      this.status.textContent = error instanceof Error ? error.message : String(error);
    }
  }

  private change(): void {
    if (this.record) this.onWrite(this.record.scenario, this.record.files);
  }
}
