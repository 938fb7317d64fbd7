// fold.js — a capture's calls as they are shown first: work apart from waiting, and calls inside
// libraries taken together with the call that led there. `kymograph report` does the same
// (src/model/sum/fold.c).

const OWN = 0, IMPORT = 2, BUILTIN = 3;

// The functions with one more, which stands for all imports.
function withImports(functions) {
  return [...functions, { ...describeFunction("(imports)", "", 0, CLASS_PYTHON), origin: IMPORT, waits: 0 }];
}

function originsOf(model) {
  const { functions } = model.data;
  const outermost = (i) => model.depth[i] === 2 && model.fn[i] >= 0;
  let string = false;
  for (let i = 0; i < model.count && !string; i++) string = outermost(i) && functions[model.fn[i]].file === "<string>";
  return functions.map((f) => (f.origin === OWN && f.file === "<string>" && !string ? BUILTIN : f.origin));
}

// Whether folding leaves anything of the program's own to look at.
function hasOwn(model) {
  const origins = originsOf(model);
  return model.fn.some((fn) => fn >= 0 && origins[fn] === OWN && model.data.functions[fn].kind !== CLASS_GC);
}

// MODEL folded: a model of its own, of the same threads. `waiting` is the time that is not in it.
function foldModel(model) {
  const functions = withImports(model.data.functions), origins = originsOf(model), imports = functions.length - 1;
  const all = []; // callers before what they call
  const here = new Array(model.count); // by node: the one that is shown for it
  let waiting = 0;
  const make = (above, fn, thread) => {
    all.push({ above, fn, thread, total: 0, self: 0, calls: 0, resumes: 0, below: new Map() });
    return all[all.length - 1];
  };
  const enter = (above, fn, thread) => {
    const key = fn < 0 ? `thread ${thread}` : fn;
    if (!above.below.has(key)) above.below.set(key, make(above, fn, thread));
    return above.below.get(key);
  };
  const root = make(null, -1, -1);
  here[0] = root;
  for (let i = 1; i < model.count; i++) {
    const above = here[model.parent[i]], fn = model.fn[i];
    const caller = model.fn[model.parent[i]];
    here[i] = above;
    if (fn >= 0 && functions[fn].waits) {
      waiting += model.self[i];
      continue;
    }
    if (fn < 0 || caller < 0 || origins[fn] === OWN || origins[caller] === OWN) {
      here[i] = enter(above, fn >= 0 && origins[fn] === IMPORT ? imports : fn, model.thread[i]);
      here[i].calls += model.calls[i];
      here[i].resumes += model.resumes[i];
    }
    here[i].self += model.self[i];
    // Of what is too short to be drawn only the time is known.
    here[i].total += fn < 0 ? 0 : model.total[i] - model.filled[i];
  }
  for (let i = all.length - 1; i > 0; i--) all[i].above.total += all[i].total;
  const folded = readModel({ ...model.data, functions }, all.length, model.whole, (add, built) => {
    built.roots = [];
    const open = [[root, 0]];
    while (open.length) {
      const [node, depth] = open.pop();
      const at = add(depth, node.fn, node.thread, node.total, node.self, node.calls, node.resumes);
      if (depth === 1) built.roots[node.thread] = at;
      const below = [...node.below.values()].sort((a, b) => a.total - b.total);
      for (const next of below) open.push([next, depth + 1]); // the longest is taken first
    }
  });
  folded.waiting = waiting;
  folded.folded = true;
  return folded;
}
