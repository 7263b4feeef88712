// The data and the charts of an experiment as files.

import { coloursOf, dashesOf } from "./colours.ts";
import { el } from "./dom.ts";
import type { Experiment, Line, Run, Values } from "./experiment.ts";
import { brief, general } from "./formatting.ts";
import { PANELS, type Panel, boundsOf, curvesOf, labelsOf, timesOf } from "./panels.ts";

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

const NUMBERS = ["t_s", "goodput_bps", "cwnd_bytes", "rtt_s", "capacity_bps", "carried_bps", "queue_delay_s"];

/** The columns of `NUMBERS` for a line of a run. */
function numbersOf({ link }: Run, line: Line): Values[] {
  return [line.time, line.rate, line.window, line.rtt, link.capacity, link.carried, link.delay];
}

/** The rows of `csvOf` as a Parquet file. */
export async function parquetOfSamples(experiment: Experiment): Promise<Uint8Array<ArrayBuffer>> {
  const { parquetOf } = await import("./parquet.ts");
  const all = experiment.runs.flatMap((run) => run.lines.map((line) => ({ run, line })));
  const texts = (of: (line: Line) => string) => all.flatMap(({ line }) => line.time.map(() => of(line)));
  const numbers = NUMBERS.map((name, column) => ({
    name,
    numbers: all.flatMap(({ run, line }) => {
      const values = numbersOf(run, line)[column] ?? [];
      return line.time.map((_, row) => values[row] ?? null);
    }),
  }));
  const names = [
    { name: "run", texts: texts(({ run }) => run) },
    { name: "line", texts: texts(({ label }) => label) },
  ];
  return parquetOf([...names, ...numbers]);
}

/** One row for each sample of each run's line. */
export function csvOf(experiment: Experiment): string {
  const rows = [["run", "line", ...NUMBERS].join(",")];
  for (const run of experiment.runs) {
    for (const line of run.lines) {
      const columns = numbersOf(run, line);
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
  const [colours, dashes] = [coloursOf(labels), dashesOf(labels)];
  let legend = LEFT;
  const keys = labels.map((label, place) => {
    const key = `<text x="${legend}" y="16" fill="${colours[place]}">${escaped(label)}</text>`;
    legend += 8 * label.length + 16;
    return key;
  });
  const strokeOf = (label: string) => {
    const place = labels.indexOf(label);
    const dash = dashes[place]?.length ? ` stroke-dasharray="${dashes[place]?.join(" ")}"` : "";
    return `stroke="${colours[place]}"${dash}`;
  };
  const panels = PANELS.map((panel, place) =>
    panelOf(experiment, panel, TOP + place * (HEIGHT + 50) + 20, strokeOf),
  );
  const height = TOP + PANELS.length * (HEIGHT + 50) + 20;
  const width = Math.max(WIDTH + 10, legend);
  const head = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}"`;
  const style = 'font-family="sans-serif" font-size="12" stroke-width="1"';
  const title = `<title>${escaped(experiment.described?.title ?? "")}</title>`;
  const text = 'style="background:#fff"';
  return `${head} ${style} ${text}>${title}${keys.join("")}${panels.join("")}</svg>\n`;
}

/** A panel with its top at `top`. */
function panelOf(
  experiment: Experiment,
  panel: Panel,
  top: number,
  strokeOf: (label: string) => string,
): string {
  const duration = experiment.described?.duration_s || 1;
  const times = timesOf(experiment);
  const curves = curvesOf(panel, experiment);
  const capacity = panel.key === "rate" ? (experiment.runs[0]?.link.capacity ?? []) : [];
  const bounds = panel.key === "delay" ? boundsOf(experiment) : [];
  const all = [...curves.map(({ values }) => values), capacity, bounds.map(({ bound }) => bound)];
  const largest = all.flat().reduce<number>((most, value) => Math.max(most, value ?? 0), 0);
  const [scale, unit] = panel.scale(largest);
  const x = (time: number) => (LEFT + ((WIDTH - LEFT) * time) / duration).toFixed(1);
  const y = (value: number) => (top + HEIGHT * (1 - Math.min(1, value / (largest || 1)))).toFixed(1);
  const lines = curves.map(({ label, values }) => {
    const path = pathOf(times, values, x, y);
    return `<path d="${path}" fill="none" ${strokeOf(label)}/>`;
  });
  const grey = `<path d="${pathOf(times, capacity, x, y)}" fill="none" stroke="#888" stroke-width="2"/>`;
  const dashed = bounds.map(
    ({ from, to, bound }) =>
      `<path d="M${x(from)} ${y(bound)}H${x(to)}" stroke="#000" stroke-dasharray="6 4"/>` +
      `<text x="${x(to)}" y="${Number(y(bound)) - 4}" text-anchor="end">bound ${brief(bound)}</text>`,
  );
  return (
    `<text x="${LEFT}" y="${top - 6}">${escaped(panel.title)}, ${unit}</text>` +
    `<text x="4" y="${top + 10}">${general(largest / scale, 4)}</text>` +
    `<text x="4" y="${top + HEIGHT}">0</text>` +
    `<path d="M${LEFT} ${top}V${top + HEIGHT}H${WIDTH}" fill="none" stroke="#888"/>` +
    `<text x="${WIDTH - 40}" y="${top + HEIGHT + 14}">${duration} s</text>` +
    (panel.key === "delay" ? unavoidableOf(experiment, x, y) : grey) +
    lines.join("") +
    dashed.join("")
  );
}

/** The area of the unavoidable delay. */
function unavoidableOf(experiment: Experiment, x: Place, y: Place): string {
  const series = experiment.unavoidable?.series ?? [];
  if (series.length === 0) return "";
  const steps = series.map(([end, delay]) => `V${y(delay ?? 0)}H${x(end)}`);
  return `<path d="M${x(0)} ${y(0)}${steps.join("")}V${y(0)}Z" fill="#c9ccd1"/>`;
}

type Place = (value: number) => string;

/** A path with gaps where values are missing. */
function pathOf(times: number[], values: Values, x: Place, y: Place): string {
  let path = "";
  let isDrawing = false;
  values.forEach((value, row) => {
    if (row >= times.length) return;
    if (value !== null) path += `${isDrawing ? "L" : "M"}${x(times[row] ?? 0)} ${y(value)}`;
    isDrawing = value !== null;
  });
  return path;
}
