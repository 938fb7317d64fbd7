// The parts of tiles that are in sight: which tiles to draw a track with, and what is in their rows.

import type { App } from "./app";
import { AFTER, BEFORE, continues, firstPart, joined, levelFor, LOST, OPEN, tileLength, type Tile } from "./tile";
import type { Track } from "./tracks";

/** A tile, and the time for which it is drawn. */
export interface Piece {
  tile: Tile;
  from: number;
  to: number;
  /** It is in place of finer ones: what it has outside of that time must not be seen. */
  cut: boolean;
}

export interface Part {
  depth: number;
  start: number; // on the capture's own time
  end: number;
  name: number;
  calls: number;
  busy: number;
  flags: number;
  number: number;
}

/** The tiles to draw TRACK with. Those that are missing are asked for if they are WISHED for. */
export function piecesOf(app: App, track: Track, wished: boolean): Piece[] {
  const shift = app.offset[track.capture];
  const from = Math.max(0, app.view.from - shift, track.thread.first);
  const to = Math.min(app.view.to - shift, track.thread.last + 1);
  const level = app.source.level(levelFor(app.view.nsPerPixel));
  const length = tileLength(level);
  const pieces: Piece[] = [];
  if (from >= to || track.series || track.memory) return pieces;
  if (track.tile) return [{ tile: track.tile, from, to, cut: false }];
  for (let index = Math.floor(from / length); index * length < to; index++) {
    const thread = track.thread.thread;
    const exact = wished ? app.store.get(track.capture, thread, level, index) : app.store.peek(track.capture, thread, level, index);
    const tile = exact ?? app.store.coarser(track.capture, thread, level, index);
    if (!tile) continue;
    const begin = Math.max(from, index * length);
    const end = Math.min(to, (index + 1) * length);
    const last = pieces.at(-1);
    if (last?.tile === tile) last.to = end;
    else pieces.push({ tile, from: begin, to: end, cut: !exact });
  }
  return pieces;
}

interface Notable {
  octave: number;
  index: Uint32Array; // of parts
  rows: Uint32Array; // by depth: where its parts begin in `index`
}

const known = new WeakMap<Tile, Notable>();

/** The parts of TILE that are at least LEAST long, within a factor of two, and those that go on or end in a special way. */
function notableOf(tile: Tile, least: number): Notable {
  const octave = Math.floor(Math.log2(Math.max(1, least / tile.unit)));
  let notable = known.get(tile);
  if (notable?.octave === octave) return notable;
  const index: number[] = [];
  const rows = new Uint32Array(tile.rows.length);
  for (let depth = 0; depth + 1 < tile.rows.length; depth++) {
    for (let i = tile.rows[depth]; i < tile.rows[depth + 1]; i++) {
      if (tile.span[i] >= 2 ** octave || tile.flags[i] & (BEFORE | AFTER | LOST | OPEN)) index.push(i);
    }
    rows[depth + 1] = index.length;
  }
  notable = { octave, index: Uint32Array.from(index), rows };
  known.set(tile, notable);
  return notable;
}

/** Visit the parts of row DEPTH, joined where a call crosses tiles; if LEAST is not 0, only those that are notable. */
export function eachPart(depth: number, pieces: Piece[], least: number, visit: (part: Part) => void): void {
  let open: Part | null = null;
  for (const { tile, from, to } of pieces) {
    if (depth >= tile.rows.length - 1) continue;
    const notable = least ? notableOf(tile, least) : null;
    const limit = (to - tile.from) / tile.unit;
    const rows = notable ? notable.rows : tile.rows;
    for (let k = firstPart(tile, depth, Math.max(0, (from - tile.from) / tile.unit), notable); k < rows[depth + 1]; k++) {
      const i = notable ? notable.index[k] : k;
      if (tile.start[i] > limit) break;
      const flags = tile.flags[i];
      const start = tile.from + tile.start[i] * tile.unit;
      const stop = start + tile.span[i] * tile.unit;
      const number = tile.number[i] + tile.high[i] * 2 ** 32;
      const same: boolean =
        open !== null &&
        open.name === tile.name[i] &&
        (number && open.number ? open.number === number : continues(open.flags, flags, tile.calls[i]) && open.end >= start - tile.unit);
      if (same && open) {
        if (stop > open.end) {
          open.busy += tile.busy[i] * tile.unit;
          open.end = stop;
        }
        open.flags = joined(open.flags, flags);
        open.number ||= number;
        continue;
      }
      if (open) visit(open);
      open = { depth, start, end: stop, name: tile.name[i], calls: tile.calls[i], busy: tile.busy[i] * tile.unit, flags, number };
    }
  }
  if (open) visit(open);
}
