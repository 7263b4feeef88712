// The page: its views, and the fragment of the address, `#VIEW:STATE`, which chooses one; `;t=` after it is
// the shown part of the time. `?embed` before it leaves out all but the results, for lecture notes.

import { isOneFile, licences, ownRecord, simulatorModule, workerAddress } from "./assets.ts";
import { button, el, fill } from "./dom.ts";
import { Explore } from "./explore.ts";
import type { Ways } from "./files.ts";
import { Gallery } from "./gallery.ts";
import { Later } from "./later.ts";
import type { RecordedRuns } from "./model.ts";
import { Pool } from "./pool.ts";
import { shownPart } from "./shown-part.ts";
import type { Keep, View } from "./view.ts";

const MOST_WORKERS = 5;
/** After this time the views load their code, so that they open without a server. */
const AHEAD_MS = 2000;

type Edit = Ways["write"];
/** A view that shows files. */
type Taker = View & { take: (file: File) => Promise<void> };

/** The marks that `sojourn view` and `sojourn live` set. */
const isMarked = (name: "runs" | "live") => document.documentElement.hasAttribute(`data-${name}`);
const isEmbedded = new URLSearchParams(location.search).has("embed");

class Page {
  private readonly views: Record<string, View>;
  private readonly tabs: Record<string, HTMLButtonElement> = {};
  private readonly main = el("main", { id: "main", tabindex: -1 });
  private name = "";
  /** The fragment, without and with the shown part of the time. */
  private state = "";
  private fragment = "";

  constructor(workers: Pool, record: RecordedRuns | undefined) {
    this.views = viewsOf(workers, record, (name) => this.keeper(name), {
      write: (toml, files) => this.hand("write", (view: View & { edit: Edit }) => view.edit(toml, files)),
      draw: (trace) => this.hand("draw", (view: View & { use: Ways["draw"] }) => view.use(trace)),
      explain: (file) => this.hand("explain", (view: Taker) => void view.take(file)),
    });
    setTimeout(() => this.loadAhead(), AHEAD_MS);
    fill(document.body, ...document.querySelectorAll("body > script"), ...this.frame());
    addEventListener("hashchange", () => this.follow());
    shownPart.onChange = () => this.keep(this.state);
    if (!isEmbedded) receiveDrops((file) => this.take(file));
    this.follow();
  }

  /** The parts of the page around the view. */
  private frame(): HTMLElement[] {
    if (isEmbedded) {
      const open = el("a", { target: "_blank" }, "Open in Sojourn");
      open.addEventListener("pointerenter", () => (open.href = location.pathname + location.hash));
      open.href = location.pathname + location.hash;
      return [this.main, el("footer", {}, open)];
    }
    const nav = el("nav", { "aria-label": "Views" });
    for (const name of Object.keys(this.views)) {
      const tab = button(capital(name), () => {
        shownPart.forget();
        this.open(name, "");
      });
      this.tabs[name] = tab;
      nav.append(tab);
    }
    return [el("header", {}, el("h1", {}, "Sojourn"), nav), this.main, el("footer", {}, licences())];
  }

  /** Puts the state of a view into the address, while the view is shown. */
  private keeper(name: string): Keep {
    return (state, isNew = false) => {
      if (name === this.name) this.keep(state === "" ? name : `${name}:${state}`, isNew);
    };
  }

  /** Shows a view, and hands it something. */
  private hand<V extends View>(name: string, call: (view: V) => void): void {
    this.show(name, name);
    (this.views[name] as Later<V>).use(call);
  }

  /** Shows a file that was dropped on any view. */
  private take(file: File): void {
    shownPart.forget();
    this.hand("files", (view: Taker) => void view.take(file));
  }

  /** Opens the view of the address. */
  private follow(): void {
    const fragment = location.hash.slice(1);
    if (fragment === this.fragment && this.name) return;
    const [name = "", ...state] = shownPart.read(fragment).split(":");
    const isKnown = Object.hasOwn(this.views, name);
    // The entry of the history is there already.
    this.open(isKnown ? name : (Object.keys(this.views)[0] ?? ""), state.join(":"), false);
  }

  private open(name: string, state: string, isNew = true): void {
    this.show(name, state === "" ? name : `${name}:${state}`, isNew);
    this.views[name]?.open(state);
    this.entitle();
  }

  private show(name: string, fragment: string, isNew = true): void {
    const view = this.views[name];
    if (!view) return;
    this.views[this.name]?.close();
    this.name = name;
    this.keep(fragment, isNew);
    for (const [own, tab] of Object.entries(this.tabs)) {
      if (own === name) tab.setAttribute("aria-current", "page");
      else tab.removeAttribute("aria-current");
    }
    this.main.dataset["view"] = name;
    fill(this.main, view.element);
  }

  /** Loads the code of the views that were not opened yet. */
  private loadAhead(): void {
    for (const view of Object.values(this.views)) {
      // A view reports a failed download when it is opened.
      if (view instanceof Later) view.load().catch(() => undefined);
    }
  }

  private keep(fragment: string, isNew = false): void {
    this.state = fragment;
    this.fragment = fragment + shownPart.suffix;
    const isOther = `#${this.fragment}` !== location.hash;
    if (isNew && isOther) history.pushState(null, "", `#${this.fragment}`);
    else if (isOther) history.replaceState(null, "", `#${this.fragment}`);
    this.entitle();
  }

  private entitle(): void {
    const own = this.views[this.name]?.title;
    document.title = [...(own ? [own] : []), capital(this.name), "Sojourn"].join(" · ");
  }
}

const capital = (name: string) => name.charAt(0).toUpperCase() + name.slice(1);

/** The views of the page, the first of which it opens. Some are not part of the first load. */
function viewsOf(
  workers: Pool,
  record: RecordedRuns | undefined,
  keeper: (name: string) => Keep,
  ways: Ways,
): Record<string, View> {
  const edit: Edit = ways.write;
  const live = new Later(async () => new (await import("./live.ts")).Live());
  const runs = new Later(async () => new (await import("./runs.ts")).Runs(workers, record, edit));
  return {
    ...(isMarked("live") ? { live } : {}),
    ...(isMarked("runs") || record !== undefined ? { runs } : {}),
    // Its pictures are files.
    ...(isOneFile() ? {} : { gallery: new Gallery() }),
    explore: new Explore(workers, keeper("explore"), edit),
    learn: new Later(async () => new (await import("./learn.ts")).Learn(workers, keeper("learn"), edit)),
    draw: new Later(async () => new (await import("./draw.ts")).Draw(workers, keeper("draw"), edit)),
    explain: new Later(async () => new (await import("./explanation.ts")).Explain(workers, edit)),
    write: new Later(async () => new (await import("./write.ts")).Write(workers, keeper("write"))),
    files: new Later(async () => new (await import("./files.ts")).Files(workers, keeper("files"), ways)),
  };
}

/** Lets a reader drop a file anywhere. */
function receiveDrops(onFile: (file: File) => void): void {
  addEventListener("dragover", (event) => {
    if (event.dataTransfer?.types.includes("Files")) event.preventDefault();
  });
  addEventListener("drop", (event) => {
    const file = event.dataTransfer?.files[0];
    if (!file) return;
    event.preventDefault();
    onFile(file);
  });
}

/** Lets the browser keep the page, so that it opens without its server. Served runs change. */
function keepOffline(): void {
  if (isOneFile() || isMarked("runs") || isMarked("live") || !("serviceWorker" in navigator)) return;
  // Without it the page works, while its server does.
  navigator.serviceWorker.register("offline.js").catch(() => undefined);
}

function refuse(error: unknown): void {
  const reason = error instanceof Error ? error.message : String(error);
  fill(document.body, el("p", { class: "fault" }, `The simulator could not be loaded: ${reason}`));
}

try {
  if (isEmbedded) document.documentElement.dataset["embed"] = "";
  const module = simulatorModule();
  module.catch(refuse);
  const count = Math.min(MOST_WORKERS, Math.max(1, navigator.hardwareConcurrency || 1));
  const workers = new Pool(module, workerAddress(), count);
  new Page(workers, await ownRecord());
  performance.mark("ready");
  addEventListener("load", keepOffline);
  if (document.readyState === "complete") keepOffline();
} catch (error) {
  refuse(error);
}
