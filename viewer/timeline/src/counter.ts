// A counter over time, as steps.

import type { App } from "./app";
import type { Track } from "./tracks";

/** The index of the last point at or before TIME; -1 if there is none. */
export function lastBefore(times: Float64Array, time: number): number {
  let low = 0;
  let high = times.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (times[middle] <= time) low = middle + 1;
    else high = middle;
  }
  return low - 1;
}

export function shortNumber(value: number): string {
  const size = Math.abs(value);
  for (const [unit, word] of [
    [1e12, " T"],
    [1e9, " G"],
    [1e6, " M"],
    [1e4, " k"],
  ] as [number, string][]) {
    if (size >= unit) return `${(value / (unit === 1e4 ? 1e3 : unit)).toPrecision(4)}${word}`;
  }
  return Number.isInteger(value) ? String(value) : value.toPrecision(4);
}

export function drawCounter(
  context: CanvasRenderingContext2D,
  app: App,
  track: Track,
  top: number,
  width: number,
  fill: string,
  line: string,
  text: string,
): void {
  const series = track.series;
  if (!series?.times.length) return;
  const shift = app.offset[track.capture];
  const { times, values } = series;
  const height = track.height - 6;
  const scale = height / (series.most - series.least || 1);
  const y = (value: number) => top + height - (value - series.least) * scale;
  let i = Math.max(0, lastBefore(times, app.view.from - shift));
  const path = new Path2D();
  const first = Math.max(0, app.view.x(times[i] + shift));
  path.moveTo(first, y(Math.max(series.least, 0)));
  let x = first;
  while (i < times.length) {
    x = Math.max(0, app.view.x(times[i] + shift));
    if (x > width) break;
    // Of the points of a pixel, the greatest and the last.
    let most = values[i];
    let last = values[i];
    while (i + 1 < times.length && app.view.x(times[i + 1] + shift) < x + 1) {
      last = values[++i];
      if (last > most) most = last;
    }
    path.lineTo(x, y(most));
    path.lineTo(x, y(last));
    const next = i + 1 < times.length ? app.view.x(times[i + 1] + shift) : app.view.x(app.captures[track.capture].duration + shift);
    x = Math.min(width, next);
    path.lineTo(x, y(last));
    i++;
  }
  const outline = new Path2D(path);
  path.lineTo(x, y(Math.max(series.least, 0)));
  path.closePath();
  context.globalAlpha = 0.35;
  context.fillStyle = fill;
  context.fill(path);
  context.globalAlpha = 1;
  context.strokeStyle = line;
  context.lineWidth = 1;
  context.stroke(outline);
  context.fillStyle = text;
  context.fillText(shortNumber(series.most), 4, top + 7);
}
