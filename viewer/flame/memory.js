// memory.js — memory over time: live bytes by category, one on top of the other, with resident
// memory as a line, and a mark where the flame graph was taken.

const MEMORY_HUES = { objects: 62, python: 38, tracked: 112, native: 245, mappings: 305, arenas: 165 };

function drawMemory(memory, duration, figure) {
  const WIDTH = 1000, HEIGHT = 90, [svg, caption] = figure.children, SVG = svg.namespaceURI;
  const shape = (tag, attributes, title) => {
    const element = document.createElementNS(SVG, tag);
    for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
    if (title) element.append(Object.assign(document.createElementNS(SVG, "title"), { textContent: title }));
    return element;
  };
  const { times, series, resident, at } = memory;
  const below = times.map(() => 0), sums = times.map((_, i) => series.reduce((sum, [, bytes]) => sum + bytes[i], 0));
  const most = Math.max(1, ...sums, ...resident);
  const x = (time) => (WIDTH * time / Math.max(1, duration)).toFixed(1), y = (bytes) => (HEIGHT * (1 - bytes / most)).toFixed(1);
  svg.setAttribute("viewBox", `0 0 ${WIDTH} ${HEIGHT}`);
  svg.replaceChildren();
  for (const [name, bytes] of series) {
    const bottom = times.map((time, i) => `${x(time)},${y(below[i])}`).reverse();
    bytes.forEach((value, i) => { below[i] += value; });
    const top = times.map((time, i) => `${x(time)},${y(below[i])}`);
    svg.append(shape("polygon", { points: [...top, ...bottom].join(" "), fill: `oklch(0.7 0.1 ${MEMORY_HUES[name] || 0})` }, name));
  }
  const measured = times.map((time, i) => [time, resident[i]]).filter(([, bytes]) => bytes);
  svg.append(shape("polyline", { points: measured.map(([time, bytes]) => `${x(time)},${y(bytes)}`).join(" "), fill: "none", stroke: "currentColor", "vector-effect": "non-scaling-stroke" }, "resident memory"));
  if (at !== null) svg.append(shape("line", { x1: x(at), x2: x(at), y1: 0, y2: HEIGHT, stroke: "red", "vector-effect": "non-scaling-stroke" }, "the flame graph is of this moment"));
  const names = [...series.map(([name]) => name), ...(measured.length ? ["resident (line)"] : [])].join(", ");
  caption.textContent = series.length
    ? `Live memory over ${formatTime(duration)}, at most ${formatBytes(Math.max(0, ...sums))}: ${names}`
    : `Resident memory over ${formatTime(duration)}, at most ${formatBytes(Math.max(0, ...resident))}`;
  figure.hidden = false;
}
