// colours.js — what colour a call is drawn in: Python's functions by their file, so that what
// belongs together looks it, and everything else by what it is.

const HUES = [62, 38, 88, 112, 140, 20, 165, 75, 190, 48, 125, 100];

function functionColour(f, dark) {
  const vary = (hash(f.name) % 7) / 100;
  const light = (dark ? 0.46 : 0.82) + vary * (dark ? 1.2 : 1);
  if (f.kind === CLASS_GC) return `oklch(${dark ? 0.5 : 0.72} 0.15 25)`;
  if (f.waits) return `oklch(${dark ? 0.36 : 0.91} 0.006 245)`;
  if (f.kind === CLASS_SPAN) return `oklch(${light} ${dark ? 0.1 : 0.085} ${285 + (hash(f.name) % 41)})`;
  if (f.kind !== CLASS_PYTHON) return `oklch(${light} 0.035 245)`;
  const hue = HUES[hash(f.file) % HUES.length] + (hash(f.name) % 9) - 4;
  return `oklch(${light} ${dark ? 0.085 : 0.1} ${hue})`;
}

const LEGEND = [
  ["Python, by file", (dark) => `oklch(${dark ? 0.5 : 0.85} ${dark ? 0.085 : 0.1} 62)`],
  ["C", (dark) => `oklch(${dark ? 0.5 : 0.85} 0.035 245)`],
  ["waiting", (dark) => `oklch(${dark ? 0.36 : 0.91} 0.006 245)`],
  ["span", (dark) => `oklch(${dark ? 0.5 : 0.85} 0.09 305)`],
  ["garbage collection", (dark) => `oklch(${dark ? 0.5 : 0.72} 0.15 25)`],
];
