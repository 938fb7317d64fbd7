// The whole capture in a strip: how busy the tracks are, and what is in sight.

import type { App } from "./app";
import { pixelRatio, prepared } from "./dom";
import { familyColour } from "./colours";
import { COLUMNS, LEVELS, levelFor, tileLength, type Tile } from "./tile";
import type { Track } from "./tracks";

export const MINIMAP = 40;
const TRACKS_MOST = 24;
const TILES_MOST = 128; // they stay in memory

export class Minimap {
  /** The tracks, and what they were drawn from. */
  private back = document.createElement("canvas");
  private drawn: unknown[] = [];

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

  /** The tracks with the most records. */
  private busiest(): Track[] {
    return this.app.tracks
      .all()
      .filter((track) => track.thread.records > 0 && track.thread.thread >= 0)
      .sort((a, b) => b.thread.records - a.thread.records)
      .slice(0, TRACKS_MOST)
      .sort((a, b) => a.capture - b.capture || a.thread.thread - b.thread.thread);
  }

  /** The tiles of TRACKS, those that have come. They are the ones that are drawn below when all is in sight, unless they are too
   * many: the server reads all of a capture's summaries for them, so it should once. */
  private tilesOf(tracks: Track[]): (Tile | null)[][] {
    const { app } = this;
    let level = levelFor(app.view.whole / app.view.width);
    const first = ({ thread }: Track) => Math.floor(thread.first / tileLength(level));
    const count = (track: Track) => Math.floor(track.thread.last / tileLength(level)) + 1 - first(track);
    while (level < LEVELS - 1 && tracks.reduce((sum, track) => sum + count(track), 0) > TILES_MOST) level++;
    return tracks.map((track) => {
      const { capture } = track;
      const { thread } = track.thread;
      if (app.source.live) return Array.from({ length: count(track) }, (_, i) => app.store.get(capture, thread, level, first(track) + i));
      // A page with its data inside has the finer ones of a part only.
      return [app.store.get(capture, thread, app.source.level(levelFor(app.captures[capture].duration / COLUMNS) + 1), 0)];
    });
  }

  /** Draw the tracks, which takes long, only if there is something new. */
  private picture(width: number): HTMLCanvasElement {
    const { app } = this;
    const tracks = this.busiest();
    const tiles = this.tilesOf(tracks);
    const drawn = [width, pixelRatio(), app.dark, app.view.whole, ...app.offset, ...tracks.map((track) => track.key), ...tiles.flat()];
    if (drawn.length === this.drawn.length && drawn.every((value, i) => value === this.drawn[i])) return this.back;
    this.drawn = drawn;
    const context = prepared(this.back, width, MINIMAP);
    context.clearRect(0, 0, width, MINIMAP);
    const height = Math.min(14, MINIMAP / Math.max(1, tracks.length));
    tracks.forEach((track, i) => {
      context.fillStyle = familyColour(track.capture ? "library" : "own", app.dark);
      for (const tile of tiles[i]) if (tile) this.drawRow(context, tile, app.offset[track.capture], i * height, Math.max(1, height - 1));
    });
    return this.back;
  }

  /** Draw the outermost calls of TILE. */
  private drawRow(context: CanvasRenderingContext2D, tile: Tile, shift: number, y: number, height: number): void {
    const { whole, width } = this.app.view;
    const end = tile.rows.length > 1 ? tile.rows[1] : 0;
    for (let k = 0; k < end; k++) {
      const start = tile.from + tile.start[k] * tile.unit + shift;
      const span = tile.span[k] * tile.unit;
      const share = Math.min(1, (tile.busy[k] * tile.unit) / Math.max(1, span));
      context.globalAlpha = 0.25 + 0.75 * share;
      context.fillRect((start / whole) * width, y, Math.max(0.5, (span / whole) * width), height);
    }
  }

  draw(line: string, select: string, veil: string): void {
    const { app } = this;
    const width = app.view.width;
    const context = prepared(this.canvas, width, MINIMAP);
    context.clearRect(0, 0, width, MINIMAP);
    context.drawImage(this.picture(width), 0, 0, width, MINIMAP);
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
