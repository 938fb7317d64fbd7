// The whole capture in a strip: how busy the tracks are, and what is in sight.

import type { App } from "./app";
import { prepared } from "./dom";
import { familyColour } from "./colours";
import { COLUMNS, levelFor } from "./tile";

export const MINIMAP = 40;
const TRACKS_MOST = 24;

export class Minimap {
  constructor(
    private app: App,
    private canvas: HTMLCanvasElement,
  ) {
    canvas.addEventListener("pointerdown", (event) => this.begin(event));
  }

  private begin(event: PointerEvent): void {
    const { view } = this.app;
    this.canvas.setPointerCapture(event.pointerId);
    const time = (e: PointerEvent) => (e.offsetX / view.width) * view.whole;
    const began = time(event);
    const inside = began >= view.from && began <= view.to && view.to - view.from < view.whole * 0.98;
    const held = began - view.from;
    const length = view.to - view.from;
    const move = (e: PointerEvent) => {
      const now = time(e);
      if (inside) view.set(now - held, now - held + length);
      else if (Math.abs(now - began) > view.whole / 200) view.set(Math.min(began, now), Math.max(began, now));
      this.app.emit("draw");
    };
    const end = (e: PointerEvent) => {
      this.canvas.removeEventListener("pointermove", move);
      if (!inside && Math.abs(time(e) - began) <= view.whole / 200) {
        view.glide(began - length / 2, began + length / 2);
        this.app.emit("draw");
      }
    };
    this.canvas.addEventListener("pointermove", move);
    this.canvas.addEventListener("pointerup", end, { once: true });
    this.canvas.addEventListener("pointercancel", end, { once: true });
  }

  draw(line: string, select: string, veil: string): void {
    const { app } = this;
    const width = app.view.width;
    const context = prepared(this.canvas, width, MINIMAP);
    context.clearRect(0, 0, width, MINIMAP);
    const tracks = app.tracks
      .all()
      .filter((track) => track.thread.records > 0 && track.thread.thread >= 0)
      .sort((a, b) => b.thread.records - a.thread.records)
      .slice(0, TRACKS_MOST)
      .sort((a, b) => a.capture - b.capture || a.thread.thread - b.thread.thread);
    const height = Math.min(14, MINIMAP / Math.max(1, tracks.length));
    tracks.forEach((track, i) => {
      const shift = app.offset[track.capture];
      const duration = app.captures[track.capture].duration;
      const level = app.source.level(levelFor(duration / COLUMNS) + 1);
      const tile = app.store.get(track.capture, track.thread.thread, level, 0);
      if (!tile || tile.rows.length < 2) return;
      context.fillStyle = familyColour(track.capture ? "library" : "own", app.dark);
      for (let k = tile.rows[0]; k < tile.rows[1]; k++) {
        const start = tile.from + tile.start[k] * tile.unit + shift;
        const span = tile.span[k] * tile.unit;
        const share = Math.min(1, (tile.busy[k] * tile.unit) / Math.max(1, span));
        const x = (start / app.view.whole) * width;
        const w = Math.max(0.5, (span / app.view.whole) * width);
        context.globalAlpha = 0.25 + 0.75 * share;
        context.fillRect(x, i * height, w, Math.max(1, height - 1));
      }
    });
    context.globalAlpha = 1;
    const from = (app.view.from / app.view.whole) * width;
    const to = (app.view.to / app.view.whole) * width;
    context.fillStyle = veil;
    context.fillRect(0, 0, from, MINIMAP);
    context.fillRect(to, 0, width - to, MINIMAP);
    context.strokeStyle = select;
    context.lineWidth = 1.5;
    context.strokeRect(Math.max(0.75, from), 0.75, Math.min(width - 1.5, Math.max(2, to - from)), MINIMAP - 1.5);
    context.fillStyle = line;
    context.fillRect(0, MINIMAP - 1, width, 1);
  }
}
