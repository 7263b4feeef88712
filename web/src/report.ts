// The script of a report: draws its figure, and opens the simulator within it.

import type { Figure } from "./figure/model.ts";
import { FigureView } from "./figure/view.ts";
import { VerdictView } from "./verdict-view.ts";

const part = (id: string) => document.getElementById(id)?.textContent ?? "";

const place = document.getElementById("figure");
if (place) {
  const figure = JSON.parse(part("figure-data")) as Figure;
  if (figure.bars) {
    const verdict = new VerdictView();
    document.getElementById("verdict")?.append(verdict.element);
    verdict.show(figure.bars.picture, figure.bars);
  }
  const view = new FigureView(figure);
  place.replaceChildren(view.element);
  view.draw(place.clientWidth);
}

/** Text that was packed by gzip and written in base64. */
function unpacked(packed: string): Promise<string> {
  const bytes = Uint8Array.from(atob(packed), (sign) => sign.charCodeAt(0));
  return new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"))).text();
}

/** Opens the page with the recorded runs, once a reader asks for it. */
async function openPage(frame: HTMLIFrameElement): Promise<void> {
  const empty = '<script type="text/plain" id="sojourn-record">';
  const page = (await unpacked(part("live-page"))).replace(empty, empty + part("live-record"));
  frame.src = URL.createObjectURL(new Blob([page], { type: "text/html" }));
}

const frame = document.querySelector("iframe");
if (frame) frame.parentElement?.addEventListener("toggle", () => void openPage(frame), { once: true });
