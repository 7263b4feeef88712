// Shows a figure: its rows as wide as their place, its legend, zoom, links and the figures at the pointer.

import { button, el, fill } from "../dom.ts";
import type { Figure, Layer, Panel } from "./model.ts";
import { endsWidth, namedLines } from "./ends.ts";
import { type Drawn, before, drawPanel, escaped, ink, layersOf } from "./panel.ts";
import { type Part, drags, mark, valueAt } from "./pointer.ts";
import { steady } from "./scale.ts";

/** A narrower place has one panel a row. */
const NARROW = 760;
const GAP = 12;
/** Share of the shown time that one key press moves or zooms. */
const STEP = 0.2;
/** Key presses that move the cursor over the shown part. */
const CURSOR_STEPS = 100;
const MOST_FIGURES = 16;

interface Shown {
  panel: Panel;
  host: HTMLElement;
  drawn: Drawn;
  isWhole: boolean;
}

export class FigureView {
  readonly element = el("div", { class: "figure" });
  private readonly rows = el("div", { class: "rows" });
  private readonly tip = el("div", { class: "tip", role: "status", hidden: true });
  private shown: Shown[] = [];
  private width = 0;
  private link: string | undefined;
  private part: Part | undefined;
  /** The time whose figures are shown. */
  private cursor: number | undefined;
  private readonly chosen = new Set<string>();

  constructor(private readonly figure: Figure) {
    this.link = figure.links[0];
    this.part = figure.rows.flat().find(({ zoom }) => zoom)?.zoom;
    fill(this.element, this.controls(), legendOf(figure.keys, (name) => this.choose(name)), this.rows, this.tip);
    // The element's own width follows its content; that of its place does not.
    new ResizeObserver(() => this.draw(this.element.clientWidth)).observe(this.element);
    addEventListener("beforeprint", () => this.draw(PAPER));
    addEventListener("afterprint", () => this.draw(this.element.clientWidth));
  }

  /** Draws every panel for a place of this width. */
  draw(width: number): void {
    if (width === this.width || width === 0) return;
    this.width = width;
    this.redraw();
  }

  private redraw(): void {
    const focused = this.shown.findIndex(({ host }) => host.parentElement === document.activeElement);
    this.shown = [];
    fill(this.rows, ...this.figure.rows.map((row) => this.row(row)));
    this.shown[focused]?.host.parentElement?.focus();
  }

  private row(row: readonly Panel[]): HTMLElement {
    const sides = row.flatMap((panel) => (panel.zoom ? [true, false] : [undefined]).map((isWhole) => ({ panel, isWhole })));
    const isNarrow = this.width < NARROW && this.width !== PAPER;
    const own = sides.map(({ panel, isWhole }) => ((panel.width ?? 640) + 60) * (isWhole === undefined ? 1 : isWhole ? 0.54 : 0.46));
    const whole = own.reduce((sum, one) => sum + one, 0);
    const room = this.width - GAP * (sides.length - 1);
    // Small multiples keep their size where it fits.
    const factor = sides.some(({ isWhole }) => isWhole !== undefined) ? room / whole : Math.min(room / whole, 1.45);
    const each = sides.map(({ panel, isWhole }, place) =>
      this.side(panel, isNarrow ? Math.min(this.width, 720) : (own[place] ?? 0) * factor, isWhole),
    );
    return el("div", { class: isNarrow ? "row narrow" : "row" }, ...each);
  }

  private side(panel: Panel, width: number, isWhole: boolean | undefined): HTMLElement {
    const host = el("div", { class: isWhole ? "plot whole" : "plot" });
    const drawn = drawPanel(panel, {
      width: Math.floor(width),
      part: isWhole === false ? this.part : undefined,
      marked: isWhole ? this.part : undefined,
      link: this.link,
      chosen: this.chosen,
      ends: isWhole === false && this.width !== PAPER,
      room: isWhole === false && this.width !== PAPER ? this.endsRoom() : undefined,
    });
    // The texts in it are escaped.
    host.innerHTML = drawn.svg;
    const shown = { panel, host, drawn, isWhole: isWhole === true };
    this.shown.push(shown);
    host.addEventListener("pointermove", (event) => this.onPoint(shown, event));
    host.addEventListener("pointerleave", () => this.unpoint());
    if (isWhole) drags(host, () => drawn, (part) => this.show(part));
    const titleOf = ({ title }: Panel) => title.replaceAll("{link}", this.link ?? "");
    const title = isWhole === false ? (panel.key ?? "\u00a0") : titleOf(panel);
    const names = panel.legend === false ? null : legendOf(listed(panel.layers));
    const caption = el("figcaption", { class: isWhole === false ? "key" : "" }, title);
    if (isWhole !== false) return el("figure", {}, caption, names, host);
    const label = `${titleOf(panel)}: part of the time; arrow keys read values, page keys move the part, + and - zoom, 0 shows all`;
    const onkeydown = (event: Event) => this.onKey(shown, event as KeyboardEvent);
    return el("figure", { tabindex: 0, "aria-label": label, onkeydown }, caption, names, host);
  }

  /** The room that the names of lines need beside any panel. */
  private endsRoom(): number {
    const panels = this.figure.rows.flat().filter(({ zoom }) => zoom);
    return Math.max(0, ...panels.map((panel) => endsWidth(namedLines(layersOf(panel, this.link)))));
  }

  /** A choice of the link, and buttons for parts of the time. */
  private controls(): HTMLElement {
    const { links, windows } = this.figure;
    const parts = windows.map(([from, to, name]) => button(name, () => this.show([from, to])));
    const select = el("select", {}, ...links.map((link) => el("option", {}, link)));
    select.addEventListener("change", () => {
      this.link = select.value;
      this.redraw();
    });
    return el(
      "div",
      { class: "controls" },
      parts.length > 0 && "Show the change at ",
      ...parts,
      links.length > 1 && el("label", {}, "Link ", select),
    );
  }

  private choose(name: string): void {
    if (!this.chosen.delete(name)) this.chosen.add(name);
    for (const one of this.element.querySelectorAll<HTMLElement>(".legend button")) {
      one.setAttribute("aria-pressed", String(this.chosen.has(one.textContent ?? "")));
    }
    this.redraw();
  }

  private show(part: Part): void {
    const [first, last] = this.ends();
    const span = Math.min(part[1] - part[0], last - first);
    const from = Math.min(Math.max(part[0], first), last - span);
    this.part = [from, from + span];
    this.redraw();
  }

  /** The ends of the time. */
  private ends(): Part {
    const whole = this.shown.find(({ isWhole }) => isWhole)?.drawn.x.ends;
    return whole ?? [0, 1];
  }

  /** The keys of the page's charts. */
  private onKey(shown: Shown, event: KeyboardEvent): void {
    const [from, to] = this.part ?? [0, 1];
    const step = (to - from) * STEP;
    const sign = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    const parts: Record<string, Part> = {
      "+": [from + step, to - step],
      "-": [from - step, to + step],
      "0": this.ends(),
      PageUp: [from - step, to - step],
      PageDown: [from + step, to + step],
    };
    const part = parts[event.key];
    if ((!part && !sign) || event.ctrlKey || event.metaKey) return;
    event.preventDefault();
    if (part) return this.show(part);
    const moved = (this.cursor ?? (from + to) / 2) + ((sign ?? 0) * (to - from)) / CURSOR_STEPS;
    const at = Math.min(Math.max(moved, from), to);
    const { left, top } = shown.host.getBoundingClientRect();
    const place = left + shown.drawn.left + shown.drawn.width * shown.drawn.x.at(at);
    this.point(shown, at, [place, top + shown.drawn.top]);
  }

  private onPoint(shown: Shown, { offsetX, clientX, clientY }: PointerEvent): void {
    const { left, width } = shown.drawn;
    if (offsetX < left || offsetX > left + width) return this.unpoint();
    this.point(shown, valueAt(shown.drawn, offsetX), [clientX, clientY]);
  }

  private unpoint(): void {
    this.cursor = undefined;
    this.tip.hidden = true;
    for (const { host, drawn } of this.shown) mark(host, drawn, undefined);
  }

  /** Marks a time in all panels over time, and shows the figures of one panel beside a place of the window. */
  private point({ panel, host, drawn }: Shown, at: number, [left, top]: readonly [number, number]): void {
    this.unpoint();
    const figures = figuresAt(drawn, at);
    if (figures.length === 0) return;
    this.cursor = at;
    for (const one of this.shown) if (one.host === host || (panel.zoom && one.panel.zoom)) mark(one.host, one.drawn, at);
    const [y, x, unit] = [steady(drawn.y), steady(drawn.x), UNIT.test(panel.y ?? "") ? ` ${panel.y}` : ""];
    const rows = figures.map(({ line, text, value }) => el("tr", {}, el("td", {}, swatch(line)), el("td", {}, text), el("td", {}, y(value) + unit)));
    fill(this.tip, el("b", {}, x(at) + (panel.zoom ? " s" : "")), el("table", {}, el("tbody", {}, ...rows)));
    this.tip.hidden = false;
    const isRight = left + 16 + this.tip.offsetWidth > innerWidth;
    this.tip.style.left = `${Math.max(isRight ? left - 16 - this.tip.offsetWidth : left + 16, 4)}px`;
    this.tip.style.top = `${Math.min(top + 12, innerHeight - this.tip.offsetHeight - 4)}px`;
  }
}

/** The width of A4 between margins of 12 mm, in pixels. */
const PAPER = 700;

/** Names of the y axis that are units. */
const UNIT = /^(%|µ?s|ms|[kMG]?(bit\/s|B))$/;

interface At {
  line: Layer;
  text: string;
  value: number;
}

/** The values of the lines at a place of the x axis, the greatest first. */
function figuresAt({ layers }: Drawn, at: number): At[] {
  const lines = layers.filter(({ kind, columns }) => kind === "line" && rises(columns[0] ?? []));
  const found = lines.flatMap((line): At[] => {
    const { name, part, columns: [xs = [], ys = []] } = line;
    const row = before(xs, at);
    const next = row + 1 < xs.length && Math.abs((xs[row + 1] ?? 0) - at) < Math.abs((xs[row] ?? -Infinity) - at) ? row + 1 : row;
    const value = ys[next];
    const text = name === part ? name : [name, part].filter(Boolean).join(" ");
    return typeof value === "number" ? [{ line, text, value }] : [];
  });
  return found.sort((a, b) => b.value - a.value).slice(0, MOST_FIGURES);
}

const rises = (x: Layer["columns"][number]) => (x[0] ?? 0) < (x[x.length - 1] ?? 0) && (x[0] ?? 0) <= (x[1] ?? 0);

/** The first layer of each name that a legend has. */
function listed(layers: readonly Layer[]): Layer[] {
  const first = new Map<string, Layer>();
  for (const one of layers) {
    if (one.listed !== false && one.name && one.kind !== "text" && !first.has(one.name)) first.set(one.name, one);
  }
  return [...first.values()];
}

function legendOf(keys: readonly Layer[], onChoose?: (name: string) => void): HTMLElement | null {
  if (keys.length < (onChoose ? 1 : 2)) return null;
  const names = keys.map((key) => {
    const content = [swatch(key), key.name] as const;
    if (!onChoose) return el("span", {}, ...content);
    const made = button("", () => onChoose(key.name), { "aria-pressed": false, title: "Show only the chosen names" });
    made.append(...content);
    return made;
  });
  return el("div", { class: "legend" }, ...names);
}

function swatch({ colour, dash = [], width = 1.6 }: Pick<Layer, "colour" | "dash" | "width">): Element {
  const host = el("span", { class: "swatch" });
  const dashes = dash.length ? ` stroke-dasharray="${dash.join(" ")}"` : "";
  host.innerHTML = `<svg width="30" height="8"><path d="M0 4H30" stroke="${escaped(ink(colour))}" stroke-width="${1.8 * width}"${dashes}/></svg>`;
  return host;
}
