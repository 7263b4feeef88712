// Shows the picture of a verdict as wide as its place, with its title and caption.

import { el, fill } from "./dom.ts";
import { type BarsView, drawVerdict } from "./figure/verdict.ts";
import type { VerdictPicture } from "./record.ts";

/** No wider, so that figures stay near their names. */
const WIDEST = 1000;

export class VerdictView {
  readonly element = el("div", { class: "verdict-picture", hidden: true });
  private readonly title = el("p", { class: "title" });
  private readonly plot = el("div", { class: "plot" });
  private readonly caption = el("p", { class: "caption" });
  private redraw: () => void = () => {};

  constructor() {
    this.element.append(this.title, this.plot, this.caption);
    new ResizeObserver(() => this.redraw()).observe(this.element);
  }

  /** Show a picture, or nothing. Colours are those of `view`. */
  show(picture: VerdictPicture | null | undefined, view: Omit<BarsView, "width">): void {
    this.element.hidden = !picture;
    if (!picture) return;
    fill(this.title, picture.title);
    fill(this.caption, picture.caption);
    this.redraw = () => {
      const width = Math.min(this.element.clientWidth, WIDEST);
      // The texts in it are escaped.
      if (width > 0) this.plot.innerHTML = drawVerdict(picture, { ...view, width }).svg;
    };
    this.redraw();
  }
}
