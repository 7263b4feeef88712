// Live: the bottleneck link of a run that `sojourn live --page` makes, while it goes on.

import { looksOfNames, swatch } from "./colours.ts";
import { el, fill } from "./dom.ts";
import type { Layer } from "./figure/model.ts";
import { drawPanel } from "./figure/panel.ts";
import { MISSING, brief, general, rateText, rateUnit } from "./formatting.ts";
import type { View } from "./view.ts";

type Column = (number | null)[];

/** The last minute of a run, in columns of equal time. */
interface Now {
  name: string;
  duration_s: number;
  flows: string[];
  latest: {
    t_s: number;
    rate_bps: number;
    capacity_bps: number | null;
    queue_delay_s: number | null;
    marks: number;
    drops: number;
    goodput_bps: number[];
  };
  past: {
    start_s: number;
    end_s: number;
    rate_bps: Column;
    capacity_bps: Column;
    queue_delay_s: Column;
    marks: Column;
    drops: Column;
    goodput_bps: Column[];
  };
}

interface Chart {
  title: string;
  unit: string;
  lines: [label: string, values: Column][];
}

const LOOK_MS = 500;
const HEIGHT = 195;
/** Flows with lines of their own. */
const MOST_FLOWS = 12;

const scaled = (values: Column, scale: number): Column =>
  values.map((value) => (value === null ? null : value / scale));

/** The charts of a state. */
function chartsOf({ past, flows }: Now): Chart[] {
  const known = [past.rate_bps, past.capacity_bps].flat().map((value) => value ?? 0);
  const [scale, unit] = rateUnit(Math.max(...known));
  const goodputs = flows.slice(0, MOST_FLOWS).map((name, flow): [string, Column] => [
    `goodput of ${name}`,
    scaled(past.goodput_bps[flow] ?? [], scale),
  ]);
  const rate: [string, Column] = ["rate of the link", scaled(past.rate_bps, scale)];
  const capacity: [string, Column] = ["capacity", scaled(past.capacity_bps, scale)];
  return [
    { title: "Rates", unit, lines: [capacity, rate, ...goodputs] },
    { title: "Queueing delay", unit: "ms", lines: [["queueing delay", scaled(past.queue_delay_s, 1e-3)]] },
    { title: "Signals", unit: "packets", lines: [["marks", past.marks], ["drops", past.drops]] },
  ];
}

/** The view of a live run. */
export class Live implements View {
  readonly element: HTMLElement;
  private readonly heading = el("h2", {});
  private readonly status = el("p", { class: "status", role: "status" });
  private readonly values = el("div", { class: "readout" });
  private readonly charts = el("div", { class: "panels" });
  private hosts: HTMLElement[] = [];
  private signature = "";
  private timer = 0;

  constructor() {
    const parts = [this.heading, this.status, this.values, this.charts];
    this.element = el("section", { class: "results", "aria-label": "Live run" }, ...parts);
  }

  open(): void {
    void this.look();
    this.timer = setInterval(() => void this.look(), LOOK_MS);
  }

  close(): void {
    clearInterval(this.timer);
  }

  private async look(): Promise<void> {
    try {
      const response = await fetch("now.json");
      const now = (await response.json()) as Partial<Now>;
      if (now.past) this.show(now as Now);
    } catch {
      // The server ends with its runs; the charts stay.
      this.close();
      this.status.textContent = "The runs are over. `sojourn view DIR` shows their run directory.";
    }
  }

  private show(now: Now): void {
    const { latest, past } = now;
    this.heading.textContent = now.name;
    this.status.textContent = `${latest.t_s.toFixed(0)} of ${general(now.duration_s, 4)} s`;
    const charts = chartsOf(now);
    const signature = JSON.stringify(charts.map(({ unit, lines }) => [unit, lines.map(([label]) => label)]));
    if (signature !== this.signature) this.build(charts);
    this.signature = signature;
    const count = past.rate_bps.length;
    const times = past.rate_bps.map((_, column) => past.start_s + ((past.end_s - past.start_s) * (column + 1)) / count);
    charts.forEach((chart, place) => draw(this.hosts[place], chart, times));
    this.read(now);
    this.element.dataset["drawnMs"] = "0";
  }

  private build(charts: Chart[]): void {
    this.hosts = charts.map(() => el("div", { class: "plot" }));
    const figures = charts.map((chart, at) => {
      const looks = looksOfNames(chart.lines.map(([label]) => label));
      const keys = [...looks].map(([label, look]) => el("span", { class: "unit" }, swatch(look), ` ${label}`));
      const caption = el("figcaption", {}, chart.title, el("span", { class: "unit" }, chart.unit), ...keys);
      return el("figure", { "aria-label": `${chart.title} over time; the table has the latest values` }, caption, this.hosts[at]);
    });
    fill(this.charts, ...figures);
  }

  /** The values of the last second. */
  private read({ latest, flows }: Now): void {
    const delay = latest.queue_delay_s;
    const rows: [string, string][] = [
      ["rate of the link", rateText(latest.rate_bps)],
      ["capacity", latest.capacity_bps === null ? MISSING : rateText(latest.capacity_bps)],
      ["queueing delay", delay === null ? MISSING : brief(delay)],
      ["marks in all", latest.marks.toLocaleString("en")],
      ["drops in all", latest.drops.toLocaleString("en")],
    ];
    flows.slice(0, MOST_FLOWS).forEach((name, flow) => {
      rows.push([`goodput of ${name}`, rateText(latest.goodput_bps[flow] ?? 0)]);
    });
    const body = rows.map(([name, text]) => el("tr", {}, el("th", { scope: "row" }, name), el("td", {}, text)));
    fill(this.values, el("table", {}, el("caption", {}, "The last second"), el("tbody", {}, ...body)));
  }
}

function draw(host: HTMLElement | undefined, { title, lines }: Chart, times: number[]): void {
  if (!host?.clientWidth) return;
  const looks = looksOfNames(lines.map(([label]) => label));
  const layers = lines.map(([name, values]): Layer => {
    return { name, kind: "line", columns: [times, values], width: 1.25, ...looks.get(name) };
  });
  const panel = { title, layers, behind: [], height: HEIGHT, x_scale: { nice: false }, y_scale: { zero: true } };
  // The texts in it are escaped.
  host.innerHTML = drawPanel(panel, { width: host.clientWidth }).svg;
}
