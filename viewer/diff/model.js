// model.js — two captures' calls: a tree for each, whose nodes also have what the same path took
// in the other.

function readComparison(data) {
  const cost = ([there, calls, resumes, self, total, mean]) => ({ there: there === 1, calls, resumes, self, total, mean });
  data.functions = data.functions.map(([name, file, line, kind, ...figures]) => {
    const sides = [cost(figures.slice(0, 6)), cost(figures.slice(6))];
    return { ...describeFunction(name, file, line, kind), sides, change: sides[1].self - sides[0].self };
  });
  data.models = data.trees.map((tree, side) => readSide(data, tree.nodes, side));
  return data.models[1];
}

function readSide(data, n, side) {
  const STRIDE = 10, count = 1 + n.length / STRIDE;
  const busy = data.captures.map((capture) => capture.busy);
  return readModel(data, count, "all calls", (add, model) => {
    Object.assign(model, {
      side,
      otherTotal: new Float64Array(count),
      otherSelf: new Float64Array(count),
      otherCalls: new Float64Array(count),
      otherResumes: new Float64Array(count),
    });
    model.otherTotal[add(0, -1, -1, busy[side], 0, 0, 0)] = busy[1 - side];
    eachNode(n, STRIDE, 0, (depth, i) => {
      const node = add(depth, n[i], -1, n[i + 2], n[i + 3], n[i + 4], n[i + 5]);
      model.otherTotal[node] = n[i + 6];
      model.otherSelf[node] = n[i + 7];
      model.otherCalls[node] = n[i + 8];
      model.otherResumes[node] = n[i + 9];
    });
    model.most = 1; // change of a path's self time
    for (let i = 1; i < count; i++) model.most = Math.max(model.most, Math.abs(changeOf(model, i)));
  });
}

// How much more self time B's calls on the path to NODE took.
function changeOf(model, node) {
  const more = model.self[node] - model.otherSelf[node];
  return model.side === 1 ? more : -more;
}

// What MODEL and the tree of the other capture have of NODE, as [A, B].
function bothOf(model, node, what) {
  const own = model[what][node], other = model["other" + what[0].toUpperCase() + what.slice(1)][node];
  return model.side === 1 ? [other, own] : [own, other];
}

// The node of TO on the same path as NODE of FROM, or its nearest caller that TO has.
function samePath(from, node, to) {
  const path = [];
  for (let i = node; i !== 0; i = from.parent[i]) path.unshift(from.fn[i]);
  let at = 0;
  for (const fn of path) {
    let child = at + 1;
    while (child < to.end[at] && to.fn[child] !== fn) child = to.end[child];
    if (child >= to.end[at]) break;
    at = child;
  }
  return at;
}

function formatChange(before, after, format) {
  const change = after - before;
  return (change > 0 ? "+" : change < 0 ? "−" : "±") + format(Math.abs(change));
}

function formatRatio(before, after) {
  if (!(before > 0)) return "";
  const ratio = after / before;
  return "×" + (ratio >= 100 ? formatCount(Math.round(ratio)) : ratio.toFixed(2));
}
