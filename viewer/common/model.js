// model.js — a tree of calls as arrays, and what can be asked of it.
//
// Node 0 stands for everything. Nodes are in the order of a walk, callers first, so that what
// is below node i is i + 1 up to, and without, end[i], and the siblings of a node follow it at
// end[i], the longest first.

// WALK(add, model) adds COUNT nodes in their order; add(depth, fn, thread, total, self, calls,
// resumes) returns the node's number. WHOLE is what node 0 is called.
function readModel(data, count, whole, walk) {
  const model = {
    data,
    count,
    whole,
    fn: new Int32Array(count), // function of a call; -1 for what is none
    thread: new Int32Array(count), // -1 for none
    parent: new Int32Array(count),
    end: new Int32Array(count),
    depth: new Int32Array(count),
    start: new Float64Array(count), // nanoseconds from the left edge
    total: new Float64Array(count),
    self: new Float64Array(count),
    calls: new Float64Array(count),
    resumes: new Float64Array(count),
    filled: new Float64Array(count), // of a node's time, that of its children
    deepest: 0,
  };
  let at = 0;
  const open = []; // nodes around the next one
  const add = (depth, fn, thread, total, self, calls, resumes) => {
    while (open.length > depth) model.end[open.pop()] = at;
    const above = depth ? open[depth - 1] : 0;
    model.fn[at] = fn;
    model.thread[at] = thread;
    model.parent[at] = above;
    model.depth[at] = depth;
    model.total[at] = total;
    model.self[at] = self;
    model.calls[at] = calls;
    model.resumes[at] = resumes;
    if (depth) {
      model.start[at] = model.start[above] + model.filled[above];
      model.filled[above] += total;
    }
    if (depth > model.deepest) model.deepest = depth;
    open.push(at);
    return at++;
  };
  walk(add, model);
  while (open.length) model.end[open.pop()] = at;
  return model;
}

// Call EACH(depth, i) for every node of the numbers N, of which each has STRIDE from i on, below
// a node at DEPTH.
function eachNode(n, stride, depth, each) {
  for (let i = 0; i < n.length; i += stride) {
    depth += 1 - n[i + 1];
    each(depth, i);
  }
}

// Names come from the program that was recorded. What would not be seen, or would change the
// direction of the text around it, is shown as its code.
function shown(text) {
  return text.replace(/[\u0000-\u001f\u007f-\u009f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff]/g,
    (c) => "\\u" + c.charCodeAt(0).toString(16).padStart(4, "0"));
}

function nameOf(model, node) {
  if (node === 0) return model.whole;
  const fn = model.fn[node];
  return fn < 0 ? shown(model.data.threads[model.thread[node]].name) : model.data.functions[fn].name;
}

function placeOf(model, node) {
  const fn = model.fn[node];
  return fn < 0 ? "" : model.data.functions[fn].place;
}

// Of a function's class: see enum kymo_class.
const CLASS_SPAN = 0, CLASS_PYTHON = 1, CLASS_GC = 6;

function describeFunction(name, file, line, kind) {
  return {
    name: shown(name) || "(unnamed)",
    file,
    kind,
    place: kind === CLASS_PYTHON ? shown(file) + (line ? ":" + line : "")
      : kind === CLASS_SPAN ? "span" : kind === CLASS_GC ? "garbage collector"
      : "C" + (file ? ", " + shown(file) : ""),
    short: kind === CLASS_PYTHON ? shown(file.slice(file.lastIndexOf("/") + 1)) : "",
  };
}

// Which functions TEXT is meant to find: flags by function, or null when it finds none by
// being empty. /…/ is a regular expression, anything else a part of the name or the file.
function findFunctions(model, text) {
  text = text.trim();
  if (!text) return null;
  let fits;
  if (text.length > 2 && text.startsWith("/") && text.endsWith("/")) {
    try {
      const expression = new RegExp(text.slice(1, -1), "i");
      fits = (f) => expression.test(f.name) || expression.test(f.place);
    } catch {
      fits = () => false;
    }
  } else if (text.startsWith("=")) { // one function, as a row of the table gives it
    fits = (f) => f.name === text.slice(1);
  } else {
    const part = text.toLowerCase();
    fits = (f) => f.name.toLowerCase().includes(part) || f.place.toLowerCase().includes(part);
  }
  return Uint8Array.from(model.data.functions, (f) => (fits(f) ? 1 : 0));
}

// Time in the calls found below NODE; one inside another counts once.
function timeFound(model, node, found) {
  let time = 0;
  for (let i = node; i < model.end[node];) {
    if (model.fn[i] >= 0 && found[model.fn[i]]) {
      time += model.total[i];
      i = model.end[i];
    } else {
      i++;
    }
  }
  return time;
}

// What figures are: times, or bytes of memory, which a page about memory says first.
let inBytes = false;

function formatBytes(bytes) {
  const units = [[2 ** 30, "GiB"], [2 ** 20, "MiB"], [2 ** 10, "KiB"]];
  for (const [size, unit] of units)
    if (bytes >= size) return (bytes / size).toPrecision(bytes / size >= 1000 ? 4 : 3) + " " + unit;
  return bytes + " B";
}

// A time in nanoseconds, or an amount of memory.
function formatFigure(value) {
  return inBytes ? formatBytes(value) : formatTime(value);
}

function formatTime(ns) {
  const units = [[1e9, "s"], [1e6, "ms"], [1e3, "µs"]];
  for (const [size, unit] of units)
    if (ns >= size) return (ns / size).toPrecision(ns / size >= 100 ? Math.ceil(Math.log10(ns / size + 1)) : 3) + " " + unit;
  return ns + " ns";
}

function formatShare(part, whole) {
  const share = whole > 0 ? 100 * part / whole : 0;
  return (share >= 99.95 || share === 0 ? share.toFixed(0) : share >= 0.1 ? share.toFixed(1) : share.toPrecision(1)) + " %";
}

function formatCount(n) {
  return String(n).replace(/\B(?=(\d{3})+$)/g, "\u202f");
}
