// The pointer over a panel: the place on its x axis, a mark there, and a part that is dragged.

import { type Drawn, ink, round } from "./panel.ts";

/** A shorter drag is a click. */
const LEAST_DRAG = 4;

export type Part = readonly [number, number];

/** The value of the x axis at a pixel of the panel. */
export const valueAt = ({ x, left, width }: Drawn, at: number) => x.value(Math.min(1, Math.max(0, (at - left) / width)));

/** Marks a value of the x axis, in place of an earlier mark. */
export function mark(host: Element, { x, left, top, width, height }: Drawn, value: number | undefined): void {
  host.querySelector(".pointer")?.remove();
  const share = value === undefined ? -1 : x.at(value);
  if (share < 0 || share > 1) return;
  const path = `<path class="pointer" d="M${round(left + width * share)} ${top}v${height}"/>`;
  host.firstElementChild?.insertAdjacentHTML("beforeend", path);
}

/** Calls `onPart` with each part of the x axis that a reader drags, and `onTap` with a place. */
export function drags(
  host: HTMLElement,
  drawn: () => Drawn,
  onPart: (part: Part) => void,
  onTap: (value: number) => void = () => {},
): void {
  let begin: number | undefined;
  host.addEventListener("pointerdown", (event) => {
    begin = event.offsetX;
    host.setPointerCapture(event.pointerId);
    event.preventDefault();
  });
  host.addEventListener("pointermove", (event) => {
    if (begin === undefined) return;
    host.querySelector(".brush")?.remove();
    const { top, height } = drawn();
    const [from, to] = [Math.min(begin, event.offsetX), Math.max(begin, event.offsetX)];
    const rect = `<rect class="brush" x="${from}" y="${top}" width="${to - from}" height="${height}" fill="${ink("#888888")}" opacity="0.25"/>`;
    host.firstElementChild?.insertAdjacentHTML("beforeend", rect);
  });
  host.addEventListener("pointerup", (event) => {
    const ends = [begin ?? 0, event.offsetX].sort((a, b) => a - b) as [number, number];
    const isDrag = begin !== undefined && ends[1] - ends[0] >= LEAST_DRAG;
    begin = undefined;
    host.querySelector(".brush")?.remove();
    if (isDrag) onPart([valueAt(drawn(), ends[0]), valueAt(drawn(), ends[1])]);
    else onTap(valueAt(drawn(), ends[1]));
  });
  // A touch that scrolls the page is no drag.
  host.addEventListener("pointercancel", () => {
    begin = undefined;
    host.querySelector(".brush")?.remove();
  });
}
