// Files: run directories, reports, qlogs, traces and scenarios of a reader's own, which can be dropped
// anywhere on the page.

import { archiveOf, cut } from "./archive.ts";
import { logsModule, unpacked } from "./assets.ts";
import { button, el, fill } from "./dom.ts";
import type { OwnSamples, RecordedRuns, Samples } from "./model.ts";
import type { Pool } from "./pool.ts";
import type { RunSummary } from "./record.ts";
import { Results } from "./results.ts";
import type { QlogFigures } from "./simulator.ts";
import type { Keep, View } from "./view.ts";

/** Longest text file: scenarios, traces and reports are shorter. */
const MOST_TEXT = 64 << 20;
/** Longest record of a report: a few packed bytes can hold gigabytes. */
const MOST_RECORD = 256 << 20;
/** Longest qlog: the simulator's module holds it whole. */
const MOST_QLOG = 1 << 30;
/** A record within a report or a saved page. */
const RECORD = /<script[^>]* id="(?:sojourn-record|live-record)"[^>]*>([^<]+)</;
/** Names of qlogs, which may be packed. */
const QLOGS = /\.s?qlog(\.(gz|zst))?$/;
const COLUMNS = ["t_s", "goodput_bps", "cwnd_bytes", "rtt_s"];
const HINT =
  "Drop a file here, or anywhere on the page: a run directory as a zip archive, a report, a qlog, a capture, a " +
  "mahimahi trace, or a scenario. It stays on this machine.";

/** What else the page does with a file. */
export interface Ways {
  write: (toml: string, files: Record<string, string>) => void;
  draw: (trace: string) => void;
  explain: (file: File) => void;
}

export class Files implements View {
  readonly element: HTMLElement;
  title: string | undefined;
  private readonly results: Results;
  private readonly status = el("p", { role: "status" });
  private readonly explain = el("div", {});
  /** Raised by each newer file and by the end of the view: earlier ones are read too late. */
  private latest = 0;

  constructor(
    private readonly pool: Pool,
    private readonly onFragment: Keep,
    private readonly ways: Ways,
  ) {
    this.results = new Results(pool);
    this.results.charts.usual = "all";
    this.results.element.hidden = true;
    const choose = el("input", { type: "file", "aria-label": "A file of results, or a trace or scenario" });
    choose.addEventListener("change", () => choose.files?.[0] && void this.take(choose.files[0]));
    const side = el("div", { class: "side" }, el("div", { class: "zone" }, el("p", {}, HINT), choose), this.status, this.explain);
    this.element = el("div", { class: "columns" }, side, this.results.element);
  }

  open(): void {}

  close(): void {
    this.latest += 1;
    this.results.abandon();
  }

  /** Show a file, or hand it to the view that edits it. */
  async take(file: File): Promise<void> {
    this.latest += 1;
    const own = this.latest;
    this.say(`Reading ${file.name} …`);
    fill(this.explain);
    try {
      const show = await this.read(file);
      if (own !== this.latest) return;
      this.title = file.name;
      this.say(file.name);
      this.onFragment("");
      this.results.element.hidden = false;
      await show();
    } catch (error) {
      if (own === this.latest) this.say(`${file.name}: ${error instanceof Error ? error.message : String(error)}`, true);
    }
  }

  private say(text: string, isFault = false): void {
    this.status.textContent = text;
    this.status.classList.toggle("fault", isFault);
  }

  /** Reads a file by its first bytes or its name; returns the way to show it. */
  private async read(file: File): Promise<() => void | Promise<void>> {
    const head = await file.slice(0, 4096).text();
    if (head.startsWith("PK\u0003\u0004")) return this.readArchive(file);
    if (/^\s*<!doctype html/i.test(head)) return this.readReport(await textOf(file, file.name));
    if (file.name.endsWith(".toml")) return this.writes(await textOf(file, file.name));
    if (/^\d+\r?\n\d/.test(head)) {
      const trace = await textOf(file, file.name);
      return () => this.ways.draw(trace);
    }
    if (!/"?qlog_(version|format|file|schema)/.test(head) && !QLOGS.test(file.name)) return () => this.ways.explain(file);
    return this.readQlog(file);
  }

  /** A run directory: the record of its report or, without one, its scenario, which has the same runs. */
  private async readArchive(file: File): Promise<() => void | Promise<void>> {
    const entries = await archiveOf(file);
    const named = (name: string) => [...entries.keys()].find((path) => path === name || path.endsWith(`/${name}`));
    // Entries may share their bytes, so that a small archive holds many long files.
    let left = MOST_TEXT;
    const read = async (path: string) => {
      const content = (await entries.get(path)?.()) ?? new Blob();
      left -= content.size;
      if (left < 0) throw new Error(`its files have more than ${MOST_TEXT >> 20} MiB.`);
      return textOf(content, path);
    };
    const report = named("report.html");
    const text = report === undefined ? "" : await read(report);
    if (RECORD.test(text)) return this.readReport(text);
    const scenario = named("scenario.toml");
    if (scenario === undefined) throw new Error("it has neither report.html with its record nor scenario.toml.");
    const folder = scenario.slice(0, -"scenario.toml".length);
    const files: Record<string, string> = {};
    for (const path of entries.keys()) {
      if (path.startsWith(folder) && !/\/$|\.(parquet|json|html|svg|png|pdf|toml)$/.test(path)) files[path.slice(folder.length)] = await read(path);
    }
    const toml = await read(scenario);
    return () => this.results.run({ text: toml, files });
  }

  private async readReport(html: string): Promise<() => Promise<void>> {
    const packed = RECORD.exec(html)?.[1];
    if (!packed) throw new Error("it contains no record: `sojourn report DIR --live` writes one that does.");
    const { body } = unpacked(packed.trim());
    if (!body) throw new Error("its record cannot be unpacked");
    const content = await cut(body, MOST_RECORD, `its record has more than ${MOST_RECORD >> 20} MiB`);
    const record = JSON.parse(await content.text()) as RecordedRuns;
    return () => {
      this.results.charts.setLead("delay");
      return this.results.show(record);
    };
  }

  private async writes(toml: string): Promise<() => void> {
    return () => this.ways.write(toml, {});
  }

  private async readQlog(file: File): Promise<() => void> {
    if (file.size > MOST_QLOG) throw new Error(`it has more than ${MOST_QLOG >> 30} GiB.`);
    const found = await this.pool.readQlog(file, await logsModule());
    return () => {
      fill(this.explain, button("Explain its delay", () => this.ways.explain(file)));
      this.results.charts.setLead("rtt");
      void this.results.show(recordOf(file.name, found));
      if (found.damage) this.say(`${file.name}: read up to an error. ${found.damage}`, true);
    };
  }
}

async function textOf(file: Blob, name: string): Promise<string> {
  if (file.size > MOST_TEXT) throw new Error(`${name} has more than ${MOST_TEXT >> 20} MiB.`);
  return file.text();
}

/** A qlog as a record of one run, without links. */
function recordOf(name: string, { title, duration_s, flows, samples }: QlogFigures): RecordedRuns {
  const all = flows.map((flow) => ({ control: "", dropped_packets: 0, base_rtt_s: flow.rtt_min_s, ...flow }));
  const run = { control: "", seed: 0, duration_s, flows: all, links: [], spikes: [] } as unknown as RunSummary;
  const links = { names: [], columns: {} };
  return { title: title ?? name, scenario: "", files: {}, runs: [run], flows: [aligned(samples)], links: [links] };
}

/** At each time one row for every flow: those of a log have rows of their own times. */
function aligned({ names, columns }: OwnSamples): Samples {
  const { t_s: times = new Float64Array(), flow: flows = new Float64Array() } = columns;
  const every = [...new Set(times)].sort((a, b) => a - b);
  const places = new Map(every.map((time, place) => [time, place]));
  const found = COLUMNS.map((column): [string, (number | null)[]] => {
    const values: (number | null)[] = Array.from({ length: every.length * names.length }, () => null);
    times.forEach((time, row) => {
      const value = columns[column]?.[row];
      const place = (places.get(time) ?? 0) * names.length + (flows[row] ?? 0);
      values[place] = value === undefined || Number.isNaN(value) ? null : value;
    });
    return [column, values];
  });
  return { names, columns: { ...Object.fromEntries(found), t_s: every.flatMap((time) => names.map(() => time)) } };
}
