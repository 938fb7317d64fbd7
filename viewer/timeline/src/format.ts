// Numbers for people.

const UNITS: [number, string][] = [
  [1e9, "s"],
  [1e6, "ms"],
  [1e3, "µs"],
  [1, "ns"],
];

/** A duration in nanoseconds, with three or four digits. */
export function duration(ns: number): string {
  const size = Math.abs(ns);
  if (size >= 600e9) {
    const minutes = Math.floor(size / 60e9);
    const seconds = Math.round((size - minutes * 60e9) / 1e9);
    return `${ns < 0 ? "−" : ""}${minutes} min ${seconds} s`;
  }
  for (const [unit, word] of UNITS) {
    if (size >= unit) {
      const value = size / unit;
      const digits = unit === 1 ? 0 : value >= 100 ? 1 : value >= 10 ? 2 : 3;
      return `${ns < 0 ? "−" : ""}${value.toFixed(digits)} ${word}`;
    }
  }
  return "0 ns";
}

/** A whole number in groups of three. */
export function grouped(value: number): string {
  return String(Math.round(value)).replace(/\B(?=(\d{3})+$)/g, "\u202f");
}

/** A point in time, with as many digits as STEP, the distance of the next one, needs. */
export function moment(ns: number, step: number): string {
  const [unit, word] = UNITS.find(([u]) => step >= u / 1000 && Math.abs(ns) >= u) ?? UNITS[3];
  const digits = Math.max(0, Math.min(9, Math.ceil(-Math.log10(step / unit) - 1e-9)));
  return `${(ns / unit).toFixed(digits)} ${word}`;
}

/** The largest step of 1, 2 or 5 times a power of ten that is at least LEAST. */
export function roundStep(least: number): number {
  const power = 10 ** Math.floor(Math.log10(Math.max(least, 1)));
  for (const factor of [1, 2, 5, 10]) {
    if (power * factor >= least) return power * factor;
  }
  return power * 10;
}

/** The last part of a path. */
export function fileName(path: string): string {
  return path.slice(path.lastIndexOf("/") + 1);
}
