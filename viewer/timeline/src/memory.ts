// Live memory over time: one track for each kind of it, drawn from tiles that have the least and the
// most of each column (src/model/heap/heaplog.h).

import type { App } from "./app";
import { duration } from "./format";
import { COLUMNS, levelFor, tileLength } from "./tile";
import type { Group, Track } from "./tracks";
import type { Thread } from "./types";

export interface MemorySeries {
  series: number;
  name: string;
  start: number;
  end: number;
  least: number;
  most: number;
  most_at: number;
}

export interface Memory {
  /** "none", "exact", "sampled" or "live". */
  mode: string;
  changes?: number;
  series?: MemorySeries[];
}

export interface MemoryTile {
  from: number;
  length: number;
  series: Uint32Array;
  /** The columns in which something changed. */
  columns: Uint32Array;
  /** By place of the series: the value where the tile starts. */
  start: Float64Array;
  /** By place of the series: least, most and last of each of those columns. */
  least: Float64Array[];
  most: Float64Array[];
  last: Float64Array[];
}

const HEADER = 32;

export function parseMemoryTile(buffer: ArrayBuffer): MemoryTile {
  const head = new DataView(buffer);
  if (buffer.byteLength < HEADER || head.getUint32(0, true) !== 1) throw new Error("not a tile of memory");
  const s = head.getUint32(4, true);
  const n = head.getUint32(8, true);
  const words = s + n + ((s + n) % 2);
  let at = HEADER + 4 * words;
  if (buffer.byteLength !== at + 8 * s + 24 * s * n) throw new Error("a tile is cut short");
  const take = (count: number) => {
    const list = new Float64Array(buffer, at, count);
    at += 8 * count;
    return list;
  };
  const tile: MemoryTile = {
    from: head.getFloat64(16, true),
    length: head.getFloat64(24, true),
    series: new Uint32Array(buffer, HEADER, s),
    columns: new Uint32Array(buffer, HEADER + 4 * s, n),
    start: take(s),
    least: [],
    most: [],
    last: [],
  };
  for (let i = 0; i < s; i++) {
    tile.least.push(take(n));
    tile.most.push(take(n));
    tile.last.push(take(n));
  }
  return tile;
}

/** Least, most and last of the column of TIME; a column without changes has one value. */
export function valueAt(tile: MemoryTile, series: number, time: number): [number, number, number] | null {
  const place = tile.series.indexOf(series);
  if (place < 0) return null;
  const column = Math.floor(((time - tile.from) / tile.length) * COLUMNS);
  let low = 0;
  let high = tile.columns.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (tile.columns[middle] <= column) low = middle + 1;
    else high = middle;
  }
  if (low === 0) return [tile.start[place], tile.start[place], tile.start[place]];
  const last = tile.last[place][low - 1];
  if (tile.columns[low - 1] < column) return [last, last, last];
  return [tile.least[place][low - 1], tile.most[place][low - 1], last];
}

/** Bytes for people, with units of 1024 as in the memory report. */
export function bytes(value: number): string {
  let size = Math.abs(value);
  let unit = 0;
  while (size >= 1024 && unit < 5) {
    size /= 1024;
    unit++;
  }
  const digits = unit === 0 ? 0 : size >= 100 ? 1 : 2;
  return `${value < 0 ? "−" : ""}${size.toFixed(digits)} ${["B", "KiB", "MiB", "GiB", "TiB", "PiB"][unit]}`;
}

export const TITLES: Record<string, string> = {
  total: "live memory",
  objects: "Python objects",
  python: "Python's other memory",
  tracked: "libraries' arrays",
  native: "native",
  mappings: "mappings",
  arenas: "arenas",
  resident: "resident memory",
};

/** What a track of memory is of. */
export interface MemoryOf {
  series: number;
  most: number;
}

/** A group with the tracks of MEMORY, those of single categories folded at first. */
export function memoryGroup(memory: Memory, which: number, file: string, whole: number, known: Map<string, Track | Group>): Group {
  const key = `${which}/memory`;
  const about = memory.mode === "sampled" ? "estimated from samples" : "requested bytes that are alive";
  const group: Group = {
    kind: "group",
    key,
    capture: which,
    title: file ? `${file} · Memory` : "Memory",
    detail: about,
    folded: known.get(key)?.folded ?? false,
    tracks: [],
    y: 0,
    height: 22,
  };
  for (const { series, name, most } of memory.series ?? []) {
    const track = known.get(`${which}:memory/${name}`) as Track | undefined;
    const thread: Thread = {
      thread: -1000 - series,
      tid: 0,
      name,
      process: 0,
      records: memory.changes ?? 0,
      lost: 0,
      first: 0,
      last: whole,
      device: false,
      summaries: false,
    };
    group.tracks.push({
      kind: "thread",
      key: `${which}:memory/${name}`,
      capture: which,
      thread,
      title: TITLES[name] ?? name,
      detail: bytes(most),
      group,
      folded: track?.folded ?? !["total", "resident"].includes(name),
      pinned: track?.pinned ?? false,
      y: 0,
      height: 0,
      depths: 0,
      memory: { series, most },
    });
  }
  return group;
}

/** The number that live memory has among the tracks of a page with its data inside. */
export const MEMORY = 2 ** 33;

const TILES_MOST = 400;

/** Tiles of memory, asked for one at a time. */
export class MemoryStore {
  private tiles = new Map<string, MemoryTile | null>();
  private wishes: [string, number, number, number][] = [];
  private underWay = false;

  constructor(
    private app: App,
    private arrived: () => void,
  ) {}

  get busy(): boolean {
    return this.underWay || this.wishes.length > 0;
  }

  beginFrame(): void {
    this.wishes = [];
  }

  endFrame(): void {
    void this.pump();
  }

  forget(capture: number): void {
    for (const key of this.tiles.keys()) if (key.startsWith(`${capture} `)) this.tiles.delete(key);
  }

  /** The tile that covers TIME, or a coarser one while it has not come; null if there is none. */
  at(capture: number, level: number, index: number): MemoryTile | null {
    const key = `${capture} ${level} ${index}`;
    const tile = this.tiles.get(key);
    if (tile) {
      this.tiles.delete(key); // the last one used is the last to go
      this.tiles.set(key, tile);
      return tile;
    }
    if (tile === undefined && !this.wishes.some((wish) => wish[0] === key)) this.wishes.push([key, capture, level, index]);
    for (let up = 1; up < 40; up++) {
      const coarser = this.tiles.get(`${capture} ${level + up} ${Math.floor(index / 2 ** up)}`);
      if (coarser) return coarser;
    }
    return null;
  }

  private async pump(): Promise<void> {
    const wish = this.underWay ? undefined : this.wishes.shift();
    if (!wish) return;
    const [key, capture, level, index] = wish;
    this.underWay = true;
    this.tiles.set(key, null);
    try {
      const data = await this.app.source.memoryTile(capture, level, index, this.app.store.generation[capture] ?? 0);
      if (data) this.tiles.set(key, parseMemoryTile(data));
      for (const old of this.tiles.keys()) {
        if (this.tiles.size <= TILES_MOST) break;
        this.tiles.delete(old);
      }
    } catch {
      setTimeout(() => this.tiles.delete(key), 2000);
    }
    this.underWay = false;
    void this.pump();
    this.arrived();
  }
}

/** The tiles in sight of CAPTURE, with the part of time that each is for. */
function* inSight(app: App, capture: number): Generator<[MemoryTile, number, number]> {
  const shift = app.offset[capture];
  const level = app.source.level(levelFor(app.view.nsPerPixel));
  const length = tileLength(level);
  const from = Math.max(0, app.view.from - shift);
  const to = Math.min(app.view.to - shift, app.captures[capture].duration);
  for (let index = Math.floor(from / length); index * length < to; index++) {
    const tile = app.memory.at(capture, level, index);
    if (tile) yield [tile, Math.max(from, index * length), Math.min(to, (index + 1) * length)];
  }
}

/** Draw TRACK: a filled area below the most, and a band from the least to the most. */
export function drawMemory(context: CanvasRenderingContext2D, app: App, track: Track, top: number, fill: string, line: string, text: string): void {
  const of = track.memory as MemoryOf;
  const shift = app.offset[track.capture];
  const height = track.height - 6;
  const y = (value: number) => top + height - (value * height) / Math.max(1, of.most);
  const area = new Path2D();
  const band = new Path2D();
  const low = y(0);
  const box = (from: number, to: number, least: number, most: number) => {
    const x = app.view.x(from + shift);
    const w = Math.max(app.view.x(to + shift) - x, 0.01);
    area.rect(x, y(most), w, low - y(most));
    // Where it changes fast, the band shows between what and what.
    band.rect(x, y(most) - 0.5, Math.max(w, 1), Math.max(1, y(least) - y(most)));
  };
  for (const [tile, from, to] of inSight(app, track.capture)) {
    const place = tile.series.indexOf(of.series);
    if (place < 0) continue;
    const unit = tile.length / COLUMNS;
    let value = tile.start[place];
    let since = tile.from;
    for (let i = 0; i < tile.columns.length; i++) {
      const start = tile.from + tile.columns[i] * unit;
      if (start >= to) break;
      if (start > since && start > from) box(Math.max(from, since), start, value, value);
      if (start + unit > from) box(Math.max(from, start), Math.min(to, start + unit), tile.least[place][i], tile.most[place][i]);
      value = tile.last[place][i];
      since = start + unit;
    }
    if (since < to) box(Math.max(from, since), to, value, value);
  }
  context.globalAlpha = 0.35;
  context.fillStyle = fill;
  context.fill(area);
  context.globalAlpha = 1;
  context.fillStyle = line;
  context.fill(band);
  context.fillStyle = text;
  context.fillText(bytes(of.most), 4, top + 7);
}

/** A line about TRACK at TIME, on the capture's own time. */
export function describeMemory(app: App, track: Track, time: number): [string, string] | null {
  const of = track.memory as MemoryOf;
  for (const [tile, from, to] of inSight(app, track.capture)) {
    if (time < from || time >= to) continue;
    const value = valueAt(tile, of.series, time);
    if (!value) return null;
    const [least, most, last] = value;
    const words = least === most ? bytes(last) : `${bytes(least)} to ${bytes(most)} within ${duration(tile.length / COLUMNS)}`;
    return [track.title, least === most && last >= 1024 ? `${words} (${last} bytes)` : words];
  }
  return null;
}
