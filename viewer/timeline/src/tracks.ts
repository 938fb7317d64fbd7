// The tracks: which there are, in which order, folded or not, and where they are on the screen.

import { lanesOf, type Arrow, type Extra, type Series, type Span } from "./marks";
import { memoryGroup, type Memory, type MemoryOf } from "./memory";
import { samplesThread } from "./samples";
import type { Tile } from "./tile";
import type { Capture, Thread } from "./types";

export const ROW = 18;
export const HEAD = 22; // of a group
const GAP = 6;
const FOLDED = 22;
const EMPTY = 26;
const COUNTER = 46;
const DEPTHS_SHOWN = 256;

export interface Track {
  kind: "thread";
  key: string;
  capture: number;
  thread: Thread;
  title: string;
  detail: string;
  group: Group;
  folded: boolean;
  pinned: boolean;
  y: number;
  height: number;
  depths: number;
  /** A track that is here in full: its spans, by lane, and the same as a tile. */
  tile?: Tile;
  spans?: Span[];
  series?: Series;
  /** It shows live memory. */
  memory?: MemoryOf;
  /** It shows the samples of its thread. */
  samples?: boolean;
}

export interface Group {
  kind: "group";
  key: string;
  capture: number;
  title: string;
  detail: string;
  folded: boolean;
  tracks: Track[];
  y: number;
  height: number;
}

export class Tracks {
  groups: Group[] = [];
  filter = "";
  /** What is shown, from top to bottom. */
  shown: (Track | Group)[] = [];
  height = 0;

  /** By capture: arrows between calls. */
  arrows: Arrow[][] = [];
  /** By capture: live memory. */
  memory: Memory[] = [];
  /** By capture: samples by thread. */
  samples: Map<number, number>[] = [];
  /** By capture: tracks of what is no call. */
  extras: Extra[][] = [];
  /** Keys of groups in which the user moved a track. */
  private arranged = new Set<string>();

  /** Take over what CAPTURES have; what the user did to known tracks stays. */
  load(captures: Capture[]): void {
    const known = new Map<string, Track | Group>();
    for (const group of this.groups) {
      known.set(group.key, group);
      for (const track of group.tracks) known.set(track.key, track);
    }
    this.groups = captures.flatMap((capture, which) => {
      const groups = this.groupsOf(capture, which, captures.length > 1, known);
      const memory = this.memory[which];
      if (!memory?.series?.length) return groups;
      return [memoryGroup(memory, which, captures.length > 1 ? capture.file : "", capture.duration, known), ...groups];
    });
    for (const [which, capture] of captures.entries()) this.addExtras(capture, which, known);
    const order = new Map([...known.keys()].map((key, i) => [key, i]));
    const place = (track: Track) => order.get(track.key) ?? order.size; // new ones come last
    for (const group of this.groups) if (this.arranged.has(group.key)) group.tracks.sort((a, b) => place(a) - place(b));
  }

  private groupsOf(capture: Capture, which: number, named: boolean, known: Map<string, Track | Group>): Group[] {
    const groups = new Map<number, Group>();
    for (const thread of capture.threads) {
      let group = groups.get(thread.process);
      if (!group) {
        const process = capture.processes[thread.process] ?? { pid: 0, name: "", machine: "" };
        const key = `${which}/${thread.process}`;
        group = {
          kind: "group",
          key,
          capture: which,
          title: (named ? `${capture.file} · ` : "") + (process.name || `process ${process.pid}`),
          detail: `pid ${process.pid}${process.machine ? ` on ${process.machine}` : ""}`,
          folded: known.get(key)?.folded ?? false,
          tracks: [],
          y: 0,
          height: HEAD,
        };
        groups.set(thread.process, group);
      }
      const title = thread.name || (thread.device ? `stream ${thread.thread}` : `thread ${thread.tid}`);
      const samples = this.samples[which]?.get(thread.thread) ?? 0;
      const only = samples > 0 && samples === thread.records;
      if (!only) group.tracks.push(this.trackOf(thread, which, group, title, String(thread.tid), known));
      if (samples) {
        const names = only ? [title, "samples"] : ["samples", title];
        group.tracks.push({ ...this.trackOf(samplesThread(thread, samples), which, group, names[0], names[1], known), samples: true });
      }
    }
    return [...groups.values()];
  }

  private trackOf(thread: Thread, which: number, group: Group, title: string, detail: string, known: Map<string, Track | Group>): Track {
    const key = `${which}:${thread.thread}`;
    const before = known.get(key) as Track | undefined;
    return {
      kind: "thread",
      key,
      capture: which,
      thread,
      title,
      detail,
      group,
      folded: before?.folded ?? false,
      pinned: before?.pinned ?? false,
      y: 0,
      height: 0,
      depths: before?.depths ?? 0,
    };
  }

  private addExtras(capture: Capture, which: number, known: Map<string, Track | Group>): void {
    (this.extras[which] ?? []).forEach((extra, i) => {
      const group = this.groups.find((one) => one.key === `${which}/${extra.process}`);
      if (!group) return;
      const lanes = extra.spans && lanesOf(extra.spans, capture.duration);
      const device = group.tracks.find((track) => track.thread.thread === extra.device && extra.device !== undefined);
      if (device) {
        Object.assign(device, lanes);
        return;
      }
      const key = `${which}:${extra.title}`;
      const before = known.get(key) as Track | undefined;
      const thread: Thread = {
        thread: -1 - i,
        tid: 0,
        name: extra.title,
        process: extra.process,
        records: extra.spans?.length ?? extra.series?.times.length ?? 0,
        lost: 0,
        first: 0,
        last: capture.duration,
        device: false,
        summaries: false,
      };
      group.tracks.push({
        kind: "thread",
        key,
        capture: which,
        thread,
        title: extra.title,
        detail: extra.detail,
        group,
        folded: before?.folded ?? false,
        pinned: before?.pinned ?? false,
        y: 0,
        height: 0,
        depths: 0,
        series: extra.series,
        ...lanes,
      });
    });
    // Counters and tasks of a process come before its threads: those are long.
    for (const group of this.groups) {
      group.tracks.sort((a, b) => Number(b.thread.thread < 0) - Number(a.thread.thread < 0));
    }
  }

  all(): Track[] {
    return this.groups.flatMap((group) => group.tracks);
  }

  /** TRACK as it is now: when more of a capture is known, tracks are made anew. */
  now(track: Track): Track {
    return this.all().find((one) => one.key === track.key) ?? track;
  }

  groupNow(group: Group): Group {
    return this.groups.find((one) => one.key === group.key) ?? group;
  }

  find(capture: number, thread: number): Track | undefined {
    return this.all().find((track) => track.capture === capture && track.thread.thread === thread);
  }

  private wanted(track: Track): boolean {
    const words = this.filter.toLowerCase().split(/\s+/).filter(Boolean);
    const text = `${track.title} ${track.detail} ${track.group.title}`.toLowerCase();
    return words.every((word) => text.includes(word));
  }

  /** Move TRACK up (-1) or down (1) within its group. */
  move(track: Track, by: number): void {
    const list = track.group.tracks;
    const at = list.indexOf(track);
    const to = Math.max(0, Math.min(list.length - 1, at + by));
    list.splice(at, 1);
    list.splice(to, 0, track);
    this.arranged.add(track.group.key);
  }

  /** Decide what is where. DEPTHS tells how many rows a track needs. */
  layOut(depths: (track: Track) => number): void {
    let y = 0;
    this.shown = [];
    const place = (track: Track) => {
      track.depths = Math.min(DEPTHS_SHOWN, track.tile ? track.tile.rows.length - 1 : depths(track));
      track.y = y;
      track.height = track.folded ? FOLDED : track.series || track.memory ? COUNTER : Math.max(EMPTY, track.depths * ROW + GAP);
      this.shown.push(track);
      y += track.height;
    };
    const pinned = this.all().filter((track) => track.pinned && this.wanted(track));
    for (const track of pinned) place(track);
    for (const group of this.groups) {
      const tracks = group.tracks.filter((track) => !track.pinned && this.wanted(track));
      if (!tracks.length) continue;
      group.y = y;
      this.shown.push(group);
      y += group.height;
      if (!group.folded) for (const track of tracks) place(track);
    }
    this.height = y + 40;
  }

  at(y: number): Track | Group | undefined {
    return this.shown.find((item) => y >= item.y && y < item.y + item.height);
  }
}
