// colours.js — what colour a call is drawn in: Python's functions by their file, so that what
// belongs together looks it, and everything else by what it is.

const HUES = [62, 38, 88, 112, 140, 20, 165, 75, 190, 48, 125, 100];

function hash(text) {
  let h = 2166136261;
  for (let i = 0; i < text.length; i++) h = Math.imul(h ^ text.charCodeAt(i), 16777619);
  return (h ^ (h >>> 15)) >>> 0;
}

function functionColour(f, dark) {
  const vary = (hash(f.name) % 7) / 100;
  const light = (dark ? 0.46 : 0.82) + vary * (dark ? 1.2 : 1);
  if (f.kind === CLASS_GC) return `oklch(${dark ? 0.5 : 0.72} 0.15 25)`;
  if (f.kind === CLASS_SPAN) return `oklch(${light} ${dark ? 0.1 : 0.085} ${285 + (hash(f.name) % 41)})`;
  if (f.kind !== CLASS_PYTHON) return `oklch(${light} 0.035 245)`;
  const hue = HUES[hash(f.file) % HUES.length] + (hash(f.name) % 9) - 4;
  return `oklch(${light} ${dark ? 0.085 : 0.1} ${hue})`;
}

function makeColours(functions, dark) {
  return {
    dark,
    of: functions.map((f) => functionColour(f, dark)),
    thread: dark ? "#39404d" : "#dcdfe5",
    text: dark ? "#f2f3f5" : "#20242b",
    dimText: dark ? "#8d95a3" : "#9aa1ab",
    dim: dark ? "#2a2e37" : "#eceae5",
    found: dark ? "#d1447f" : "#f06ba8",
    small: dark ? "#343a45" : "#d9d6cf",
    edge: dark ? "#ffffff" : "#14171c",
  };
}

const LEGEND = [
  ["Python, by file", (dark) => `oklch(${dark ? 0.5 : 0.85} ${dark ? 0.085 : 0.1} 62)`],
  ["C", (dark) => `oklch(${dark ? 0.5 : 0.85} 0.035 245)`],
  ["span", (dark) => `oklch(${dark ? 0.5 : 0.85} 0.09 305)`],
  ["garbage collection", (dark) => `oklch(${dark ? 0.5 : 0.72} 0.15 25)`],
];
