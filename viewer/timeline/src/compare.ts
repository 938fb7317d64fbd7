// Two captures: what functions took in the same stretch of time of both.

import type { Name, Stats } from "./types";

export interface Difference {
  name: Name;
  /** In the first and in the second capture; 0 where it was not called. */
  self: [number, number];
  total: [number, number];
  calls: [number, number];
  /** The number of its name in each, or -1. */
  numbers: [number, number];
}

/** The functions of both, matched by name, file and line; those that changed the most first. */
export function differences(stats: [Stats, Stats], names: [Name[], Name[]]): Difference[] {
  const all = new Map<string, Difference>();
  stats.forEach((one, side) => {
    for (const cost of one.functions) {
      const name = names[side][cost.name] ?? ["(unknown)", "", 0, "span", "own"];
      const key = JSON.stringify(name.slice(0, 3));
      let difference = all.get(key);
      if (!difference) {
        difference = { name, self: [0, 0], total: [0, 0], calls: [0, 0], numbers: [-1, -1] };
        all.set(key, difference);
      }
      difference.self[side] += cost.self;
      difference.total[side] += cost.total;
      difference.calls[side] += cost.calls + cost.resumes;
      difference.numbers[side] = cost.name;
    }
  });
  const change = (one: Difference) => Math.abs(one.self[1] - one.self[0]);
  return [...all.values()].sort((a, b) => change(b) - change(a));
}
