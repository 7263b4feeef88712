// A pad on which a capacity over time is drawn, by pointer or keyboard.

import { el } from "./dom.ts";
import type { Panel } from "./figure/model.ts";
import { type Drawn, drawPanel } from "./figure/panel.ts";
import { valueAt } from "./figure/pointer.ts";
import { general } from "./formatting.ts";

const HEIGHT = 130;
const COLOUR = "#3b8ec2";

/** The rates of equal parts of a time, in Mbit/s. */
export class Drawing {
  readonly element = el("div", { class: "plot pad", tabindex: 0, role: "slider", "aria-orientation": "vertical" });
  private selected: number | undefined;
  private last: [number, number] | undefined;
  private drawn: Drawn | undefined;

  constructor(
    readonly rates: number[],
    private readonly most: number,
    private readonly duration: number,
    private readonly onChange: (isDrawing: boolean) => void,
  ) {
    const { element } = this;
    element.setAttribute("aria-label", "Capacity over time: left and right choose a part, up and down change its rate");
    element.setAttribute("aria-valuemin", "0");
    element.setAttribute("aria-valuemax", String(most));
    element.addEventListener("pointerdown", (event) => this.begin(event));
    element.addEventListener("pointermove", (event) => this.move(event));
    for (const end of ["pointerup", "pointercancel"]) element.addEventListener(end, () => this.end());
    element.addEventListener("keydown", (event) => this.onKey(event));
    new ResizeObserver(() => this.draw()).observe(element);
  }

  /** Replace all rates. */
  set(rate: (part: number) => number): void {
    for (let part = 0; part < this.rates.length; part++) this.rates[part] = this.within(rate(part));
    this.selected = undefined;
    this.draw();
  }

  private within(rate: number): number {
    return Math.min(this.most, Math.max(this.most / 1000, rate));
  }

  /** The part and the rate at a pointer. */
  private at(event: PointerEvent): [number, number] {
    const box = this.element.getBoundingClientRect();
    if (!this.drawn) return [0, 0];
    const { y, top, height } = this.drawn;
    const time = valueAt(this.drawn, event.clientX - box.left);
    const part = Math.floor((time / this.duration) * this.rates.length);
    const rate = this.within(y.value(1 - (event.clientY - box.top - top) / height));
    return [Math.min(this.rates.length - 1, Math.max(0, part)), rate];
  }

  private begin(event: PointerEvent): void {
    this.element.setPointerCapture(event.pointerId);
    this.last = this.at(event);
    this.line(this.last, this.last);
    this.onChange(true);
  }

  private move(event: PointerEvent): void {
    if (!this.last) return;
    // A slow page gets several positions in one event.
    const every = event.getCoalescedEvents?.() ?? [];
    for (const one of every.length > 0 ? every : [event]) {
      const here = this.at(one);
      this.line(this.last, here);
      this.last = here;
    }
    this.onChange(true);
  }

  private end(): void {
    if (!this.last) return;
    this.last = undefined;
    this.onChange(false);
  }

  /** Sets the parts between two points, since a pointer moves by more than a part at once. */
  private line([from, first]: [number, number], [to, last]: [number, number]): void {
    const steps = Math.max(Math.abs(to - from), 1);
    for (let step = 0; step <= steps; step++) {
      const share = step / steps;
      this.rates[Math.round(from + (to - from) * share)] = first + (last - first) * share;
    }
    this.selected = to;
    this.draw();
  }

  private onKey(event: KeyboardEvent): void {
    const step = { ArrowUp: 1, ArrowDown: -1 }[event.key] ?? 0;
    const move = { ArrowLeft: -1, ArrowRight: 1 }[event.key] ?? 0;
    if (step === 0 && move === 0) return;
    event.preventDefault();
    this.selected = Math.min(this.rates.length - 1, Math.max(0, (this.selected ?? 0) + move));
    const rate = (this.rates[this.selected] ?? 0) + (step * this.most) / 20;
    if (step !== 0) this.rates[this.selected] = this.within(rate);
    this.draw();
    if (step !== 0) this.onChange(false);
  }

  /** Draws the capacity as steps, with the chosen part marked. */
  private draw(): void {
    const width = this.element.clientWidth;
    if (width === 0) return;
    const time = (part: number) => (this.duration * part) / this.rates.length;
    const times = this.rates.flatMap((_, part) => [time(part), time(part + 1)]);
    const highs = this.rates.flatMap((rate) => [rate, rate]);
    const panel: Panel = {
      title: "Capacity, Mbit/s",
      layers: [{ name: "", kind: "area", columns: [times, highs.map(() => 0), highs], colour: COLOUR, opacity: 0.8 }],
      behind: [],
      height: HEIGHT,
      x_scale: { domain: [0, this.duration] },
      y_scale: { domain: [0, this.most] },
    };
    const part = this.selected;
    const marked = part === undefined ? undefined : ([time(part), time(part + 1)] as const);
    this.drawn = drawPanel(panel, { width, marked });
    this.element.innerHTML = this.drawn.svg;
    this.say(part ?? 0);
  }

  private say(part: number): void {
    const rate = general(this.rates[part] ?? 0, 3);
    const time = general((this.duration * part) / this.rates.length, 4);
    this.element.setAttribute("aria-valuenow", rate);
    this.element.setAttribute("aria-valuetext", `${rate} Mbit/s at ${time} s`);
  }
}
