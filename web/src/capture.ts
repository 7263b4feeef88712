// The round-trip times of a capture: a chart and a table.

import uPlot from "uplot";
import { axes } from "./axes.ts";
import { coloursOf, dashesOf, swatch } from "./colours.ts";
import { el, fill, scrolling } from "./dom.ts";
import { MISSING, general } from "./formatting.ts";

/** The round-trip times from one end of a flow, as `sojourn rtt --json` has them. */
interface Direction {
  from: string;
  to: string;
  method: string | null;
  samples: number;
  min_s: number | null;
  p50_s: number | null;
  p95_s: number | null;
  p99_s: number | null;
  max_s: number | null;
  packets: number;
  resent_packets: number;
  series?: [number, number, number][];
}

export interface Capture {
  packets: number;
  duration_s: number;
  flow_count: number;
  error: { offset: number; message: string } | null;
  flows: { directions: Direction[] }[];
}

const HEIGHT = 320;
const HEADS = ["samples", "min ms", "p50 ms", "p95 ms", "p99 ms", "max ms", "packets", "re\u2011sent"];

const nameOf = ({ from, to }: Direction) => `${from} → ${to}`;
const ms = (seconds: number | null) => (seconds === null ? MISSING : (1000 * seconds).toFixed(2));

/** Shows one capture after the other. */
export class CaptureView {
  readonly element = el("section", { class: "results", "aria-label": "Capture" });
  private readonly host = el("div", { class: "plot" });
  private plot: uPlot | undefined;

  constructor() {
    new ResizeObserver(() => this.resize()).observe(this.host);
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.plot?.redraw());
  }

  show(capture: Capture): void {
    const directions = capture.flows.flatMap((flow) => flow.directions);
    const { error, packets, flow_count, duration_s } = capture;
    const size = `${packets.toLocaleString("en")} packets, ${flow_count} TCP flows, ${general(duration_s, 4)} s.`;
    const fault = error && el("p", { class: "fault" }, `Read up to byte ${error.offset}: ${error.message}`);
    const title = "Round-trip times";
    const figure = el(
      "figure",
      { "aria-label": `${title} over time; the table has their percentiles` },
      el("figcaption", {}, title, el("span", { class: "unit" }, "ms")),
      this.host,
    );
    const drawn = directions.filter(({ series }) => series && series.length > 0);
    const colours = coloursOf(drawn.map(nameOf));
    const dashes = dashesOf(drawn.map(nameOf));
    const sample = (one: Direction) => {
      const place = drawn.indexOf(one);
      return swatch(colours[place] ?? "transparent", dashes[place]);
    };
    const table = tableOf(directions, sample);
    fill(this.element, el("p", {}, size), fault, drawn.length > 0 && figure, table);
    this.plot?.destroy();
    this.plot = drawn.length > 0 ? new uPlot(options(drawn, colours), dataOf(drawn), this.host) : undefined;
    this.resize();
    this.element.dataset["drawnMs"] = "0";
  }

  private resize(): void {
    const width = this.host.clientWidth;
    if (this.plot && width > 0 && this.plot.width !== width) this.plot.setSize({ width, height: HEIGHT });
  }
}

function dataOf(drawn: Direction[]): uPlot.AlignedData {
  const tables = drawn.map(({ series = [] }): uPlot.AlignedData => {
    // Two samples at the same time would be one: the greater is kept.
    const greatest = new Map<number, number>();
    for (const [time, rtt] of series) greatest.set(time, Math.max(1000 * rtt, greatest.get(time) ?? 0));
    const times = [...greatest.keys()].sort((a, b) => a - b);
    return [times, times.map((time) => greatest.get(time) ?? null)];
  });
  return uPlot.join(tables);
}

function options(drawn: Direction[], colours: string[]): uPlot.Options {
  const line = (one: Direction, place: number): uPlot.Series => ({
    label: nameOf(one),
    stroke: colours[place] ?? "",
    // Samples have no values between them.
    paths: () => null,
    points: { show: true, size: 3.5, fill: colours[place] ?? "" },
  });
  return {
    width: 640,
    height: HEIGHT,
    legend: { show: false },
    cursor: { drag: { x: true, y: false }, points: { show: false } },
    scales: { x: { time: false }, y: { range: (_, __, most) => [0, 1.06 * (most || 1)] } },
    axes: axes(),
    series: [{}, ...drawn.map(line)],
  };
}

function tableOf(directions: Direction[], sample: (one: Direction) => HTMLElement): HTMLElement {
  const rows = directions.map((one) => {
    const times = [one.min_s, one.p50_s, one.p95_s, one.p99_s, one.max_s].map(ms);
    const counts = [one.packets, one.resent_packets].map((count) => count.toLocaleString("en"));
    const cells = [one.samples.toLocaleString("en"), ...times, ...counts];
    const name = el("th", { scope: "row" }, sample(one), ` ${nameOf(one)}`);
    return el("tr", {}, name, ...cells.map((text) => el("td", {}, text)));
  });
  const heads = ["From and to", ...HEADS].map((head) => el("th", { scope: "col" }, head));
  const head = el("thead", {}, el("tr", {}, ...heads));
  const caption = "Round-trip times from the place of the capture";
  const table = el("table", {}, el("caption", {}, caption), head, el("tbody", {}, ...rows));
  return scrolling(caption, {}, table);
}
