// A view whose code is loaded when it is first needed, so that the first results come sooner.

import { el, fill } from "./dom.ts";
import type { View } from "./view.ts";

/** Stands for a view until its code is there. */
export class Later<V extends View> implements View {
  readonly element = el("div", {});
  private made: Promise<V> | undefined;
  private view: V | undefined;
  /** Raised when the view opens and closes: code that comes later shows nothing. */
  private latest = 0;

  constructor(private readonly make: () => Promise<V>) {}

  get title(): string | undefined {
    return this.view?.title;
  }

  open(fragment: string): void {
    this.use((view) => view.open(fragment));
  }

  close(): void {
    this.latest += 1;
    this.view?.close();
  }

  /** Call the view once it is there, unless it was closed meanwhile. */
  use(call: (view: V) => void): void {
    this.latest += 1;
    const own = this.latest;
    const then = (view: V) => {
      if (own === this.latest) call(view);
    };
    if (this.view) return call(this.view);
    this.load().then(then, (reason: unknown) => this.refuse(String(reason)));
  }

  /** Load the code. A failed download is tried again by the next call. */
  async load(): Promise<V> {
    this.made ??= this.put();
    try {
      return await this.made;
    } catch (error) {
      this.made = undefined;
      throw error;
    }
  }

  /** Put the view into the page, once: an element that is put again loses focus and pointer. */
  private async put(): Promise<V> {
    this.view = await this.make();
    fill(this.element, this.view.element);
    return this.view;
  }

  private refuse(reason: string): void {
    fill(this.element, el("p", { class: "fault" }, `This view could not be loaded: ${reason}`));
  }
}
