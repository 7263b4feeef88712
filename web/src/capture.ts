// The round-trip times of a capture: a chart and a table.

import { looksOfNames, swatch } from "./colours.ts";
import { el, fill, scrolling } from "./dom.ts";
import type { Layer } from "./figure/model.ts";
import { drawPanel } from "./figure/panel.ts";
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

const HEIGHT = 290;
const HEADS = ["samples", "min ms", "p50 ms", "p95 ms", "p99 ms", "max ms", "packets", "re\u2011sent"];

const nameOf = ({ from, to }: Direction) => `${from} → ${to}`;
const ms = (seconds: number | null) => (seconds === null ? MISSING : (1000 * seconds).toFixed(2));

/** Shows one capture after the other. */
export class CaptureView {
  readonly element = el("section", { class: "results", "aria-label": "Capture" });
  private readonly host = el("div", { class: "plot" });
  private drawn: Direction[] = [];

  constructor() {
    new ResizeObserver(() => this.draw()).observe(this.host);
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.draw());
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
    const looks = looksOfNames(drawn.map(nameOf));
    const sample = (one: Direction) => {
      const look = looks.get(nameOf(one));
      return look ? swatch(look) : null;
    };
    const table = tableOf(directions, sample);
    fill(this.element, el("p", {}, size), fault, drawn.length > 0 && figure, table);
    this.drawn = drawn;
    this.draw();
    this.element.dataset["drawnMs"] = "0";
  }

  private draw(): void {
    const width = this.host.clientWidth;
    if (width === 0) return;
    const looks = looksOfNames(this.drawn.map(nameOf));
    const layers = this.drawn.map((one): Layer => {
      const series = one.series ?? [];
      const columns = [series.map(([time]) => time), series.map(([, rtt]) => 1000 * rtt)];
      return { name: nameOf(one), kind: "dots", columns, size: 12, ...looks.get(nameOf(one)) };
    });
    const panel = { title: "Round-trip times", layers, behind: [], height: HEIGHT, x_scale: { nice: false }, y_scale: { zero: true } };
    // The texts in it are escaped.
    this.host.innerHTML = drawPanel(panel, { width }).svg;
  }
}

function tableOf(directions: Direction[], sample: (one: Direction) => HTMLElement | null): HTMLElement {
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
