// model.js — a capture's calls: below node 0 are its threads, below them their outermost calls.

function readCapture(data) {
  data.functions = data.functions.map(([name, file, line, kind, calls, resumes, self, total, origin, waits]) =>
    ({ ...describeFunction(name, file, line, kind), calls, resumes, self, total, origin, waits }));
  const STRIDE = 6, busy = data.threads.reduce((sum, thread) => sum + thread.busy, 0);
  const count = data.threads.reduce((sum, thread) => sum + 1 + thread.nodes.length / STRIDE, 1);
  return readModel(data, count, "all threads", (add, model) => {
    add(0, -1, -1, busy, 0, 0, 0);
    model.roots = data.threads.map(({ busy: total, nodes: n }, index) => {
      const root = add(1, -1, index, total, 0, 0, 0);
      eachNode(n, STRIDE, 1, (depth, i) => add(depth, n[i], index, n[i + 2], n[i + 3], n[i + 4], n[i + 5]));
      return root;
    });
  });
}

// What the functions called below NODE cost. Everything together, unless it is folded, was
// counted before anything was left out, and so is exact.
function costsBelow(model, node) {
  const functions = model.data.functions;
  if (node === 0 && !model.folded) return functions.map((f, fn) => ({ fn, calls: f.calls, resumes: f.resumes, self: f.self, total: f.total }));
  const costs = new Map();
  const open = []; // nodes around node i
  const active = new Map(); // by function: how many of them are its
  for (let i = node; i < model.end[node]; i++) {
    while (open.length && model.end[open[open.length - 1]] <= i) {
      const fn = model.fn[open.pop()];
      active.set(fn, active.get(fn) - 1);
    }
    const fn = model.fn[i], inside = active.get(fn) || 0;
    active.set(fn, inside + 1);
    open.push(i);
    if (fn < 0) continue;
    let cost = costs.get(fn);
    if (!cost) costs.set(fn, cost = { fn, calls: 0, resumes: 0, self: 0, total: 0 });
    if (!(inside && model.data.samples)) cost.calls += model.calls[i]; // a sample counts once
    cost.resumes += model.resumes[i];
    cost.self += model.self[i];
    if (!inside) cost.total += model.total[i];
  }
  return [...costs.values()];
}
