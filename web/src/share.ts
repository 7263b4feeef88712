// The ways to pass on results: a link, a page in one file, pictures and data.

import { button, el, fill } from "./dom.ts";
import type { Experiment } from "./experiment.ts";
import { csvOf, parquetOfSamples, pngOf, save, svgOf } from "./export.ts";
import { isOneFile, pageWith } from "./assets.ts";
import { recordOf } from "./record-of.ts";

const PARQUET = "application/vnd.apache.parquet";
/** The address leads nowhere on another machine. */
const IS_LOCAL = /^(127\.|localhost$|\[::1\]$|$)/.test(location.hostname);

type Make = (experiment: Experiment) => Blob | Promise<Blob>;

/** A button that opens the ways. */
export class Share {
  readonly element = el("details", { class: "share" });
  /** Puts the whole state of the view into the address. */
  prepare: () => void | Promise<void> = () => {};
  private readonly link = el("input", { type: "text", readonly: true, "aria-label": "Link to these results" });
  private readonly said = el("span", { class: "status", role: "status" });
  private readonly saves: HTMLButtonElement[];

  constructor(private readonly current: () => Experiment | undefined) {
    const file = this.saving("Page in one file", "html", async (one) => {
      return new Blob([await pageWith(recordOf(one))], { type: "text/html" });
    });
    const text = (content: string, type: string) => new Blob([content], { type });
    const others = [
      this.saving("PNG", "png", pngOf),
      this.saving("SVG", "svg", (one) => text(svgOf(one), "image/svg+xml")),
      this.saving("TOML", "toml", (one) => text(one.described?.toml ?? "", "application/toml")),
      this.saving("CSV", "csv", (one) => text(csvOf(one), "text/csv")),
      this.saving("Parquet", "parquet", async (one) => new Blob([await parquetOfSamples(one)], { type: PARQUET })),
      this.saving("JSON", "json", (one) => text(JSON.stringify(one.summaries()), "application/json")),
    ];
    this.saves = [file, ...others];
    const copy = button("Copy link", () => void this.copy(), { class: "main" });
    const links = isOneFile() ? [] : [el("div", { class: "row" }, this.link, copy)];
    const hint = IS_LOCAL ? "Others can open the file; this address is that of your machine." : "";
    const saves = el("div", { class: "row" }, el("span", {}, "Save "), ...this.saves);
    fill(this.element, el("summary", {}, "Share"), el("div", { class: "ways" }, ...links, hint && el("p", {}, hint), saves, this.said));
    this.element.addEventListener("toggle", () => void this.open());
    this.element.addEventListener("keydown", ({ key }) => {
      if (key === "Escape") this.element.open = false;
    });
  }

  /** Offer the results for saving, or wait for newer ones. */
  allow(isAllowed: boolean): void {
    for (const one of this.saves) one.disabled = !isAllowed;
  }

  private async open(): Promise<void> {
    this.said.textContent = "";
    if (!this.element.open) return;
    await this.prepare();
    this.link.value = location.href;
  }

  private async copy(): Promise<void> {
    await this.open();
    this.link.select();
    // Without permission, the link is selected.
    const isCopied = await navigator.clipboard?.writeText(this.link.value).then(() => true, () => false);
    this.said.textContent = isCopied ? "Copied." : "Press Ctrl-C to copy the selected link.";
  }

  private saving(name: string, ending: string, make: Make): HTMLButtonElement {
    return button(name, async () => {
      const experiment = this.current();
      if (!experiment?.described) return;
      try {
        save(await make(experiment), `${fileName(experiment)}.${ending}`);
        this.said.textContent = "";
      } catch (error) {
        this.said.textContent = `It could not be saved: ${error instanceof Error ? error.message : String(error)}`;
      }
    });
  }
}

/** The scenario's title as the name of a file. */
export function fileName(experiment: Experiment): string {
  const plain = (experiment.described?.title ?? "").toLowerCase().normalize("NFKD").replace(/[^a-z0-9]+/g, "-");
  return plain.replace(/^-+|-+$/g, "").slice(0, 60) || "sojourn";
}
