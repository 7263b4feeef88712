// Gallery: the front door. The default experiment as a picture, the stories, and every shipped scenario and
// paper as a small one.

import first from "first";
import sections from "gallery";
import { figureOf } from "./chart-data.ts";
import { looksOf } from "./colours.ts";
import { el, fill } from "./dom.ts";
import { Experiment } from "./experiment.ts";
import { drawPanel } from "./figure/panel.ts";
import { PANELS, ownersOf } from "./panels.ts";
import { partOf } from "./shown-part.ts";
import type { View } from "./view.ts";

/** A scenario or a paper of docs/gallery.md. */
export interface Tile {
  name: string;
  picture: string;
  text: string;
  /** The command that runs it. */
  command: string;
  /** Whether the page can open it: it is a scenario. */
  opens: boolean;
}

export interface Section {
  title: string;
  tiles: Tile[];
}

/** Views besides the scenarios: where they lead, their names, and their content. */
const WAYS: [fragment: string, name: string, text: string][] = [
  ["explore", "Explore", "Move a slider, and see the delay follow"],
  ["learn", "Learn", "Short stories, each with its experiment"],
  ["draw", "Draw", "Draw a capacity, or drop a trace"],
  ["write", "Write", "Edit a scenario of your own"],
];

export class Gallery implements View {
  readonly element = el("div", { class: "gallery" });
  private readonly host = el("div", { class: "plot" });
  private width = 0;

  constructor() {
    const ways = WAYS.map(([fragment, name, text]) => {
      return el("a", { class: "way", href: `#${fragment}` }, el("b", {}, name), el("span", {}, text));
    });
    const hero = first && el("a", { class: "hero", href: "#explore" }, el("b", {}, titleOf()), this.host);
    const found = sections.map(({ title, tiles }) => {
      return el("section", {}, el("h2", {}, title), el("div", { class: "tiles" }, ...tiles.map(tileOf)));
    });
    fill(this.element, hero, el("div", { class: "ways" }, ...ways), ...found);
    new ResizeObserver(() => this.draw()).observe(this.host);
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.draw(true));
  }

  open(): void {
    this.draw();
  }

  close(): void {}

  /** Draws the default experiment from the data in the page. */
  private draw(isAnew = false): void {
    const width = this.host.clientWidth;
    const panel = PANELS.find(({ key }) => key === "delay");
    if (!first || !panel || width === 0 || (width === this.width && !isAnew)) return;
    this.width = width;
    const experiment = Experiment.stored(first);
    const looks = new Map(ownersOf(experiment).flatMap((own) => [...looksOf(own)]));
    const figure = figureOf(experiment, panel, (name) => looks.get(name));
    // The texts in it are escaped.
    this.host.innerHTML = drawPanel({ ...figure, height: 190 }, { width, part: partOf("drop", experiment) }).svg;
    performance.mark("drawn");
  }
}

const titleOf = () => "A link falls from 60 to 20 Mbit/s: the queueing delay (ms) of five controllers, and the bound";

function tileOf({ name, picture: file, text, command, opens }: Tile): HTMLElement {
  const picture = el("img", { src: `picture-${file}.svg`, alt: "", loading: "lazy", width: 420, height: 232 });
  const parts = [picture, el("b", {}, name), el("span", {}, text)];
  if (opens) return el("a", { class: "tile", href: `#write:${name}` }, ...parts);
  return el("div", { class: "tile" }, ...parts, el("code", {}, command));
}
