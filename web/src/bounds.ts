// The bounds of spikes and the unavoidable delay, drawn into the panel of the queueing delay.

import type uPlot from "uplot";
import { ink } from "./colours.ts";
import { brief } from "./formatting.ts";
import type { Unavoidable } from "./model.ts";
import type { Bound } from "./panels.ts";

/** Draws the unavoidable delay as an area. */
export function drawUnavoidable(plot: uPlot, unavoidable: Unavoidable | undefined): void {
  const series = unavoidable?.series ?? [];
  if (series.length === 0) return;
  const { ctx } = plot;
  const zero = plot.valToPos(0, "y", true);
  let x = plot.valToPos(0, "x", true);
  ctx.save();
  clip(plot);
  ctx.fillStyle = ink("--unavoidable");
  for (const [end, delay] of series) {
    const next = plot.valToPos(end, "x", true);
    const y = plot.valToPos((delay ?? 0) / 1e-3, "y", true);
    ctx.fillRect(x, y, Math.max(next - x, devicePixelRatio) + 0.5, zero - y);
    x = next;
  }
  ctx.restore();
}

/** Draws the bounds as dashed lines with labels. */
export function drawBounds(plot: uPlot, bounds: readonly Bound[]): void {
  const { ctx } = plot;
  ctx.save();
  clip(plot);
  ctx.strokeStyle = ink("--bound");
  ctx.lineWidth = 1.5 * devicePixelRatio;
  ctx.setLineDash([6 * devicePixelRatio, 5 * devicePixelRatio]);
  const labels = bounds.map(({ from, to, bound }) => {
    const y = plot.valToPos(bound / 1e-3, "y", true);
    const [left, right] = [from, to].map((time) => plot.valToPos(time, "x", true));
    ctx.beginPath();
    ctx.moveTo(left ?? 0, y);
    ctx.lineTo(right ?? 0, y);
    ctx.stroke();
    return { text: `bound ${brief(bound)}`, right: right ?? 0, y };
  });
  writeLabels(plot, labels);
  ctx.restore();
}

/** Writes the labels of bounds: above their lines, or elsewhere if another label is there. */
function writeLabels({ ctx, bbox }: uPlot, labels: { text: string; right: number; y: number }[]): void {
  const unit = devicePixelRatio;
  const height = 14 * unit;
  ctx.setLineDash([]);
  ctx.font = `${11 * unit}px sans-serif`;
  ctx.textAlign = "right";
  ctx.textBaseline = "middle";
  ctx.fillStyle = ink("--ink");
  ctx.strokeStyle = ink("--paper");
  ctx.lineWidth = 4 * unit;
  const taken: { left: number; right: number; y: number }[] = [];
  for (const { text, right: end, y: line } of labels) {
    const width = ctx.measureText(text).width;
    const right = Math.max(bbox.left + width, Math.min(end, bbox.left + bbox.width)) - 4 * unit;
    const left = right - width;
    const isFree = (y: number) =>
      y > bbox.top + height / 2 &&
      y < bbox.top + bbox.height - height / 2 &&
      !taken.some((one) => left < one.right && one.left < right && Math.abs(one.y - y) < height);
    const places = [-0.75, 0.75, -1.8, 1.8, -2.9, 2.9].map((lines) => line + lines * height);
    const y = places.find(isFree) ?? line - height;
    taken.push({ left, right, y });
    // A rim, since lines pass behind the label.
    ctx.strokeText(text, right, y);
    ctx.fillText(text, right, y);
  }
}

function clip(plot: uPlot): void {
  const { left, top, width, height } = plot.bbox;
  plot.ctx.beginPath();
  plot.ctx.rect(left, top, width, height);
  plot.ctx.clip();
}
