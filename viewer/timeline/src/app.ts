// What the parts of the page share: the data, what is in sight, what is selected.

import { colourOf } from "./colours";
import { MemoryStore, type Memory } from "./memory";
import type { SampleInfo } from "./samples";
import type { Source } from "./source";
import { TileStore } from "./store";
import { Tracks } from "./tracks";
import type { Capture, Name, Overview, Place, Range } from "./types";
import { Viewport } from "./viewport";

type Event = "draw" | "select" | "range" | "highlight" | "load" | "theme" | "moved";

export class App {
  readonly view = new Viewport();
  readonly tracks = new Tracks();
  readonly store: TileStore;
  readonly memory: MemoryStore;
  overview: Overview = { kymograph: "", captures: [] };
  /** Where the second capture's start lies on the first one's time. */
  offset = [0, 0];
  selected: Place | null = null;
  range: Range | null = null;
  /** By capture: the names that a search found; null for no search. */
  highlighted: (Set<number> | null)[] = [null, null];
  dark = false;
  still = matchMedia("(prefers-reduced-motion: reduce)").matches;
  colours: Uint8Array[] = [];
  /** By capture: how many names are those of calls; the others are of samples. */
  named: number[] = [];
  samples: (SampleInfo | undefined)[] = [];
  private listeners = new Map<Event, (() => void)[]>();

  constructor(readonly source: Source) {
    this.store = new TileStore(source, () => this.emit("draw"));
    this.memory = new MemoryStore(this, () => this.emit("draw"));
  }

  on(event: Event, listener: () => void): void {
    this.listeners.set(event, [...(this.listeners.get(event) ?? []), listener]);
  }

  emit(event: Event): void {
    for (const listener of this.listeners.get(event) ?? []) listener();
  }

  get captures(): Capture[] {
    return this.overview.captures;
  }

  name(capture: number, name: number): Name {
    return this.captures[capture]?.names[name] ?? ["(unknown)", "", 0, "span", "own"];
  }

  take(overview: Overview): void {
    const before = this.captures;
    this.overview = overview;
    overview.captures.forEach((capture, i) => {
      if (before[i] && before[i].generation !== capture.generation) {
        this.store.forgetAfter(i, before[i].duration - 1);
      }
      this.store.generation[i] = capture.generation;
      this.named[i] = capture.names.length;
      this.addSampleNames(i);
    });
    this.tracks.load(overview.captures);
    this.measure();
    this.emit("load");
  }

  private addSampleNames(capture: number): void {
    const { names } = this.captures[capture];
    this.captures[capture].names = [...names.slice(0, this.named[capture]), ...(this.samples[capture]?.names ?? [])];
    this.colours[capture] = Uint8Array.from(this.captures[capture].names, (name) => colourOf(name));
    this.store.sampleNames[capture] = this.named[capture];
    this.store.forgetSamples(capture);
  }

  takeSamples(capture: number, info: SampleInfo): void {
    this.samples[capture] = info;
    this.tracks.samples[capture] = new Map(info.threads);
    this.addSampleNames(capture);
  }

  takeMemory(capture: number, memory: Memory): void {
    this.memory.forget(capture);
    this.tracks.memory[capture] = memory;
  }

  /** The end of time, on the first capture's clock. */
  measure(): void {
    const ends = this.captures.map((capture, i) => capture.duration + this.offset[i]);
    const followed = this.view.whole > 1 && Math.abs(this.view.to - this.view.whole) < this.view.whole * 0.001;
    const length = this.view.to - this.view.from;
    this.view.whole = Math.max(1, ...ends);
    if (followed && this.captures.some((capture) => capture.ending === "running")) {
      const from = this.view.from <= 0 ? 0 : this.view.whole - length;
      this.view.set(from, this.view.whole);
    }
  }

  select(place: Place | null): void {
    this.selected = place;
    this.emit("select");
    this.emit("draw");
  }

  setRange(range: Range | null): void {
    this.range = range;
    this.emit("range");
    this.emit("draw");
  }

  highlight(sets: (Set<number> | null)[]): void {
    this.highlighted = sets;
    this.emit("highlight");
    this.emit("draw");
  }
}
