// The data and the charts of an experiment as files.

import { coloursOf } from "./colours.ts";
import { el } from "./dom.ts";
import type { Experiment, Values } from "./experiment.ts";
import { general } from "./formatting.ts";
import { PANELS, curvesOf, labelsOf, timesOf } from "./panels.ts";

/** Offer a file for download. */
export function save(content: Blob, name: string): void {
  const link = el("a", { href: URL.createObjectURL(content), download: name });
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}

function quoted(text: string): string {
  // A spreadsheet takes a text that begins with one of these signs for a formula.
  const safe = /^[=+\-@]/.test(text) ? `'${text}` : text;
  return /[",\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}

/** One row for each sample of each run's line. */
export function csvOf(experiment: Experiment): string {
  const heads = ["run", "line", "t_s", "goodput_bps", "cwnd_bytes", "rtt_s"];
  const link = ["capacity_bps", "carried_bps", "queue_delay_s"];
  const rows = [[...heads, ...link].join(",")];
  for (const run of experiment.runs) {
    const { capacity, carried, delay } = run.link;
    for (const line of run.lines) {
      const columns: Values[] = [line.time, line.rate, line.window, line.rtt, capacity, carried, delay];
      const name = `${quoted(line.run)},${quoted(line.label)}`;
      line.time.forEach((_, row) => {
        rows.push(`${name},${columns.map((values) => values[row] ?? "").join(",")}`);
      });
    }
  }
  return `${rows.join("\n")}\n`;
}

const [WIDTH, HEIGHT, LEFT, TOP] = [760, 170, 60, 30];

const escaped = (text: string) =>
  text.replace(/[&<>"]/g, (sign) => `&#${sign.charCodeAt(0)};`);

/** The panels as a drawing. */
export function svgOf(experiment: Experiment): string {
  const labels = labelsOf(experiment);
  const colours = coloursOf(labels);
  const times = timesOf(experiment);
  const duration = experiment.described?.duration_s ?? 1;
  let legend = LEFT;
  const keys = labels.map((label, place) => {
    const key = `<text x="${legend}" y="16" fill="${colours[place]}">${escaped(label)}</text>`;
    legend += 8 * label.length + 16;
    return key;
  });
  const panels = PANELS.map((panel, place) => {
    const curves = curvesOf(panel, experiment);
    const largest = curves.reduce((most, { values }) => values.reduce<number>((m, v) => Math.max(m, v ?? 0), most), 0);
    const [scale, unit] = panel.scale(largest);
    const top = TOP + place * (HEIGHT + 50) + 20;
    const x = (time: number) => (LEFT + ((WIDTH - LEFT) * time) / duration).toFixed(1);
    const y = (value: number) => (top + HEIGHT * (1 - value / (largest || 1))).toFixed(1);
    const lines = curves.map(({ label, values }) => {
      const path = pathOf(times, values, x, y);
      return `<path d="${path}" fill="none" stroke="${colours[labels.indexOf(label)]}"/>`;
    });
    return (
      `<text x="${LEFT}" y="${top - 6}">${escaped(panel.title)}, ${unit}</text>` +
      `<text x="4" y="${top + 10}">${general(largest / scale, 4)}</text>` +
      `<text x="4" y="${top + HEIGHT}">0</text>` +
      `<path d="M${LEFT} ${top}V${top + HEIGHT}H${WIDTH}" fill="none" stroke="#888"/>` +
      `<text x="${WIDTH - 40}" y="${top + HEIGHT + 14}">${duration} s</text>${lines.join("")}`
    );
  });
  const height = TOP + PANELS.length * (HEIGHT + 50) + 20;
  const head = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH + 10} ${height}"`;
  const style = 'font-family="sans-serif" font-size="12" stroke-width="1"';
  const title = `<title>${escaped(experiment.described?.title ?? "")}</title>`;
  const text = 'style="background:#fff"';
  return `${head} ${style} ${text}>${title}${keys.join("")}${panels.join("")}</svg>\n`;
}

type Place = (value: number) => string;

/** A path with gaps where values are missing. */
function pathOf(times: number[], values: Values, x: Place, y: Place): string {
  let path = "";
  let isDrawing = false;
  values.forEach((value, row) => {
    if (value !== null) path += `${isDrawing ? "L" : "M"}${x(times[row] ?? 0)} ${y(value)}`;
    isDrawing = value !== null;
  });
  return path;
}
