// The scale of time above the tracks; dragging over it selects a range.

import type { App } from "./app";
import { prepared } from "./dom";
import { duration, moment, roundStep } from "./format";

export const AXIS = 26;

export function drawAxis(app: App, canvas: HTMLCanvasElement): number {
  const { view, range } = app;
  const style = getComputedStyle(document.documentElement);
  const context = prepared(canvas, view.width, AXIS);
  const step = roundStep(view.nsPerPixel * 110);
  context.clearRect(0, 0, view.width, AXIS);
  context.font = "11px system-ui, sans-serif";
  context.textBaseline = "middle";
  context.fillStyle = style.getPropertyValue("--muted");
  for (let t = Math.ceil(view.from / step) * step; t < view.to; t += step) {
    const x = Math.round(view.x(t));
    context.fillRect(x, AXIS - 6, 1, 6);
    context.fillText(t === 0 ? "0" : moment(t, step), x + 4, AXIS / 2);
  }
  if (range) {
    const x = view.x(range.from);
    const right = view.x(range.to);
    context.fillStyle = style.getPropertyValue("--select");
    context.fillRect(x, AXIS - 5, right - x, 5);
    const text = duration(range.to - range.from);
    const w = context.measureText(text).width + 10;
    const at = Math.max(2, Math.min(view.width - w - 2, (x + right - w) / 2));
    context.fillRect(at, 2, w, AXIS - 8);
    context.fillStyle = style.getPropertyValue("--back");
    context.fillText(text, at + 5, AXIS / 2 - 1);
  }
  return step;
}
