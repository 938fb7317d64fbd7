// Tracks of what is no call: counters, tasks, instants, finished events of devices.

import { CALL, type Tile } from "./tile";
import type { Capture } from "./types";

/** Kind, thread, name, time, value; arguments where there are any. */
export type Mark = [kind: string, thread: number, name: number, time: number, value: number | string, args?: Record<string, unknown> | null, depth?: number];

export interface Marks {
  more: boolean;
  marks: Mark[];
}

export interface Series {
  name: number;
  times: Float64Array;
  values: Float64Array;
  least: number;
  most: number;
}

/** An interval to be laid out in lanes. */
export interface Span {
  name: number;
  start: number;
  end: number;
  thread: number;
  id: string;
  args?: Record<string, unknown>;
}

export interface Extra {
  process: number;
  title: string;
  detail: string;
  series?: Series;
  spans?: Span[];
  /** The device's thread that it is the content of. */
  device?: number;
}

/** An arrow from one call to another. */
export interface Arrow {
  name: number;
  from: [thread: number, time: number, depth: number];
  to: [thread: number, time: number, depth: number];
}

/** Each end of an arrow with the beginning that has its name and its id. */
export function arrowsOf(marks: Mark[]): Arrow[] {
  const begun = new Map<string, Mark>();
  const arrows: Arrow[] = [];
  for (const mark of [...marks].sort((a, b) => a[3] - b[3])) {
    const key = `${mark[4]} ${mark[2]}`;
    if (mark[0] === "flow_out") begun.set(key, mark);
    const out = mark[0] === "flow_in" ? begun.get(key) : undefined;
    if (!out) continue;
    const end = (one: Mark): [number, number, number] => [one[1], one[3], Math.max(0, (one[6] ?? 1) - 1)];
    arrows.push({ name: mark[2], from: end(out), to: end(mark) });
  }
  return arrows;
}

const LANES_MOST = 64;

/** Give each span the first lane that is free. Returns them as the parts of a tile. */
export function lanesOf(spans: Span[], length: number): { tile: Tile; spans: Span[] } {
  const ends: number[] = [];
  const rows: Span[][] = [];
  for (const span of [...spans].sort((a, b) => a.start - b.start || b.end - a.end)) {
    let lane = ends.findIndex((end) => end <= span.start);
    if (lane < 0) lane = ends.length < LANES_MOST ? ends.length : LANES_MOST - 1;
    ends[lane] = Math.max(ends[lane] ?? 0, span.end);
    rows[lane] ??= [];
    rows[lane].push(span);
  }
  const ordered = rows.flat();
  const count = ordered.length;
  const starts = [0];
  for (const row of rows) starts.push(starts[starts.length - 1] + row.length);
  const tile: Tile = {
    from: 0,
    length,
    unit: 1,
    count,
    fromSummaries: false,
    deeper: false,
    start: Float64Array.from(ordered, (span) => span.start),
    span: Float64Array.from(ordered, (span) => span.end - span.start),
    busy: Float64Array.from(ordered, (span) => span.end - span.start),
    name: Uint32Array.from(ordered, (span) => span.name),
    calls: new Uint32Array(count).fill(1),
    number: Uint32Array.from(ordered, (_, i) => i + 1),
    high: new Uint8Array(count),
    flags: new Uint8Array(count).fill(CALL),
    rows: Uint32Array.from(starts),
    bytes: 0,
  };
  return { tile, spans: ordered };
}

function seriesOf(name: number, points: Mark[]): Series {
  const sorted = [...points].sort((a, b) => a[3] - b[3]);
  const values = Float64Array.from(sorted, (mark) => Number(mark[4]));
  let least = 0;
  let most = 0;
  for (const value of values) {
    if (value < least) least = value;
    if (value > most) most = value;
  }
  return { name, times: Float64Array.from(sorted, (mark) => mark[3]), values, least, most };
}

/** Spans of tasks: a begin with the end that has its name and its id. */
export function tasksOf(marks: Mark[], end: number): Span[] {
  const open = new Map<string, Span[]>();
  const spans: Span[] = [];
  for (const [kind, thread, name, time, id, args] of [...marks].sort((a, b) => a[3] - b[3])) {
    const key = `${id} ${name}`;
    if (kind === "async_begin") {
      const span: Span = { name, start: time, end, thread, id: String(id), args: args ?? undefined };
      open.set(key, [...(open.get(key) ?? []), span]);
      spans.push(span);
    } else if (kind === "async_end") {
      const span = open.get(key)?.pop();
      if (span) span.end = time;
    }
  }
  return spans;
}

function grouped<K>(marks: Mark[], key: (mark: Mark) => K): Map<K, Mark[]> {
  const groups = new Map<K, Mark[]>();
  for (const mark of marks) {
    const list = groups.get(key(mark));
    if (list) list.push(mark);
    else groups.set(key(mark), [mark]);
  }
  return groups;
}

/** The tracks that MARKS of CAPTURE make. */
export function extrasOf(capture: Capture, marks: Mark[]): Extra[] {
  const process = new Map(capture.threads.map((thread) => [thread.thread, thread.process]));
  const device = new Set(capture.threads.filter((thread) => thread.device).map((thread) => thread.thread));
  const extras: Extra[] = [];
  for (const [which, own] of grouped(marks, (mark) => process.get(mark[1]) ?? 0)) {
    const spans = (list: Mark[]): Span[] =>
      list.map(([kind, thread, name, time, value, args]) => ({
        name,
        start: time,
        end: kind === "complete" ? time + Number(value) : time,
        thread,
        id: kind === "complete" ? "" : String(value),
        args: args ?? undefined,
      }));
    const tasks = tasksOf(
      own.filter((mark) => mark[0].startsWith("async_")),
      capture.duration,
    );
    if (tasks.length) extras.push({ process: which, title: "Tasks", detail: "awaits and spans", spans: tasks });
    const instants = own.filter((mark) => mark[0] === "instant");
    if (instants.length) extras.push({ process: which, title: "Instants", detail: "", spans: spans(instants) });
    for (const [thread, list] of grouped(
      own.filter((mark) => mark[0] === "complete"),
      (mark) => mark[1],
    )) {
      const name = capture.threads.find((known) => known.thread === thread)?.name || `thread ${thread}`;
      extras.push({
        process: which,
        title: `${name}: finished`,
        detail: "",
        spans: spans(list),
        device: device.has(thread) ? thread : undefined,
      });
    }
    for (const [name, list] of grouped(
      own.filter((mark) => mark[0] === "counter"),
      (mark) => mark[2],
    )) {
      extras.push({ process: which, title: capture.names[name]?.[0] ?? "counter", detail: "counter", series: seriesOf(name, list) });
    }
  }
  return extras;
}
