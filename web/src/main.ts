// The page: its views, and the fragment of the address, `#VIEW:STATE`, which chooses one.

import { button, el, fill } from "./dom.ts";
import { Draw } from "./draw.ts";
import { Explore } from "./explore.ts";
import { Learn } from "./learn.ts";
import { Pool } from "./pool.ts";
import { Runs } from "./runs.ts";
import type { View } from "./view.ts";
import { Write } from "./write.ts";

const MOST_WORKERS = 4;

/** Loads the simulator once, for all workers. */
async function pool(): Promise<Pool> {
  const module = await WebAssembly.compileStreaming(fetch("sojourn.wasm"));
  const count = Math.min(MOST_WORKERS, Math.max(1, navigator.hardwareConcurrency || 1));
  return new Pool(module, count);
}

class Page {
  private readonly views: Record<string, View>;
  private readonly tabs: Record<string, HTMLButtonElement> = {};
  private readonly main = el("main", { id: "main", tabindex: -1 });
  private shown: View | undefined;
  private fragment = "";

  constructor(workers: Pool) {
    const keep = (name: string) => (state: string) => this.keep(`${name}:${state}`);
    const write = new Write(workers, keep("write"));
    const edit = (toml: string, files: Record<string, string> = {}) => {
      this.show("write");
      write.edit(toml, files);
    };
    // `sojourn view` marks the page that it serves with run directories.
    const hasRuns = document.documentElement.hasAttribute("data-runs");
    this.views = {
      ...(hasRuns ? { runs: new Runs(workers, edit) } : {}),
      explore: new Explore(workers, keep("explore"), edit),
      draw: new Draw(workers),
      write,
      learn: new Learn(workers, keep("learn"), edit),
    };
    const nav = el("nav", { "aria-label": "Views" });
    for (const name of Object.keys(this.views)) {
      const title = name.charAt(0).toUpperCase() + name.slice(1);
      const tab = button(title, () => this.open(name, ""));
      this.tabs[name] = tab;
      nav.append(tab);
    }
    const licences = el("a", { href: "licences.txt" }, "Licences of the libraries");
    const footer = el("footer", {}, licences);
    fill(document.body, el("header", {}, el("h1", {}, "Sojourn"), nav), this.main, footer);
    addEventListener("hashchange", () => this.follow());
    this.follow();
  }

  /** Opens the view of the address. */
  private follow(): void {
    const fragment = location.hash.slice(1);
    if (fragment === this.fragment && this.shown) return;
    const [name = "", ...state] = fragment.split(":");
    this.open(Object.hasOwn(this.views, name) ? name : (Object.keys(this.views)[0] ?? ""), state.join(":"));
  }

  private open(name: string, state: string): void {
    this.show(name);
    this.keep(state === "" ? name : `${name}:${state}`);
    this.shown?.open(state);
  }

  private show(name: string): void {
    const view = this.views[name];
    if (!view) return;
    this.shown?.close();
    this.shown = view;
    this.keep(name);
    for (const [own, tab] of Object.entries(this.tabs)) {
      if (own === name) tab.setAttribute("aria-current", "page");
      else tab.removeAttribute("aria-current");
    }
    fill(this.main, view.element);
  }

  /** Puts the state of the view into the address. */
  private keep(fragment: string): void {
    this.fragment = fragment;
    history.replaceState(null, "", `#${fragment}`);
  }
}

try {
  new Page(await pool());
} catch (error) {
  const reason = error instanceof Error ? error.message : String(error);
  fill(document.body, el("p", { class: "fault" }, `The simulator could not be loaded: ${reason}`));
}
