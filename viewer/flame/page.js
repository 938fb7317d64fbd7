// page.js — the page of one capture: its parts are threads, -1 stands for all of them.

class CapturePage extends Page {
  // ---- threads

  firstPart() {
    return -1;
  }

  partCount() {
    return this.model.data.threads.length;
  }

  partOf(node) {
    return node === 0 ? -1 : this.state.part;
  }

  rootOf(part) {
    return part < 0 ? 0 : this.model.roots[part] || 0;
  }

  // Where a part that was chosen is looked at first.
  nodeIn(part) {
    return this.rootOf(part);
  }

  // All parts are in one model, but there are two of it: everything, and folded.
  use(part, all) {
    const { models } = this.model;
    $("unfold").hidden = models.length < 2;
    $("unfold").setAttribute("aria-pressed", Boolean(all));
    const model = models[models.length > 1 && !all ? 1 : 0];
    if (model === this.model) return;
    this.model = this.graph.model = model;
    this.graph.hovered = this.graph.chosen = -1;
    this.searched = false;
    this.describe();
    this.paint();
  }

  // ---- what is said

  describe() {
    const { data } = this.model, busy = this.model.total[0], title = shown(data.title) || "kymograph";
    const calls = data.samples || data.functions.reduce((sum, f) => sum + (f.calls || 0), 0);
    const what = inBytes ? "blocks" : data.samples ? "samples" : "calls";
    const notes = endingNotes(data, "The");
    if (inBytes) notes.push("Sizes are what the program requested; of mappings, what it mapped. Neither is resident memory.");
    else if (data.samples) notes.push("Times are estimates: how often threads were found there, times the time between two samples.");
    if (inBytes && data.memory.rate) notes.push(`Figures are estimates from samples, one for each ${formatBytes(data.memory.rate)} on average.`);
    if (data.hidden) notes.push(`${hiddenNote(data)} The table of all threads has them all.`);
    if (this.model.waiting) notes.push(`${formatTime(this.model.waiting)} of waiting (locks, sleep, sockets, ...) are not drawn.`);
    if (this.model.folded) notes.push("Calls inside libraries and imports count for the call that led there.");
    if (this.model.waiting || this.model.folded) notes.push("Unfold shows everything.");
    if (data.folded) notes.push(`${formatCount(data.folded)} ${what} on rare paths count for their callers.`);
    $("title").textContent = title;
    this.head(`${title} — flame graph`, [
      new Date(data.start / 1e6).toLocaleString(), formatTime(data.duration),
      `${formatCount(calls)} ${what}`,
      ...(inBytes ? [] : [`${data.threads.length} thread${data.threads.length === 1 ? "" : "s"}`]),
      inBytes ? `${formatBytes(busy)}: ${data.threads.map((thread) => shown(thread.name)).join(", ")}`
        : `${formatTime(busy)} ${this.model.folded ? "of work in" : "in"} ${what}`,
    ].join(" · "), notes);
    if (data.memory) drawMemory(data.memory, data.duration, $("memory"));
    this.offer("Thread", [[-1, "All threads"], ...data.threads.map((thread, i) =>
      [i, `${shown(thread.name).slice(0, 80)} · ${formatShare(this.model.total[this.model.roots[i]] || 0, busy)}`])]);
  }

  figures(node) {
    const { model } = this, whole = model.total[0], view = model.total[this.state.node];
    const rows = [["Total", formatFigure(model.total[node]), `${formatShare(model.total[node], view)} of the view` +
      (this.state.node ? `, ${formatShare(model.total[node], whole)} of all` : "")]];
    if (model.fn[node] >= 0) {
      rows.push(["Self", formatFigure(model.self[node]), `${formatShare(model.self[node], view)} of the view`]);
      if (model.data.samples) rows.push([inBytes ? "Blocks" : "Samples", formatCount(model.calls[node]), ""]);
      else rows.push(["Calls", formatCount(model.calls[node]), model.calls[node] > 1
        ? `${formatTime(Math.round(model.total[node] / model.calls[node]))} each` : ""]);
      if (model.resumes[node]) rows.push(["Resumes", formatCount(model.resumes[node]), ""]);
    }
    return rows;
  }

  // ---- the table

  columns() {
    const mean = (cost) => cost.total / (cost.calls || 1), { samples } = this.model.data;
    return [
      { title: "Self", first: true, figure: (cost) => cost.self, show: (cost) => formatFigure(cost.self) },
      {
        title: "Self %", kind: "share", figure: (cost) => cost.self,
        show: (cost) => withBar(formatShare(cost.self, this.model.total[this.state.node]), cost.self / this.most),
      },
      { title: "Total", figure: (cost) => cost.total, show: (cost) => formatFigure(cost.total) },
      {
        title: inBytes ? "Blocks" : samples ? "Samples" : "Calls", figure: (cost) => cost.calls, show: (cost) => formatCount(cost.calls),
        hint: (cost) => cost.resumes ? `and resumed ${formatCount(cost.resumes)} times` : "",
      },
      ...(samples ? []
        : [{ title: "Total per call", figure: mean, show: (cost) => cost.calls ? formatTime(Math.round(mean(cost))) : "" }]),
      ...nameColumns(this.model.data.functions),
    ];
  }

  rows(node) {
    const costs = costsBelow(this.model, node).filter((cost) => cost.calls + cost.resumes);
    this.most = costs.reduce((most, cost) => Math.max(most, cost.self), 1);
    return costs;
  }

  // ---- colours

  colours(dark) {
    const of = this.model.data.functions.map((f) => functionColour(f, dark));
    return { ofCall: (node) => of[this.model.fn[node]], ofFunction: (fn) => of[fn] };
  }

  legend() {
    return LEGEND;
  }
}

// The page of the timeline, in the place of this one: its own style, markup, data and script.
function showTimeline(page) {
  document.querySelector("style").remove();
  // What is for a head: this page's own policy goes on, and a browser complains of a second one.
  for (const element of page.content.querySelectorAll("meta, title, link")) element.remove();
  document.body.replaceChildren(page.content);
}

function wantsTimeline() {
  return new URLSearchParams(location.hash.slice(1)).get("view") === "timeline";
}

// Each page listens to the keys and the address as if it were alone: the other one begins anew.
function start() {
  const timeline = $("timeline");
  if (timeline && wantsTimeline()) {
    showTimeline(timeline);
    addEventListener("hashchange", () => wantsTimeline() || location.reload());
    return;
  }
  const data = readData();
  inBytes = data.unit === "bytes";
  const capture = readCapture(data);
  capture.models = [capture];
  if (hasOwn(capture)) capture.models.push(Object.assign(foldModel(capture), { models: capture.models }));
  new CapturePage(capture.models[capture.models.length - 1], "thread");
  if (!timeline) return;
  $("tab-timeline").hidden = false;
  $("tab-timeline").addEventListener("click", () => { location.hash = "view=timeline"; });
  addEventListener("hashchange", () => wantsTimeline() && location.reload());
}

start();
