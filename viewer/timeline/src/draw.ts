// Draws the tracks. Boxes are drawn by the graphics card on a canvas of their own, or else on the
// canvas of the text, which is above that one and has everything else, too.

import type { App } from "./app";
import { drawCounter, lastBefore, shortNumber } from "./counter";
import { byId, pixelRatio } from "./dom";
import { FlatBoxes } from "./flatboxes";
import { duration } from "./format";
import { fitted } from "./label";
import { describeMemory, drawMemory } from "./memory";
import { eachPart, piecesOf, type Part } from "./parts";
import { Renderer, type Wanted } from "./renderer";
import { words } from "./samples";
import { DIM, Shades, type Bar } from "./shades";
import { AFTER, BEFORE, CALL, LOST, OPEN, SUMMARY } from "./tile";
import { HEAD, ROW, type Group, type Track } from "./tracks";

const LABEL_LEAST = 24;
const ARROWS_MOST = 300;

/** Something that was drawn, for the mouse to find. */
export interface Hit extends Part {
  track: Track;
  from: number; // the earliest time that may be meant, on the capture's own clock
}

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
  private renderer: Renderer;
  private shades = new Shades(false, "", "");
  private flat = new FlatBoxes(this.shades);
  private labels: [string, number, number, boolean][] = [];
  private ends: [number, number][] = []; // of calls whose end is not known
  look: Look = { text: "", muted: "", line: "", group: "", select: "", range: "", lost: "", stripe: "" };

  constructor(
    private app: App,
    wanted: Wanted,
  ) {
    this.renderer = new Renderer(byId<HTMLCanvasElement>("boxes"), wanted, () => this.app.emit("draw"));
  }

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
    this.shades = new Shades(this.app.dark, this.look.line, this.look.group);
    this.flat = new FlatBoxes(this.shades);
    this.renderer.retune(this.shades);
  }

  /** A line or a background below the boxes. */
  private drawBar(context: CanvasRenderingContext2D, bar: Bar, x: number, y: number, w: number, h: number): void {
    if (this.renderer.gl) {
      this.renderer.gl.addBar(bar, x, y, w, h);
    } else {
      context.fillStyle = this.shades.bars[bar];
      context.fillRect(x, y, w, h);
    }
  }

  private drawThread(context: CanvasRenderingContext2D, track: Track, top: number, height: number, width: number): void {
    const { app } = this;
    const gl = track.samples ? null : this.renderer.gl; // samples are few, and shaded in another way
    const shift = app.offset[track.capture];
    const pieces = piecesOf(app, track, !app.view.gliding);
    const colours = app.colours[track.capture];
    const marked = app.highlighted[track.capture];
    const row = track.folded ? 3 : ROW;
    const inset = track.folded ? 2 : 0;
    const depths = track.folded ? Math.min(6, track.depths) : track.depths;
    const first = Math.max(0, Math.floor(-top / row));
    const last = Math.min(depths, Math.ceil((height - top) / row));
    const moment = track.tile ? 4 : track.samples ? 2 : 1; // what took no time must be seen
    if (gl && first < last) {
      gl.useNames(track.capture, colours, marked);
      const rows = { top: top + inset, step: row, height: row - 1, first, last, moment };
      gl.draw(pieces, { from: app.view.from - shift, nsPerPixel: app.view.nsPerPixel }, rows);
      if (track.folded) return;
    }
    for (let depth = first; depth < last; depth++) {
      const y = top + inset + depth * row;
      let edge = -1; // right of what was drawn last
      eachPart(depth, pieces, gl ? LABEL_LEAST * app.view.nsPerPixel : 0, (part) => {
        let x = app.view.x(part.start + shift);
        let right = app.view.x(part.end + shift);
        if (right < 0 || x > width) return;
        x = Math.max(x, -2);
        right = Math.min(right, width + 2);
        // At least a pixel, but not over what is left of it.
        right = Math.max(right, x + (part.end === part.start ? moment : 1));
        const single = (part.flags & CALL) !== 0;
        const dim = marked !== null && !marked.has(part.name);
        if (!gl && right > edge) {
          const w = right - Math.max(x, edge);
          // Samples are the paler, the less of the time they represent.
          const length = track.samples ? Math.max(part.end - part.start, w * app.view.nsPerPixel) : part.end - part.start;
          const shade = dim ? DIM : single && !track.samples ? 0 : Shades.of(part.busy, length);
          this.flat.add(shade, colours[part.name] ?? 0, right - w, y, w > 3 ? w - 0.75 : w, row - 1);
          edge = right;
        }
        if (track.folded) return;
        if (right - x > LABEL_LEAST) {
          const text = app.name(track.capture, part.name)[0];
          const many = !single && part.calls > 1 ? ` ×${part.calls}` : "";
          const left = Math.max(4, x + 4);
          this.labels.push([fitted(context, text + many, right - left - 3), left, y + ROW / 2, dim]);
        }
        if (part.flags & (LOST | OPEN) && right < width) this.ends.push([right, y]);
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
    this.drawBar(context, "group", 0, y, width, HEAD - 1);
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
    const { gl } = this.renderer;
    gl?.begin(width, height, pixelRatio());
    context.clearRect(0, 0, width, height);
    context.font = "11px system-ui, sans-serif";
    context.textBaseline = "middle";
    for (let t = Math.ceil(app.view.from / step) * step; t < app.view.to; t += step) {
      this.drawBar(context, "line", Math.round(app.view.x(t)), 0, 1, height);
    }
    this.labels = [];
    this.ends = [];
    for (const item of app.tracks.shown) {
      const y = item.y - scroll;
      if (y + item.height < 0 || y > height) continue;
      if (item.kind === "group") {
        this.drawGroup(context, item, y, width);
        continue;
      }
      this.drawBar(context, "line", 0, y + item.height - 1, width, 1);
      if (item.series) drawCounter(context, app, item, y + 3, width, this.shades.css[0][22], this.shades.css[0][20], this.look.muted);
      else if (item.memory) drawMemory(context, app, item, y + 3, this.shades.css[0][22], this.shades.css[0][20], this.look.muted);
      else this.drawThread(context, item, y + 2, height, width);
    }
    gl?.end();
    this.flat.flush(context);
    context.fillStyle = this.look.lost;
    for (const [right, y] of this.ends) context.fillRect(right - 2, y, 2, ROW - 1);
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
    const near = app.view.nsPerPixel * (track.tile ? 5 : track.samples ? 3 : 1.5);
    let best: Hit | null = null;
    let distance = near;
    eachPart(depth, piecesOf(app, track, false), 0, (part) => {
      const away = Math.max(part.start - time, time - part.end, 0);
      if (away < distance || (away === 0 && !best)) {
        distance = away;
        best = { ...part, track, from: Math.max(part.start, time - near) };
      }
    });
    return best;
  }

  /** The value of the counter at X, Y. */
  counterAt(x: number, y: number, scroll: number): [string, string] | null {
    const { app } = this;
    const track = app.tracks.at(y + scroll);
    if (track?.kind === "thread" && track.memory) return describeMemory(app, track, app.view.time(x) - app.offset[track.capture]);
    if (track?.kind !== "thread" || !track.series) return null;
    const at = lastBefore(track.series.times, app.view.time(x) - app.offset[track.capture]);
    return at < 0 ? null : [track.title, shortNumber(track.series.values[at])];
  }

  /** A line about HIT. */
  describe(hit: Hit): [string, string] {
    const name = this.app.name(hit.track.capture, hit.name);
    if (hit.track.samples) return [name[0], words(hit.calls, hit.busy)];
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
