// What the server answers with; docs/internals/viewer.md describes it.

export interface Thread {
  thread: number;
  tid: number;
  name: string;
  process: number;
  records: number;
  lost: number;
  first: number;
  last: number;
  device: boolean;
  summaries: boolean;
}

export interface Process {
  pid: number;
  name: string;
  machine: string;
}

/** Name, file, line, kind, and whose code it is. */
export type Name = [name: string, file: string, line: number, kind: string, origin: string];

/** Thread, first, last, records missing, reason. */
export type Gap = [thread: number, first: number, last: number, missing: number, reason: string];

export interface Capture {
  file: string;
  generation: number;
  ending: string;
  wall_start: number;
  duration: number;
  records: number;
  lost: number;
  expired: number;
  damaged: number;
  unknown: number;
  threads_all: number;
  processes: Process[];
  threads: Thread[];
  names: Name[];
  gaps: Gap[];
}

export interface Overview {
  kymograph: string;
  captures: Capture[];
}

export interface Call {
  id: number;
  number: number;
  thread: number;
  depth: number;
  name: number;
  start: number;
  duration: number;
  self: number;
  self_about: boolean;
  entered: string;
  ended: string;
  task?: number;
  /** Name, start, depth; outermost first. */
  callers: [number, number, number][];
  args: Record<string, unknown>;
  source?: { first: number; lines: string[] };
}

export interface FunctionCost {
  name: number;
  calls: number;
  resumes: number;
  /** Of samples: those directly in it. */
  own?: number;
  self: number;
  total: number;
  mean: number;
  min: number;
  max: number;
  p50: number;
  p90: number;
  p99: number;
}

export interface Stats {
  from: number;
  to: number;
  calls: number;
  busy: number;
  functions_all: number;
  functions: FunctionCost[];
  /** Name, index of the parent or -1, calls, self, total; parents come first. */
  tree: [number, number, number, number, number][];
}

export interface Found {
  found: boolean;
  done: boolean;
  time: number;
  thread: number;
  depth: number;
  name: number;
  number: number;
}

/** The durations of one function's calls; bars without calls are left out. */
export interface CallDurations {
  calls: number;
  /** Calls that are not in the bars, because their ends were not reached. */
  open: number;
  median: number;
  p99: number;
  longest: number;
  /** Was all of the range read? If not: calls that began before `until` are counted, of later ones only some. */
  complete: boolean;
  until?: number;
  events: number;
  bars: DurationBar[];
}

export interface DurationBar {
  bar: number;
  from: number;
  to: number;
  calls: number;
  /** Thread, start, depth, duration; the longest first, and not all if there are many. */
  longest: [number, number, number, number][];
}

/** A place on the timeline where a call begins. */
export interface Place {
  capture: number;
  thread: number;
  start: number;
  depth: number;
}

/** A row of the answer to SQL. */
export type Row = Record<string, number | string | null>;

export interface Range {
  from: number;
  to: number;
}
