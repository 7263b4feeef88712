// The data and the charts of an experiment as files.

import { barsOf, figureOf } from "./chart-data.ts";
import { type Look, looksOf } from "./colours.ts";
import { el } from "./dom.ts";
import type { Experiment, Line, Run, Values } from "./experiment.ts";
import { drawVerdict } from "./figure/verdict.ts";
import { drawPanel, escaped } from "./figure/panel.ts";
import { PANELS, ownersOf } from "./panels.ts";
import { partOf, shownPart } from "./shown-part.ts";

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

const [WIDTH, TITLE, LINE] = [760, 20, 16];
/** Pixels of a letter. */
const LETTER = 6.5;
const STYLE = "text{font:11px sans-serif;fill:#444}.title{font:bold 14px sans-serif;fill:#111}.grid{stroke:#eee}.frame{fill:none;stroke:#bbb}.rim{paint-order:stroke;stroke:#fff;stroke-width:3px}";
/** A longer address would not fit the picture. */
const MOST_ADDRESS = 110;

/** The panels of the shown time as a drawing, with title, legend and source. */
export function svgOf(experiment: Experiment): string {
  const looks = new Map(ownersOf(experiment).flatMap((own) => [...looksOf(own, true)]));
  const legend = legendOf(looks);
  let top = 24 + legend.height;
  const bars = barsAt(experiment, top);
  top += bars.height;
  const shown = partOf(shownPart.choice ?? "drop", experiment);
  const panels = PANELS.map((panel) => {
    const figure = figureOf(experiment, panel, (label) => looks.get(label), true);
    const drawn = drawPanel({ ...figure, x: "time (s)" }, { width: WIDTH, part: shown, ends: true });
    top += TITLE;
    const title = `<text x="10" y="${top - 6}">${escaped(figure.title)}</text>`;
    const inner = drawn.svg.replace("<svg", `<svg y="${top}"`);
    top += drawn.whole;
    return title + inner;
  });
  const height = top + TITLE;
  const named = escaped(experiment.described?.title ?? "");
  const head = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${height}" width="${WIDTH}" height="${height}" style="background:#fff">`;
  const title = `<title>${named}</title><style>${STYLE}</style><text class="title" x="10" y="18">${named}</text>`;
  const source = `<text x="10" y="${height - 6}">${escaped(sourceOf())}</text>`;
  const parts = [head, title, legend.svg, bars.svg, ...panels, source, "</svg>\n"].join("");
  // Colours as they are: the properties of the page are not those of a file.
  return parts.replace(/var\(--\w+, (#\w+)\)/g, "$1");
}

/** The verdict's picture below a height, if the runs have one. */
function barsAt(experiment: Experiment, top: number): { svg: string; height: number } {
  const { picture } = experiment;
  if (!picture) return { svg: "", height: 0 };
  const drawn = drawVerdict(picture, { ...barsOf(experiment, true), width: WIDTH - 20 });
  const title = `<text x="10" y="${top + TITLE - 4}">${escaped(picture.title)}</text>`;
  return { svg: title + drawn.svg.replace("<svg", `<svg x="10" y="${top + TITLE}"`), height: TITLE + drawn.height };
}

/** The names of the lines in rows, each after a sample of its line. */
function legendOf(looks: ReadonlyMap<string, Look>): { svg: string; height: number } {
  let [left, top] = [10, 40];
  const keys = [...looks].map(([label, { colour, dash, weight }]) => {
    const width = 30 + LETTER * label.length + 14;
    if (left + width > WIDTH) [left, top] = [10, top + LINE];
    const at = left;
    left += width;
    const line = `<path d="M${at} ${top - 4}h24" stroke="${colour}" stroke-width="${1.6 * weight}" stroke-dasharray="${dash.join(" ")}"/>`;
    return `${line}<text x="${at + 30}" y="${top}">${escaped(label)}</text>`;
  });
  return { svg: keys.join(""), height: top - 24 };
}

/** The program and, if others can open it, the address. That of `sojourn view` has a secret. */
function sourceOf(): string {
  const program = `Sojourn ${SOJOURN_VERSION}`;
  const isPublic = location.protocol === "https:" && location.href.length <= MOST_ADDRESS;
  const address = isPublic ? location.href : location.hash.length <= MOST_ADDRESS ? location.hash : "";
  return address ? `${program} · ${address}` : program;
}

/** The same as a picture, with two pixels for each of the drawing's. */
export async function pngOf(experiment: Experiment): Promise<Blob> {
  const image = new Image();
  const address = URL.createObjectURL(new Blob([svgOf(experiment)], { type: "image/svg+xml" }));
  image.src = address;
  await image.decode();
  const canvas = el("canvas", { width: 2 * image.width, height: 2 * image.height });
  canvas.getContext("2d")?.drawImage(image, 0, 0, canvas.width, canvas.height);
  URL.revokeObjectURL(address);
  return new Promise((resolve, reject) => {
    canvas.toBlob((blob) => (blob ? resolve(blob) : reject(new Error("no picture"))), "image/png");
  });
}
