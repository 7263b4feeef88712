// The page: its views, and the fragment of the address, `#VIEW:STATE`, which chooses one; `;t=FROM-TO`
// after it is the shown part of the time.

import { licences, ownRecord, simulatorModule, workerAddress } from "./assets.ts";
import { button, el, fill } from "./dom.ts";
import { Explore } from "./explore.ts";
import { Later } from "./later.ts";
import type { RecordedRuns } from "./model.ts";
import { Pool } from "./pool.ts";
import type { View } from "./view.ts";
import { zoom } from "./zoom.ts";

const MOST_WORKERS = 4;
/** After this time the views load their code, so that they open without a server. */
const AHEAD_MS = 2000;

type Edit = (toml: string, files?: Record<string, string>) => void;

class Page {
  private readonly views: Record<string, View>;
  private readonly tabs: Record<string, HTMLButtonElement> = {};
  private readonly main = el("main", { id: "main", tabindex: -1 });
  private shown: View | undefined;
  /** The fragment, without and with the shown part of the time. */
  private state = "";
  private fragment = "";

  constructor(workers: Pool, record: RecordedRuns | undefined) {
    const keep = (name: string) => (state: string) => this.keep(`${name}:${state}`);
    const write = new Later(async () => {
      const { Write } = await import("./write.ts");
      return new Write(workers, keep("write"));
    });
    const edit: Edit = (toml, files = {}) => {
      this.show("write");
      write.use((view) => view.edit(toml, files));
    };
    const others = laterViews(workers, record, keep("learn"), edit);
    // `sojourn view` marks the page that it serves with run directories.
    const hasRuns = document.documentElement.hasAttribute("data-runs") || record !== undefined;
    const isLive = document.documentElement.hasAttribute("data-live");
    this.views = {
      ...(isLive ? { live: others.live } : {}),
      ...(hasRuns ? { runs: others.runs } : {}),
      explore: new Explore(workers, keep("explore"), edit),
      draw: others.draw,
      explain: others.explain,
      write,
      learn: others.learn,
    };
    setTimeout(() => this.loadAhead(), AHEAD_MS);
    const nav = el("nav", { "aria-label": "Views" });
    for (const name of Object.keys(this.views)) {
      const title = name.charAt(0).toUpperCase() + name.slice(1);
      const tab = button(title, () => {
        zoom.forget();
        this.open(name, "");
      });
      this.tabs[name] = tab;
      nav.append(tab);
    }
    const footer = el("footer", {}, licences());
    const parts = [...document.querySelectorAll("body > script")];
    fill(document.body, ...parts, el("header", {}, el("h1", {}, "Sojourn"), nav), this.main, footer);
    addEventListener("hashchange", () => this.follow());
    zoom.onChange = () => this.keep(this.state);
    this.follow();
  }

  /** Opens the view of the address. */
  private follow(): void {
    const fragment = location.hash.slice(1);
    if (fragment === this.fragment && this.shown) return;
    const [name = "", ...state] = zoom.read(fragment).split(":");
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

  /** Loads the code of the views that were not opened yet. */
  private loadAhead(): void {
    for (const view of Object.values(this.views)) {
      // A view reports a failed download when it is opened.
      if (view instanceof Later) view.load().catch(() => undefined);
    }
  }

  /** Puts the state of the view into the address. */
  private keep(fragment: string): void {
    this.state = fragment;
    this.fragment = fragment + zoom.suffix;
    history.replaceState(null, "", `#${this.fragment}`);
  }
}

/** The views that are not part of the first load. */
function laterViews(
  workers: Pool,
  record: RecordedRuns | undefined,
  keepStory: (state: string) => void,
  edit: Edit,
) {
  return {
    live: new Later(async () => new (await import("./live.ts")).Live()),
    runs: new Later(async () => new (await import("./runs.ts")).Runs(workers, record, edit)),
    draw: new Later(async () => new (await import("./draw.ts")).Draw(workers)),
    explain: new Later(async () => new (await import("./explanation.ts")).Explain(workers, edit)),
    learn: new Later(async () => new (await import("./learn.ts")).Learn(workers, keepStory, edit)),
  };
}

function refuse(error: unknown): void {
  const reason = error instanceof Error ? error.message : String(error);
  fill(document.body, el("p", { class: "fault" }, `The simulator could not be loaded: ${reason}`));
}

try {
  const module = simulatorModule();
  module.catch(refuse);
  const count = Math.min(MOST_WORKERS, Math.max(1, navigator.hardwareConcurrency || 1));
  const workers = new Pool(module, workerAddress(), count);
  new Page(workers, await ownRecord());
  performance.mark("ready");
} catch (error) {
  refuse(error);
}
