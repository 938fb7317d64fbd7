// Where the data comes from: the server, or the page itself for one that was sent to somebody.

import type { Marks } from "./marks";
import type { Memory } from "./memory";
import { SAMPLES, type Sample, type SampleInfo } from "./samples";
import type { Call, CallDurations, Found, Overview, Range, Row, Stats } from "./types";

export interface Source {
  /** Can more than what is in sight be asked for? */
  readonly live: boolean;
  /** A sentence about what is not in it; "" if everything is. */
  readonly leftOut: string;
  /** The level to ask for instead of the one that is WANTED. */
  level(wanted: number): number;
  overview(): Promise<Overview>;
  /** The bytes of a tile; null if there is none. STOP says that they are no longer wanted. */
  tile(capture: number, thread: number, level: number, index: number, generation: number, stop?: AbortSignal): Promise<ArrayBuffer | null>;
  call(capture: number, thread: number, start: number, depth: number): Promise<Call>;
  /** The figures of calls, or of SAMPLES. */
  stats(capture: number, range: Range, threads: number[] | null, samples: boolean): Promise<Stats>;
  /** How many samples there are, and the names of their functions. */
  samples(capture: number): Promise<SampleInfo>;
  /** The first sample of THREAD from TIME on, or the last one before it. */
  sample(capture: number, thread: number, time: number, back: boolean): Promise<Sample>;
  /** How long the calls of a function took that began in RANGE, null for always. At most EVENTS are read, 0 for the usual number. */
  durations(capture: number, name: number, range: Range | null, threads: number[] | null, events: number): Promise<CallDurations>;
  /** Live memory in RANGE, null for always. */
  memory(capture: number, range: Range | null): Promise<Memory>;
  /** The bytes of a tile of memory; null if there is none. */
  memoryTile(capture: number, level: number, index: number, generation: number): Promise<ArrayBuffer | null>;
  find(capture: number, names: number[], time: number, back: boolean): Promise<Found>;
  /** How often each name was called, in all of the capture. */
  counts(capture: number): Promise<[name: number, calls: number][]>;
  /** What is no call: counters, tasks, instants. */
  marks(capture: number): Promise<Marks>;
  query(capture: number, sql: string): Promise<Row[]>;
  cutAddress(capture: number, range: Range): string | null;
  /** Calls GROWN when a capture has grown, and GONE when the server has gone or come back. */
  listen(grown: () => void, gone: (gone: boolean) => void): void;
}

async function answerOf(response: Response): Promise<Response> {
  if (response.ok) return response;
  let words = response.statusText;
  try {
    words = ((await response.json()) as { error?: string }).error ?? words;
  } catch {
    // Not JSON: the status has to do.
  }
  throw new Error(words);
}

export class ServerSource implements Source {
  readonly live = true;
  readonly leftOut = "";

  level(wanted: number): number {
    return wanted;
  }

  private async json<T>(name: string, values: Record<string, string | number>): Promise<T> {
    return (await (await this.ask(name, values)).json()) as T;
  }

  private async ask(name: string, values: Record<string, string | number>, stop?: AbortSignal): Promise<Response> {
    const text = new URLSearchParams();
    for (const [key, value] of Object.entries(values)) text.set(key, String(value));
    return answerOf(await fetch(`${name}?${text}`, { signal: stop }));
  }

  async overview(): Promise<Overview> {
    return this.json("overview", {});
  }

  async tile(capture: number, thread: number, level: number, index: number, generation: number, stop?: AbortSignal): Promise<ArrayBuffer> {
    const place = { capture, level, index, generation };
    if (thread >= SAMPLES) return (await this.ask("sampletile", { ...place, thread: thread - SAMPLES }, stop)).arrayBuffer();
    return (await this.ask("tile", { ...place, thread }, stop)).arrayBuffer();
  }

  async call(capture: number, thread: number, start: number, depth: number): Promise<Call> {
    return this.json("call", { capture, thread, start: Math.floor(start), depth });
  }

  async samples(capture: number): Promise<SampleInfo> {
    return this.json("samples", { capture });
  }

  async sample(capture: number, thread: number, time: number, back: boolean): Promise<Sample> {
    return this.json("sample", { capture, thread, time: Math.max(0, Math.floor(time)), back: back ? 1 : 0 });
  }

  async stats(capture: number, range: Range, threads: number[] | null, samples: boolean): Promise<Stats> {
    const values: Record<string, string | number> = {
      capture,
      from: Math.max(0, Math.floor(range.from)),
      to: Math.max(1, Math.floor(range.to) + 1), // the last sample is at the end of the capture
    };
    if (threads) values.threads = threads.join(",");
    if (samples) values.samples = 1;
    return this.json("stats", values);
  }

  async durations(capture: number, name: number, range: Range | null, threads: number[] | null, events: number): Promise<CallDurations> {
    const values: Record<string, string | number> = { capture, name };
    if (range) {
      values.from = Math.max(0, Math.floor(range.from));
      values.to = Math.max(values.from + 1, Math.ceil(range.to));
    }
    if (threads) values.threads = threads.join(",");
    if (events) values.events = events;
    return this.json("durations", values);
  }

  async memory(capture: number, range: Range | null): Promise<Memory> {
    const values: Record<string, number> = { capture };
    if (range) {
      values.from = Math.max(0, Math.floor(range.from));
      values.to = Math.max(values.from + 1, Math.ceil(range.to));
    }
    return this.json("memory", values);
  }

  async memoryTile(capture: number, level: number, index: number, generation: number): Promise<ArrayBuffer> {
    return (await this.ask("memorytile", { capture, level, index, generation })).arrayBuffer();
  }

  async find(capture: number, names: number[], time: number, back: boolean): Promise<Found> {
    const values = { capture, names: names.join(","), time: Math.floor(time), back: back ? 1 : 0 };
    return this.json("find", values);
  }

  async counts(capture: number): Promise<[number, number][]> {
    const answer = await this.json<{ counts: [number, number][] }>("counts", { capture });
    return answer.counts;
  }

  async marks(capture: number): Promise<Marks> {
    return this.json("marks", { capture });
  }

  async query(capture: number, sql: string): Promise<Row[]> {
    const text = await (await this.ask("query", { capture, sql })).text();
    return text
      .split("\n")
      .filter((line) => line)
      .map((line) => JSON.parse(line) as Row);
  }

  cutAddress(capture: number, range: Range): string {
    const from = Math.max(0, Math.floor(range.from));
    return `cut?capture=${capture}&from=${from}&to=${Math.max(from + 1, Math.ceil(range.to))}`;
  }

  listen(grown: () => void, gone: (gone: boolean) => void): void {
    const news = new EventSource("news");
    news.addEventListener("grown", grown);
    news.addEventListener("open", () => gone(false));
    news.addEventListener("error", () => gone(true));
  }
}
