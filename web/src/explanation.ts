// The explanation of a dropped file: the text, the cures, and the observed series beside the twin's.
// The file is read by the module in a worker, so that nothing leaves the browser.

import { logsModule } from "./assets.ts";
import { button, el, fill, scrolling } from "./dom.ts";
import type { Layer } from "./figure/model.ts";
import { drawPanel } from "./figure/panel.ts";
import { MISSING } from "./formatting.ts";
import type { Pool } from "./pool.ts";
import type { View } from "./view.ts";

type Values = (number | null)[];

interface Spread {
  median: number;
  low: number;
  high: number;
}

/** A part of what `sojourn explain --json` prints. */
interface Explanation {
  duration_s: number;
  path: {
    capacity: { from_s: number; to_s: number; rate_bps: number | null; low_bps: number }[];
  };
  flows: { name: string; base_rtt_s: number }[];
  series: {
    step_s: number;
    flows: { rtt_s: Values; rate_bps: Values; twin_rtt_s: Values; twin_rate_bps: Values }[];
  };
  cures: {
    name: string;
    command: string;
    delay_p50_s: Spread;
    delay_p99_s: Spread;
    goodput_bps: Spread;
  }[];
  text: string[];
  twin: string | null;
  error: { offset: number; message: string } | null;
}

/** A worker holds the file twice, and a module has 4 GiB. */
const MOST_BYTES = 1 << 30;
const HEIGHT = 200;
const MOST_FLOWS = 4;
const OBSERVED = "#0072b2";
const TWIN = "#d55e00";
const PLAIN = "#777777";

const ms = (seconds: number) => (1000 * seconds).toFixed(1);
const range = ({ median, low, high }: Spread) => `${ms(median)} (${ms(low)} to ${ms(high)})`;

/** Explains one file after the other. */
export class Explain implements View {
  readonly element: HTMLElement;
  private readonly status = el("p", { role: "status" });
  private readonly found = el("div", { class: "results whole" });
  private latest = 0;

  constructor(
    private readonly pool: Pool,
    private readonly edit: (toml: string, files: Record<string, string>) => void,
  ) {
    const file = el("input", { type: "file", "aria-label": "A capture, qlog, Flent, iperf3 or ss file" });
    file.addEventListener("change", () => file.files?.[0] && void this.take(file.files[0]));
    const about = el(
      "p",
      {},
      "Drop a capture, a qlog file, a Flent data file, JSON of iperf3 or a log of ss -ti. " +
        "Sojourn finds the bottleneck, the cause of the delay and its cure. The file stays in this browser.",
    );
    this.element = el("div", { class: "columns wide" }, el("div", { class: "side" }, about, file, this.status), this.found);
    new ResizeObserver(() => this.draw()).observe(this.found);
  }

  open(): void {
    // The last explanation stays.
  }

  close(): void {
    this.latest += 1;
  }

  /** Explain a file. */
  async take(file: File): Promise<void> {
    if (file.size > MOST_BYTES) {
      this.status.textContent = `${file.name} has more than 1 GiB; use the command.`;
      return;
    }
    this.latest += 1;
    const own = this.latest;
    this.status.textContent = `Reading ${file.name} …`;
    try {
      const reader = await logsModule();
      // The path first: the cures take some seconds.
      for (const cures of [false, true]) {
        const text = await this.pool.explain(file, cures, reader);
        if (own !== this.latest) return;
        this.status.textContent = cures ? "" : "Trying other queues and controllers …";
        this.show(JSON.parse(text) as Explanation);
      }
    } catch (error) {
      if (own === this.latest) this.status.textContent = error instanceof Error ? error.message : String(error);
    }
  }

  private shown: Explanation | undefined;

  private show(found: Explanation): void {
    this.shown = found;
    const { error, twin } = found;
    const fault = error && el("p", { class: "fault" }, `Read up to byte ${error.offset}: ${error.message}`);
    // The rows of the text's table are indented; the page has a table of its own.
    const sentences = found.text.filter((line) => !line.startsWith("  "));
    const lines = sentences.map((line, place) => el("p", place === 0 ? { class: "answer" } : {}, line));
    const open = twin === null ? null : button("Open the twin", () => this.edit(twin, {}));
    fill(this.found, ...lines, fault, open, cures(found), ...panels(found).map(() => el("div", { class: "plot" })));
    this.draw();
  }

  private draw(): void {
    const width = this.found.clientWidth;
    if (!this.shown || width === 0) return;
    const hosts = this.found.querySelectorAll(".plot");
    panels(this.shown).forEach(({ title, layers }, place) => {
      const panel = { title, layers, behind: [], height: HEIGHT, x_scale: { nice: false }, y_scale: { zero: true } };
      const host = hosts[place];
      // The texts in it are escaped.
      if (host) host.innerHTML = drawPanel(panel, { width }).svg;
    });
  }
}

/** The cures beside the twin as it is: those of the path, then those of senders, by their gain. */
function cures(found: Explanation): HTMLElement | null {
  if (found.cures.length === 0) return null;
  const rows = found.cures.map((cure) => {
    const cells = [range(cure.delay_p50_s), range(cure.delay_p99_s), (cure.goodput_bps.median / 1e6).toFixed(2)];
    const name = el("th", { scope: "row", title: cure.command }, cure.name);
    return el("tr", {}, name, ...cells.map((text) => el("td", {}, text)));
  });
  const heads = ["Change", "median delay ms", "p99 delay ms", "goodput Mbit/s"];
  const head = el("thead", {}, el("tr", {}, ...heads.map((text) => el("th", { scope: "col" }, text))));
  const caption = "Changes of the twin, with the range over three seeds";
  const table = el("table", {}, el("caption", {}, caption), head, el("tbody", {}, ...rows));
  return scrolling(caption, {}, table);
}

interface Drawn {
  title: string;
  layers: Layer[];
}

function panels(found: Explanation): Drawn[] {
  const { step_s, flows } = found.series;
  const rates: Layer[] = [capacity(found)];
  for (const [name, key, colour] of [
    ["observed", "rate_bps", OBSERVED],
    ["twin", "twin_rate_bps", TWIN],
  ] as const) {
    const sum = total(flows.map((flow) => flow[key]));
    if (sum.length > 0) rates.push(line(name, sum, step_s, 1e-6, colour));
  }
  const each = flows.slice(0, MOST_FLOWS).map((flow, place): Drawn => {
    const own = found.flows[place];
    const layers = [line("observed", flow.rtt_s, step_s, 1e3, OBSERVED)];
    if (flow.twin_rtt_s.length > 0) layers.push(line("twin", flow.twin_rtt_s, step_s, 1e3, TWIN));
    const base = 1e3 * (own?.base_rtt_s ?? 0);
    layers.push({ name: "base RTT", kind: "line", columns: [[0, found.duration_s], [base, base]], colour: PLAIN });
    return { title: `RTT of ${own?.name ?? MISSING} (ms)`, layers };
  });
  return flows.length === 0 ? [] : [{ title: "Rates on the link, of all flows (Mbit/s)", layers: rates }, ...each];
}

function capacity({ path }: Explanation): Layer {
  const times = path.capacity.flatMap((piece) => [piece.from_s, piece.to_s]);
  const rates = path.capacity.flatMap((piece) => {
    const rate = (piece.rate_bps ?? piece.low_bps) / 1e6;
    return [rate, rate];
  });
  return { name: "capacity", kind: "line", columns: [times, rates], colour: PLAIN };
}

function line(name: string, values: Values, step: number, unit: number, colour: string): Layer {
  const times = values.map((_, place) => (place + 0.5) * step);
  return { name, kind: "line", columns: [times, values.map((value) => value === null ? null : value * unit)], colour };
}

/** The sum of several flows; null in a step without any. */
function total(flows: Values[]): Values {
  const own = flows.filter((values) => values.length > 0);
  return (own[0] ?? []).map((_, place) => {
    const known = own.map((values) => values[place]).filter((value) => typeof value === "number");
    return known.length > 0 ? known.reduce((sum, value) => sum + value, 0) : null;
  });
}
