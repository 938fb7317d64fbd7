// Samples: a track below each thread that has any, and their figures. Their functions are numbered
// after those of the calls; a track of samples has the number of its thread plus SAMPLES.

import { duration, fileName, grouped } from "./format";
import type { Column } from "./table";
import type { FunctionCost, Name, Stats, Thread } from "./types";

export const SAMPLES = 2 ** 32;

export interface SampleInfo {
  samples: number;
  /** What a sample represents, in nanoseconds; 0 if unknown. */
  period?: number;
  of_wall?: number;
  threads?: [thread: number, samples: number][];
  names?: Name[];
}

export interface Sample {
  thread: number;
  time: number;
  name: number;
  number: number;
  periods: number;
  weight: number;
  clock: string;
  /** Function and line that was running; innermost first. */
  stack: [number, number][];
}

/** The thread that a track of calls or of samples is about. */
export function threadOf(thread: number): number {
  return thread % SAMPLES;
}

/** The thread of the track of THREAD's samples. */
export function samplesThread(thread: Thread, samples: number): Thread {
  return { ...thread, thread: thread.thread + SAMPLES, records: samples, lost: 0 };
}

/** Is there nothing but samples? */
export function onlySamples(info: SampleInfo | undefined, threads: Thread[]): boolean {
  if (!info?.samples) return false;
  const counts = new Map(info.threads);
  return threads.every((thread) => thread.records === (counts.get(thread.thread) ?? 0));
}

/** STATS of samples with the numbers of the page, where those of samples begin at FIRST. */
export function numbered(stats: Stats, first: number): Stats {
  return {
    ...stats,
    functions: stats.functions.map((row) => ({ ...row, name: row.name + first })),
    tree: stats.tree.map(([name, ...rest]) => [name + first, ...rest]),
  };
}

/** A line about COUNT samples that represent TIME. */
export function words(count: number, time: number): string {
  const samples = count === 1 ? "1 sample" : `${grouped(count)} samples`;
  return time > 0 ? `${samples}, for ${duration(time)}` : samples;
}

/** The columns of a table of functions by samples. */
export function sampleColumns(stats: Stats, name: (row: FunctionCost) => Name): Column<FunctionCost>[] {
  const own = (row: FunctionCost) => row.own ?? 0;
  const where = (row: FunctionCost) => (name(row)[1] ? `${fileName(name(row)[1])}${name(row)[2] ? `:${name(row)[2]}` : ""}` : "");
  return [
    { title: "Function", text: (row) => name(row)[0], sort: (row) => name(row)[0] },
    { title: "Own samples", right: true, hint: "directly in the function", text: (row) => grouped(own(row)), sort: own },
    { title: "%", right: true, hint: "of all samples", text: (row) => ((100 * own(row)) / Math.max(1, stats.calls)).toFixed(1), sort: own },
    { title: "Samples", right: true, hint: "in it or in what it called", text: (row) => grouped(row.calls), sort: (row) => row.calls },
    { title: "About, own", right: true, hint: "the time that they represent", text: (row) => duration(row.self), sort: (row) => row.self },
    { title: "About, in all", right: true, hint: "the time that they represent", text: (row) => duration(row.total), sort: (row) => row.total },
    { title: "File", text: where, sort: (row) => name(row)[1] },
  ];
}
