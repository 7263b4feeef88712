// A field in which a capacity over time is drawn, by pointer or keyboard.

import { ink } from "./colours.ts";
import { el } from "./dom.ts";
import { general } from "./formatting.ts";

const [WIDTH, HEIGHT] = [900, 260];

/** The rates of equal parts of a time, in Mbit/s. */
export class Drawing {
  readonly element: HTMLElement;
  private readonly canvas = el("canvas", { width: WIDTH, height: HEIGHT, tabindex: 0, role: "slider" });
  private selected = 0;
  private last: [number, number] | undefined;

  constructor(
    readonly rates: number[],
    private readonly most: number,
    private readonly duration: number,
    private readonly onChange: (isDrawing: boolean) => void,
  ) {
    this.element = el("div", { class: "drawing" }, this.canvas);
    this.canvas.setAttribute(
      "aria-label",
      "Capacity over time: left and right choose a part, up and down change its rate",
    );
    this.canvas.addEventListener("pointerdown", (event) => this.begin(event));
    this.canvas.addEventListener("pointermove", (event) => this.move(event));
    this.canvas.addEventListener("pointerup", () => this.end());
    this.canvas.addEventListener("keydown", (event) => this.onKey(event));
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.draw());
    new ResizeObserver(() => this.draw()).observe(this.canvas);
  }

  /** Replace all rates. */
  set(rate: (part: number) => number): void {
    for (let part = 0; part < this.rates.length; part++) this.rates[part] = this.within(rate(part));
    this.draw();
  }

  private within(rate: number): number {
    return Math.min(this.most, Math.max(this.most / 1000, rate));
  }

  /** The part and the rate at a pointer. */
  private at(event: PointerEvent): [number, number] {
    const box = this.canvas.getBoundingClientRect();
    const x = ((event.clientX - box.left) / box.width) * WIDTH;
    const y = ((event.clientY - box.top) / box.height) * HEIGHT;
    const part = Math.floor((x / WIDTH) * this.rates.length);
    const rate = this.within(this.most * (1 - y / HEIGHT));
    return [Math.min(this.rates.length - 1, Math.max(0, part)), rate];
  }

  private begin(event: PointerEvent): void {
    this.canvas.setPointerCapture(event.pointerId);
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
    this.selected = Math.min(this.rates.length - 1, Math.max(0, this.selected + move));
    const rate = (this.rates[this.selected] ?? 0) + (step * this.most) / 20;
    if (step !== 0) this.rates[this.selected] = this.within(rate);
    this.draw();
    if (step !== 0) this.onChange(false);
  }

  /** Writes the ends of both axes. */
  private label(context: CanvasRenderingContext2D): void {
    // The canvas is scaled to its place, and its text is not.
    const unit = WIDTH / (this.canvas.clientWidth || WIDTH);
    context.font = `${13 * unit}px sans-serif`;
    context.fillStyle = ink("--ink");
    context.strokeStyle = ink("--panel");
    context.lineWidth = 4 * unit;
    const write = (text: string, x: number, y: number) => {
      context.strokeText(text, x, y);
      context.fillText(text, x, y);
    };
    write(`${this.most} Mbit/s`, 6, 16 * unit);
    write("0 s", 6, HEIGHT - 6 * unit);
    write(`${this.duration} s`, WIDTH - 40 * unit, HEIGHT - 6 * unit);
  }

  private draw(): void {
    const context = this.canvas.getContext("2d");
    if (!context) return;
    context.fillStyle = ink("--panel");
    context.fillRect(0, 0, WIDTH, HEIGHT);
    const width = WIDTH / this.rates.length;
    this.rates.forEach((rate, part) => {
      const height = (HEIGHT * rate) / this.most;
      context.fillStyle = ink(part === this.selected ? "--ink" : "--accent");
      context.fillRect(part * width, HEIGHT - height, Math.ceil(width), height);
    });
    this.label(context);
    const rate = this.rates[this.selected] ?? 0;
    const time = (this.duration * this.selected) / this.rates.length;
    const text = `${general(rate, 3)} Mbit/s at ${general(time, 4)} s`;
    this.canvas.setAttribute("aria-valuenow", general(rate, 3));
    this.canvas.setAttribute("aria-valuetext", text);
  }
}
