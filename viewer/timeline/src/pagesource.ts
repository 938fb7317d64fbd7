// A page that was sent to somebody: everything it shows is in it.

import { duration } from "./format";
import type { Marks } from "./marks";
import { MEMORY, type Memory } from "./memory";
import { SAMPLES, type Sample, type SampleInfo } from "./samples";
import type { Source } from "./source";
import { CALL, firstPart, LEVELS, parseTile, tileLength, type Tile } from "./tile";
import type { Call, CallDurations, Found, Overview, Range, Row, Stats } from "./types";

/** Every sample by thread and time, and their stacks, unless they are too many. */
interface PageSamples extends SampleInfo {
  all?: [thread: number, time: number, name: number, stack: number, periods: number, weight: number, clock: string][];
  stacks?: Record<string, Sample["stack"]>;
}

export interface PageData {
  overview: Overview;
  marks: Marks[];
  stats: (Stats & { counts: [number, number][] })[];
  samples: PageSamples[];
  sample_stats: Stats[];
  memory: Memory[];
  /** Capture, track, level, index, length in the stream, 1 if it has every call. */
  tiles: [number, number, number, number, number, number][];
  stream: string;
  /** The length from which on every call is here; 0 if all are. */
  shortest: number;
}

async function inflated(text: string): Promise<ArrayBuffer> {
  const packed = Uint8Array.from(atob(text), (character) => character.charCodeAt(0));
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("deflate-raw"));
  return new Response(stream).arrayBuffer();
}

interface Part {
  tile: Tile;
  at: number;
  start: number;
  end: number;
}

export class PageSource implements Source {
  readonly live = false;
  readonly leftOut: string;
  private bytes: Promise<ArrayBuffer>;
  private places = new Map<string, [number, number]>();
  private finest = LEVELS;
  /** By level: the one to use, because not all are here. */
  private levels: number[] = [];

  constructor(private data: PageData) {
    this.leftOut = data.shortest ? `To keep this page small, calls shorter than ${duration(data.shortest)} are shown only together.` : "";
    this.bytes = inflated(data.stream);
    let offset = 0;
    for (const [capture, thread, level, index, length] of data.tiles) {
      this.places.set(`${capture} ${thread} ${level} ${index}`, [offset, length]);
      this.finest = Math.min(this.finest, level);
      this.levels[level] = level;
      offset += length;
    }
    for (let level = LEVELS - 1, last = LEVELS - 1; level >= 0; level--) {
      last = this.levels[level] ?? last;
      this.levels[level] = last;
    }
  }

  level(wanted: number): number {
    return this.levels[wanted];
  }

  async overview(): Promise<Overview> {
    return this.data.overview;
  }

  async tile(capture: number, thread: number, level: number, index: number): Promise<ArrayBuffer | null> {
    const place = this.places.get(`${capture} ${thread} ${level} ${index}`);
    return place ? (await this.bytes).slice(place[0], place[0] + place[1]) : null;
  }

  /** The finest tile there is at TIME. */
  private async finestAt(capture: number, thread: number, time: number): Promise<Tile | null> {
    for (let level = this.finest; level < LEVELS; level++) {
      const bytes = await this.tile(capture, thread, level, Math.floor(time / tileLength(level)));
      if (bytes) return parseTile(bytes);
    }
    return null;
  }

  private partAt(tile: Tile, depth: number, time: number): Part | null {
    if (depth >= tile.rows.length - 1) return null;
    const at = firstPart(tile, depth, (time - tile.from) / tile.unit);
    if (at >= tile.rows[depth + 1]) return null;
    const start = tile.from + tile.start[at] * tile.unit;
    const end = start + tile.span[at] * tile.unit;
    return start <= time + tile.unit ? { tile, at, start, end } : null;
  }

  /** The same call in the tiles beside: it may be longer than one. */
  private async widened(capture: number, thread: number, depth: number, part: Part): Promise<Part> {
    const number = part.tile.number[part.at];
    if (!number) return part;
    const whole = { ...part };
    for (const [c, t, level, index] of this.data.tiles) {
      const from = index * tileLength(level);
      if (c !== capture || t !== thread || tileLength(level) !== part.tile.length) continue;
      const bytes = await this.tile(c, t, level, index);
      const tile = bytes && parseTile(bytes);
      if (!tile || depth >= tile.rows.length - 1 || from === part.tile.from) continue;
      for (let i = tile.rows[depth]; i < tile.rows[depth + 1]; i++) {
        if (tile.number[i] !== number || tile.high[i] !== part.tile.high[part.at]) continue;
        whole.start = Math.min(whole.start, tile.from + tile.start[i] * tile.unit);
        whole.end = Math.max(whole.end, tile.from + (tile.start[i] + tile.span[i]) * tile.unit);
      }
    }
    return whole;
  }

  async call(capture: number, thread: number, start: number, depth: number): Promise<Call> {
    const tile = await this.finestAt(capture, thread, start);
    const part = tile && this.partAt(tile, depth, start);
    if (!tile || !part) throw new Error("This page has nothing more about this place.");
    if (!(tile.flags[part.at] & CALL)) throw new Error("Several calls together; this page does not have them apart.");
    const whole = await this.widened(capture, thread, depth, part);
    const callers: [number, number, number][] = [];
    for (let d = 0; d < depth; d++) {
      const above = this.partAt(tile, d, start);
      if (above) callers.push([tile.name[above.at], (await this.widened(capture, thread, d, above)).start, d]);
    }
    let inside = 0;
    if (depth + 2 < tile.rows.length) {
      for (let i = tile.rows[depth + 1]; i < tile.rows[depth + 2]; i++) {
        const at = tile.from + tile.start[i] * tile.unit;
        if (at >= part.start && at < part.end) inside += tile.busy[i] * tile.unit;
      }
    }
    const share = (part.end - part.start - inside) / Math.max(1, part.end - part.start);
    return {
      id: thread * 2 ** 40 + tile.number[part.at],
      number: tile.number[part.at],
      thread,
      depth,
      name: tile.name[part.at],
      start: whole.start,
      duration: whole.end - whole.start,
      self: Math.max(0, share) * (whole.end - whole.start),
      self_about: true,
      entered: "call",
      ended: "return",
      callers,
      args: {},
    };
  }

  async stats(capture: number, range: Range, threads: number[] | null, samples: boolean): Promise<Stats> {
    void range;
    void threads;
    return (samples ? this.data.sample_stats : this.data.stats)[capture];
  }

  async samples(capture: number): Promise<SampleInfo> {
    return this.data.samples[capture];
  }

  async sample(capture: number, thread: number, time: number, back: boolean): Promise<Sample> {
    const { all, stacks } = this.data.samples[capture];
    if (!all || !stacks) throw new Error("There are too many samples for this page: their stacks need kymograph view and the capture.");
    const ofThread = all.filter((sample) => sample[0] === thread);
    const found = back ? ofThread.findLast((sample) => sample[1] < time) : ofThread.find((sample) => sample[1] >= time);
    if (!found) throw new Error(back ? "no earlier sample" : "no later sample");
    const [, at, name, number, periods, weight, clock] = found;
    return { thread, time: at, name, number, periods, weight, clock, stack: stacks[number] };
  }

  async memory(capture: number): Promise<Memory> {
    return this.data.memory[capture];
  }

  async memoryTile(capture: number, level: number, index: number): Promise<ArrayBuffer | null> {
    return this.tile(capture, MEMORY, level, index);
  }

  async counts(capture: number): Promise<[number, number][]> {
    return this.data.stats[capture].counts;
  }

  async marks(capture: number): Promise<Marks> {
    return this.data.marks[capture];
  }

  async find(capture: number, names: number[], time: number, back: boolean): Promise<Found> {
    const wanted = new Set(names);
    const found: Found = { found: false, done: true, time, thread: 0, depth: 0, name: 0, number: 0 };
    for (const [c, thread, level, index] of this.data.tiles) {
      if (c !== capture || thread >= SAMPLES || level !== this.finest) continue;
      const bytes = await this.tile(c, thread, level, index);
      const tile = bytes && parseTile(bytes);
      if (!tile) continue;
      for (let depth = 0; depth + 1 < tile.rows.length; depth++) {
        for (let i = tile.rows[depth]; i < tile.rows[depth + 1]; i++) {
          const start = tile.from + tile.start[i] * tile.unit;
          const begins = tile.calls[i] > 0 && wanted.has(tile.name[i]);
          const better = back ? start < time && (!found.found || start > found.time) : start > time && (!found.found || start < found.time);
          if (begins && better) {
            Object.assign(found, { found: true, done: false, time: start, thread, depth, name: tile.name[i], number: tile.number[i] });
          }
        }
      }
    }
    return found;
  }

  async durations(): Promise<CallDurations> {
    throw new Error("The durations of all calls of a function need kymograph view and the capture.");
  }

  async query(): Promise<Row[]> {
    throw new Error("SQL needs kymograph view and the capture.");
  }

  cutAddress(): null {
    return null;
  }

  listen(): void {
    // Nothing changes.
  }
}
