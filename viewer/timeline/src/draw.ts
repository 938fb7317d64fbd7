// Draws the tracks on a canvas.

import type { App } from "./app";
import { palette } from "./colours";
import { drawCounter, lastBefore, shortNumber } from "./counter";
import { duration } from "./format";
import { fitted } from "./label";
import { AFTER, BEFORE, CALL, firstPart, levelFor, LOST, OPEN, SUMMARY, tileLength, type Tile } from "./tile";
import { HEAD, ROW, type Group, type Track } from "./tracks";

const LABEL_LEAST = 24;
const SHADES = 4;
const ARROWS_MOST = 300;

/** Something that was drawn, for the mouse to find. */
export interface Hit {
  track: Track;
  depth: number;
  start: number; // on the capture's own time
  end: number;
  name: number;
  calls: number;
  busy: number;
  flags: number;
  number: number;
}

type Pending = Omit<Hit, "track">;

export interface Look {
  text: string;
  muted: string;
  line: string;
  group: string;
  select: string;
  range: string;
  lost: string;
  stripe: string;
}

export class Painter {
  private shades: string[][] = [];
  private lists: Float32Array[] = [];
  private counts: Int32Array = new Int32Array(0);
  private labels: [string, number, number, boolean][] = [];
  look: Look = { text: "", muted: "", line: "", group: "", select: "", range: "", lost: "", stripe: "" };

  constructor(private app: App) {}

  /** Read the colours of the page. */
  retune(): void {
    const style = getComputedStyle(document.documentElement);
    const value = (name: string) => style.getPropertyValue(`--${name}`).trim();
    this.look = {
      text: value("slice-text"),
      muted: value("muted"),
      line: value("line"),
      group: value("group"),
      select: value("select"),
      range: value("range"),
      lost: value("lost"),
      stripe: value("stripe"),
    };
    this.shades = [];
    for (let i = 0; i < SHADES; i++) this.shades.push(palette(this.app.dark, (i / SHADES) * 0.85));
    this.shades.push(palette(this.app.dark, 0.78)); // what a search did not find
    const count = this.shades.length * this.shades[0].length;
    this.lists = Array.from({ length: count }, () => new Float32Array(256));
    this.counts = new Int32Array(count);
  }

  private addRect(shade: number, colour: number, x: number, y: number, w: number, h: number): void {
    const list = shade * this.shades[0].length + colour;
    let at = this.counts[list];
    if (at + 4 > this.lists[list].length) {
      const larger = new Float32Array(this.lists[list].length * 2);
      larger.set(this.lists[list]);
      this.lists[list] = larger;
    }
    const values = this.lists[list];
    values[at++] = x;
    values[at++] = y;
    values[at++] = w;
    values[at++] = h;
    this.counts[list] = at;
  }

  private flushRects(context: CanvasRenderingContext2D): void {
    const colours = this.shades[0].length;
    for (let list = 0; list < this.lists.length; list++) {
      const end = this.counts[list];
      if (!end) continue;
      context.fillStyle = this.shades[Math.floor(list / colours)][list % colours];
      const values = this.lists[list];
      for (let i = 0; i < end; i += 4) context.fillRect(values[i], values[i + 1], values[i + 2], values[i + 3]);
      this.counts[list] = 0;
    }
  }

  /** Visit the parts of row DEPTH of TRACK from FROM to TO, joined where a call crosses tiles. */
  private eachPart(track: Track, depth: number, tiles: [Tile, number, number][], visit: (part: Pending) => void): void {
    let open: Pending | null = null;
    for (const [tile, from, to] of tiles) {
      if (depth >= tile.rows.length - 1) continue;
      const end = tile.rows[depth + 1];
      const limit = (to - tile.from) / tile.unit;
      for (let i = firstPart(tile, depth, Math.max(0, (from - tile.from) / tile.unit)); i < end; i++) {
        if (tile.start[i] > limit) break;
        const flags = tile.flags[i];
        const start = tile.from + tile.start[i] * tile.unit;
        const stop = start + tile.span[i] * tile.unit;
        const number = tile.number[i] + tile.high[i] * 2 ** 32;
        const same: boolean =
          open !== null &&
          open.name === tile.name[i] &&
          (number ? open.number === number : (flags & SUMMARY) !== 0 && (open.flags & SUMMARY) !== 0 && tile.calls[i] === 0 && open.end >= start - tile.unit);
        if (same && open) {
          if (stop > open.end) {
            open.busy += tile.busy[i] * tile.unit;
            open.end = stop;
          }
          open.flags = (open.flags & ~AFTER) | (flags & ~BEFORE);
          continue;
        }
        if (open) visit(open);
        open = {
          depth,
          start,
          end: stop,
          name: tile.name[i],
          calls: tile.calls[i],
          busy: tile.busy[i] * tile.unit,
          flags,
          number,
        };
      }
    }
    if (open) visit(open);
    void track;
  }

  /** The tiles to draw TRACK with, and which part of time each is for. */
  private tilesFor(track: Track, wish: boolean): [Tile, number, number][] {
    const { app } = this;
    const shift = app.offset[track.capture];
    const from = Math.max(0, app.view.from - shift, track.thread.first);
    const to = Math.min(app.view.to - shift, track.thread.last + 1);
    const level = app.source.level(levelFor(app.view.nsPerPixel));
    const length = tileLength(level);
    const result: [Tile, number, number][] = [];
    if (from >= to || track.series) return result;
    if (track.tile) return [[track.tile, from, to]];
    for (let index = Math.floor(from / length); index * length < to; index++) {
      const begin = Math.max(from, index * length);
      const end = Math.min(to, (index + 1) * length);
      const thread = track.thread.thread;
      const tile = wish ? app.store.get(track.capture, thread, level, index) : app.store.peek(track.capture, thread, level, index);
      const drawn = tile ?? app.store.coarser(track.capture, thread, level, index);
      if (drawn) result.push([drawn, begin, end]);
    }
    return result;
  }

  private drawThread(context: CanvasRenderingContext2D, track: Track, top: number, height: number, width: number): void {
    const { app } = this;
    const shift = app.offset[track.capture];
    const tiles = this.tilesFor(track, !app.view.gliding);
    const colours = app.colours[track.capture];
    const marked = app.highlighted[track.capture];
    const row = track.folded ? 3 : ROW;
    const inset = track.folded ? 2 : 0;
    const depths = track.folded ? Math.min(6, track.depths) : track.depths;
    const first = Math.max(0, Math.floor(-top / row));
    const last = Math.min(depths, Math.ceil((height - top) / row));
    for (let depth = first; depth < last; depth++) {
      const y = top + inset + depth * row;
      let edge = -1; // right of what was drawn last
      this.eachPart(track, depth, tiles, (part) => {
        let x = app.view.x(part.start + shift);
        let right = app.view.x(part.end + shift);
        if (right < 0 || x > width) return;
        x = Math.max(x, -2);
        right = Math.min(right, width + 2);
        // At least a pixel, but not over what is left of it.
        const least = part.end === part.start && track.tile ? 4 : 1; // a moment must be seen
        if (right - x < least) right = x + least;
        if (right <= edge) return;
        x = Math.max(x, edge);
        const w = right - x;
        const single = (part.flags & CALL) !== 0;
        const full = single ? 1 : Math.min(1, part.busy / Math.max(1, part.end - part.start));
        let shade = single ? 0 : Math.min(SHADES - 1, Math.floor((1 - full) * SHADES));
        if (marked && !marked.has(part.name)) shade = SHADES;
        this.addRect(shade, colours[part.name] ?? 0, x, y, w > 3 ? w - 0.75 : w, row - 1);
        edge = right;
        if (track.folded) return;
        if (w > LABEL_LEAST) {
          const text = app.name(track.capture, part.name)[0];
          const many = !single && part.calls > 1 ? ` ×${part.calls}` : "";
          const left = Math.max(4, x + 4);
          this.labels.push([fitted(context, text + many, right - left - 3), left, y + ROW / 2, shade === SHADES]);
        }
        if (part.flags & (LOST | OPEN) && right < width) {
          context.fillStyle = this.look.lost;
          context.fillRect(right - 2, y, 2, ROW - 1);
        }
      });
    }
  }

  /** Places where records are missing. */
  private drawGaps(context: CanvasRenderingContext2D, track: Track, top: number, width: number): void {
    const { app } = this;
    const shift = app.offset[track.capture];
    for (const [thread, first, last, , reason] of app.captures[track.capture].gaps) {
      if (thread !== track.thread.thread) continue;
      const x = app.view.x(first + shift);
      const right = Math.max(x + 3, app.view.x(last + shift));
      if (right < 0 || x > width) continue;
      const from = Math.max(0, x);
      const to = Math.min(width, right);
      context.save();
      context.beginPath();
      context.rect(from, top, to - from, track.height - 2);
      context.clip();
      context.strokeStyle = reason === "expired" ? this.look.muted : this.look.lost;
      context.globalAlpha = reason === "expired" ? 0.35 : 0.8;
      context.lineWidth = 1.5;
      context.beginPath();
      const step = 7;
      for (let s = Math.floor((from - track.height) / step) * step; s < to; s += step) {
        context.moveTo(s, top + track.height);
        context.lineTo(s + track.height, top);
      }
      context.stroke();
      context.restore();
    }
  }

  private drawSelected(context: CanvasRenderingContext2D, scroll: number, width: number, end: number): void {
    const { app } = this;
    const place = app.selected;
    const track = place && app.tracks.find(place.capture, place.thread);
    if (!place || !track || track.folded || !app.tracks.shown.includes(track)) return;
    const shift = app.offset[track.capture];
    const x = Math.max(-4, app.view.x(place.start + shift));
    const right = Math.min(width + 4, Math.max(x + 3, app.view.x(end + shift)));
    const y = track.y - scroll + place.depth * ROW;
    context.strokeStyle = this.look.select;
    context.lineWidth = 2;
    context.strokeRect(x + 0.5, y - 0.5, right - x - 1, ROW);
  }

  /** Arrows in sight, if they are few enough to be followed. */
  private drawArrows(context: CanvasRenderingContext2D, scroll: number, width: number): void {
    const { app } = this;
    app.captures.forEach((_, capture) => {
      const shift = app.offset[capture];
      const from = app.view.from - shift;
      const to = app.view.to - shift;
      const seen = (app.tracks.arrows[capture] ?? []).filter((arrow) => arrow.from[1] < to && arrow.to[1] > from);
      if (seen.length > ARROWS_MOST) return;
      const tracks = new Map(
        app.tracks.shown.flatMap((item) => (item.kind === "thread" && item.capture === capture ? [[item.thread.thread, item] as const] : [])),
      );
      context.strokeStyle = context.fillStyle = this.look.select;
      context.lineWidth = 1.2;
      context.globalAlpha = 0.75;
      for (const arrow of seen) {
        const [a, b] = [tracks.get(arrow.from[0]), tracks.get(arrow.to[0])];
        if (!a || !b) continue;
        const y = (track: Track, depth: number) => track.y - scroll + 2 + (track.folded ? 9 : Math.min(depth, track.depths) * ROW + ROW / 2);
        const [x1, y1] = [Math.max(-50, app.view.x(arrow.from[1] + shift)), y(a, arrow.from[2])];
        const [x2, y2] = [Math.min(width + 50, app.view.x(arrow.to[1] + shift)), y(b, arrow.to[2])];
        const bend = Math.max(12, Math.min(80, Math.abs(x2 - x1) / 2));
        context.beginPath();
        context.moveTo(x1, y1);
        context.bezierCurveTo(x1 + bend, y1, x2 - bend, y2, x2 - 5, y2);
        context.stroke();
        context.beginPath();
        context.moveTo(x2, y2);
        context.lineTo(x2 - 6, y2 - 3);
        context.lineTo(x2 - 6, y2 + 3);
        context.fill();
      }
      context.globalAlpha = 1;
    });
  }

  private drawGroup(context: CanvasRenderingContext2D, group: Group, y: number, width: number): void {
    context.fillStyle = this.look.group;
    context.fillRect(0, y, width, HEAD - 1);
    if (group.folded) {
      context.fillStyle = this.look.muted;
      const count = group.tracks.length;
      context.fillText(`${count} ${count === 1 ? "track" : "tracks"} folded`, 8, y + HEAD / 2);
    }
  }

  private drawRange(context: CanvasRenderingContext2D, width: number, height: number): void {
    const { range, view } = this.app;
    if (!range) return;
    const x = view.x(range.from);
    const right = view.x(range.to);
    context.fillStyle = this.look.range;
    context.fillRect(x, 0, right - x, height);
    context.fillStyle = this.look.select;
    for (const edge of [x, right]) if (edge >= 0 && edge <= width) context.fillRect(edge - 0.5, 0, 1, height);
  }

  draw(context: CanvasRenderingContext2D, width: number, height: number, scroll: number, step: number, selectedEnd: number): void {
    const { app } = this;
    context.clearRect(0, 0, width, height);
    context.font = "11px system-ui, sans-serif";
    context.textBaseline = "middle";
    context.strokeStyle = this.look.line;
    context.lineWidth = 1;
    context.beginPath();
    for (let t = Math.ceil(app.view.from / step) * step; t < app.view.to; t += step) {
      const x = Math.round(app.view.x(t)) + 0.5;
      context.moveTo(x, 0);
      context.lineTo(x, height);
    }
    context.stroke();
    this.labels = [];
    for (const item of app.tracks.shown) {
      const y = item.y - scroll;
      if (y + item.height < 0 || y > height) continue;
      if (item.kind === "group") {
        this.drawGroup(context, item, y, width);
        continue;
      }
      context.fillStyle = this.look.line;
      context.fillRect(0, y + item.height - 1, width, 1);
      if (item.series) drawCounter(context, app, item, y + 3, width, this.shades[0][22], this.shades[0][20], this.look.muted);
      else this.drawThread(context, item, y + 2, height, width);
    }
    this.flushRects(context);
    for (const item of app.tracks.shown) {
      const y = item.y - scroll;
      if (item.kind === "thread" && y + item.height >= 0 && y <= height) this.drawGaps(context, item, y, width);
    }
    context.font = "11px system-ui, sans-serif";
    for (const faint of [false, true]) {
      context.fillStyle = faint ? this.look.muted : this.look.text;
      for (const [text, x, y, dim] of this.labels) if (dim === faint && text) context.fillText(text, x, y);
    }
    this.drawArrows(context, scroll, width);
    this.drawRange(context, width, height);
    this.drawSelected(context, scroll - 2, width, selectedEnd);
  }

  /** What is drawn at X, Y of the canvas? */
  hit(x: number, y: number, scroll: number): Hit | null {
    const { app } = this;
    const track = app.tracks.at(y + scroll);
    if (track?.kind !== "thread") return null;
    const row = track.folded ? 3 : ROW;
    const depth = Math.floor((y + scroll - track.y - 2) / row);
    const shift = app.offset[track.capture];
    if (depth < 0 || depth >= track.depths) return null;
    const time = app.view.time(x) - shift;
    const near = app.view.nsPerPixel * (track.tile ? 5 : 1.5);
    let best: Hit | null = null;
    let distance = near;
    this.eachPart(track, depth, this.tilesFor(track, false), (part) => {
      const away = Math.max(part.start - time, time - part.end, 0);
      if (away < distance || (away === 0 && !best)) {
        distance = away;
        best = { ...part, track };
      }
    });
    return best;
  }

  /** The value of the counter at X, Y. */
  counterAt(x: number, y: number, scroll: number): [string, string] | null {
    const { app } = this;
    const track = app.tracks.at(y + scroll);
    if (track?.kind !== "thread" || !track.series) return null;
    const at = lastBefore(track.series.times, app.view.time(x) - app.offset[track.capture]);
    return at < 0 ? null : [track.title, shortNumber(track.series.values[at])];
  }

  /** A line about HIT. */
  describe(hit: Hit): [string, string] {
    const name = this.app.name(hit.track.capture, hit.name);
    if (hit.track.tile && hit.start === hit.end) return [name[0], "a moment"];
    if (hit.flags & CALL) {
      const more = hit.flags & (BEFORE | AFTER) ? "more than " : "";
      return [name[0], more + duration(hit.end - hit.start)];
    }
    const exact = hit.flags & SUMMARY ? "about " : "";
    const calls = hit.calls === 1 ? "1 call" : `${hit.calls} calls`;
    return [name[0], `${calls} here, ${exact}${duration(hit.busy)} in ${duration(hit.end - hit.start)}; zoom in for each`];
  }
}
