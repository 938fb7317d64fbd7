// Tiles in memory: asked for when they come into sight, kept up to a limit.

import { SAMPLES } from "./samples";
import type { Source } from "./source";
import { parseTile, tileLength, type Tile } from "./tile";

const BYTES_MOST = 96 << 20;
const AT_ONCE = 5; // a browser opens six connections to a server; one is for everything else
const COARSER = 40; // levels to look for something to show meanwhile
const USEFUL = 2; // a tile that is so much coarser than a missing one is still worth waiting for

interface Entry {
  tile: Tile | null; // null: on its way, or failed
  used: number;
  failed: boolean;
}

interface Wish {
  key: string;
  capture: number;
  thread: number;
  level: number;
  index: number;
}

/** A request that has not been answered. */
interface Flight {
  wish: Wish;
  entry: Entry;
  stop: AbortController;
}

export class TileStore {
  private entries = new Map<string, Entry>();
  private wishes: Wish[] = [];
  private flights = new Set<Flight>();
  private bytes = 0;
  private frame = 0;
  generation: number[] = [];
  /** By capture: where the names of samples begin. */
  sampleNames: number[] = [];
  /** Deepest row seen, by capture and thread. */
  readonly depths = new Map<string, number>();

  constructor(
    private source: Source,
    private arrived: () => void,
  ) {}

  /** True while something that was asked for has not come. */
  get busy(): boolean {
    return this.flights.size > 0 || this.wishes.length > 0;
  }

  /** Wait until everything that was asked for has come. */
  async idle(): Promise<void> {
    while (this.busy) await new Promise((done) => setTimeout(done, 30));
  }

  /** Begin a frame: what was wanted before and is not wanted now need not be fetched. */
  beginFrame(): void {
    this.frame++;
    this.wishes = [];
  }

  endFrame(): void {
    if (this.wishes.length) this.giveUp();
    this.pump();
  }

  /** Something is missing: stop waiting for what the last frame did not want. */
  private giveUp(): void {
    for (const flight of this.flights) {
      const { wish, entry, stop } = flight;
      if (entry.used === this.frame || this.isUseful(wish)) continue;
      this.entries.delete(wish.key);
      this.flights.delete(flight);
      stop.abort();
    }
  }

  /** Will the tile at PLACE be shown, for want of a finer one? While zooming in, that is all there is to see. */
  private isUseful(place: Wish): boolean {
    return this.wishes.some(({ capture, thread, level, index }) => {
      const up = place.level - level;
      return capture === place.capture && thread === place.thread && up > 0 && up <= USEFUL && Math.floor(index / 2 ** up) === place.index;
    });
  }

  private key(capture: number, thread: number, level: number, index: number): string {
    return `${capture} ${thread} ${level} ${index}`;
  }

  /** The tile, or null if it is not there yet; then it is asked for. */
  get(capture: number, thread: number, level: number, index: number): Tile | null {
    const key = this.key(capture, thread, level, index);
    const entry = this.entries.get(key);
    if (entry) {
      entry.used = this.frame;
      return entry.tile;
    }
    this.wishes.push({ key, capture, thread, level, index });
    return null;
  }

  peek(capture: number, thread: number, level: number, index: number): Tile | null {
    const entry = this.entries.get(this.key(capture, thread, level, index));
    if (entry?.tile) entry.used = this.frame;
    return entry?.tile ?? null;
  }

  /** A coarser tile that covers the same time, if there is one. */
  coarser(capture: number, thread: number, level: number, index: number): Tile | null {
    for (let up = 1; up <= COARSER; up++) {
      const tile = this.peek(capture, thread, level + up, Math.floor(index / 2 ** up));
      if (tile) return tile;
    }
    return null;
  }

  /** A capture has grown beyond DURATION: tiles that end after it are old. */
  forgetAfter(capture: number, duration: number): void {
    for (const [key, entry] of this.entries) {
      const [c, , level, index] = key.split(" ").map(Number);
      if (c === capture && (index + 1) * tileLength(level) > duration) {
        this.bytes -= entry.tile?.bytes ?? 0;
        this.entries.delete(key);
      }
    }
  }

  /** The names of the samples of a capture have changed. */
  forgetSamples(capture: number): void {
    for (const [key, entry] of this.entries) {
      const [c, thread] = key.split(" ").map(Number);
      if (c !== capture || thread < SAMPLES) continue;
      this.bytes -= entry.tile?.bytes ?? 0;
      this.entries.delete(key);
    }
  }

  private pump(): void {
    while (this.flights.size < AT_ONCE && this.wishes.length) {
      const wish = this.wishes.shift() as Wish;
      if (!this.entries.has(wish.key)) void this.fetch(wish);
    }
  }

  private async fetch(wish: Wish): Promise<void> {
    const entry: Entry = { tile: null, used: this.frame, failed: false };
    const flight: Flight = { wish, entry, stop: new AbortController() };
    this.entries.set(wish.key, entry);
    this.flights.add(flight);
    try {
      const generation = this.generation[wish.capture] ?? 0;
      const bytes = await this.source.tile(wish.capture, wish.thread, wish.level, wish.index, generation, flight.stop.signal);
      const tile = bytes && parseTile(bytes);
      if (tile && wish.thread >= SAMPLES) for (let i = 0; i < tile.count; i++) tile.name[i] += this.sampleNames[wish.capture] ?? 0;
      if (tile && this.entries.get(wish.key) === entry) this.keep(wish, entry, tile);
      else entry.failed = true;
    } catch {
      // Ask again when it is next wanted, but not at once.
      if (!flight.stop.signal.aborted) setTimeout(() => this.entries.delete(wish.key), 2000);
    }
    this.flights.delete(flight);
    this.pump();
    this.arrived();
  }

  private keep(wish: Wish, entry: Entry, tile: Tile): void {
    entry.tile = tile;
    this.bytes += tile.bytes;
    const track = `${wish.capture} ${wish.thread}`;
    this.depths.set(track, Math.max(this.depths.get(track) ?? 0, tile.rows.length - 1));
    if (this.bytes > BYTES_MOST) this.tidy();
  }

  private tidy(): void {
    const old = [...this.entries].filter(([, e]) => e.tile && e.used < this.frame - 1);
    old.sort(([, a], [, b]) => a.used - b.used);
    for (const [key, entry] of old) {
      if (this.bytes < BYTES_MOST * 0.7) break;
      this.bytes -= entry.tile?.bytes ?? 0;
      this.entries.delete(key);
    }
  }
}
