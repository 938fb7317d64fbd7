// page.js — the page: what is in view, and what buttons, keys and the address do about it.
// The address holds the state behind #, so that a view can be linked to and Back works.

const $ = (id) => document.getElementById(id);

function make(tag, text) {
  const element = document.createElement(tag);
  element.textContent = text;
  return element;
}

class Page {
  constructor(data) {
    prepareFunctions(data);
    this.model = readModel(data);
    this.state = { view: "flame", thread: -1, node: 0, query: "" };
    this.graph = new Graph(this.model, $("graph"), $("scroll"), $("space"));
    this.table = new Table(this.model, $("heads"), $("rows"), $("more"), (fn) => {
      this.go({ view: "flame", query: "=" + data.functions[fn].name });
    });
    this.describe(data);
    this.listen();
    this.paint();
    this.readAddress();
  }

  describe(data) {
    const calls = data.functions.reduce((sum, f) => sum + f.calls, 0), busy = this.model.total[0];
    document.title = `${shown(data.title) || "kymo"} — flame graph`;
    $("title").textContent = shown(data.title) || "kymo";
    $("summary").textContent = [
      new Date(data.start / 1e6).toLocaleString(), formatTime(data.duration),
      `${formatCount(calls)} calls`, `${data.threads.length} thread${data.threads.length === 1 ? "" : "s"}`,
      `${formatTime(busy)} in calls`,
    ].join(" · ");
    const notes = [];
    if (data.ending === "killed") notes.push("The process ended without stopping the recording.");
    if (data.ending === "running") notes.push("The recording was still running.");
    if (data.ending === "failed") notes.push("Writing the recording failed.");
    if (data.lost) notes.push(`${formatCount(data.lost)} events are missing; calls around them may be cut.`);
    if (data.hidden) notes.push(`${formatCount(data.hidden)} call paths, each shorter than ${formatTime(data.shortest)}, are not drawn: they are the blank below their callers. The table of all threads has them all.`);
    if (data.folded) notes.push(`${formatCount(data.folded)} calls on rare paths count as time of their callers.`);
    $("notes").replaceChildren(...notes.map((note) => make("li", note)));
    const all = make("option", "All threads");
    all.value = "-1";
    $("thread").replaceChildren(all, ...data.threads.map((thread, i) => {
      const option = make("option", `${shown(thread.name).slice(0, 80)} · ${formatShare(thread.busy, busy)}`);
      option.value = i;
      return option;
    }));
    const nothing = this.model.count <= 1;
    $("empty").hidden = !nothing;
    $("scroll").hidden = nothing;
  }

  // ---- state

  root() {
    return this.state.thread < 0 ? 0 : this.model.roots[this.state.thread];
  }

  go(change) {
    const next = { ...this.state, ...change };
    if ("thread" in change && !("node" in change)) next.node = next.thread < 0 ? 0 : this.model.roots[next.thread];
    const pairs = [];
    if (next.view !== "flame") pairs.push("view=" + next.view);
    if (next.thread >= 0) pairs.push("thread=" + next.thread);
    if (next.node) pairs.push("node=" + next.node);
    if (next.query) pairs.push("q=" + encodeURIComponent(next.query));
    const address = "#" + pairs.join("&");
    const typing = "query" in change && Object.keys(change).length === 1;
    try {
      history[typing ? "replaceState" : "pushState"](null, "", address);
    } catch { /* an address that may not change: the page works without */ }
    this.show(next);
  }

  readAddress() {
    const given = new URLSearchParams(location.hash.slice(1)), { data, count, roots } = this.model;
    const number = (key, least, most, otherwise) => {
      const value = given.has(key) ? Number(given.get(key)) : NaN;
      return Number.isInteger(value) && value >= least && value < most ? value : otherwise;
    };
    const thread = number("thread", 0, data.threads.length, -1);
    this.show({
      view: given.get("view") === "functions" ? "functions" : "flame",
      thread,
      node: number("node", 0, count, thread < 0 ? 0 : roots[thread]),
      query: given.get("q") || "",
    });
  }

  show(state) {
    const before = this.state;
    this.state = state;
    const flame = state.view === "flame";
    $("view-flame").hidden = !flame;
    $("view-table").hidden = flame || this.model.count <= 1;
    for (const [tab, on] of [["tab-flame", flame], ["tab-table", !flame]]) {
      $(tab).setAttribute("aria-selected", on);
    }
    $("thread").value = state.thread;
    if ($("search").value !== state.query) $("search").value = state.query;
    if (before.query !== state.query || !this.searched) {
      this.found = findFunctions(this.model, state.query);
      this.searched = true;
    }
    this.graph.found = this.found;
    this.graph.zoom(state.node);
    if (!flame) this.table.fill(state.node, this.found);
    this.showMatched();
    this.showPath();
  }

  showMatched() {
    const { node } = this.state;
    if (!this.found) {
      $("matched").textContent = "";
      return;
    }
    const functions = this.found.reduce((sum, one) => sum + one, 0);
    $("matched").textContent = functions
      ? `${formatShare(timeFound(this.model, node, this.found), this.model.total[node])} in ${formatCount(functions)} function${functions === 1 ? "" : "s"}`
      : "nothing found";
  }

  showPath() {
    const MOST = 9, nodes = [];
    for (let i = this.state.node; ; i = this.model.parent[i]) {
      nodes.unshift(i);
      if (i === 0) break;
    }
    const parts = nodes.map((node) => {
      const button = make("button", nameOf(this.model, node).slice(0, 200));
      button.title = nameOf(this.model, node).slice(0, 400);
      button.addEventListener("click", () => this.go({ node, thread: node === 0 ? -1 : this.state.thread }));
      return button;
    });
    if (parts.length > MOST) parts.splice(3, parts.length - MOST, make("span", `› ${formatCount(parts.length - MOST)} more`));
    $("path").replaceChildren(...parts);
    $("path").scrollLeft = $("path").scrollWidth;
  }

  reset() {
    this.graph.chosen = -1;
    $("status").textContent = "";
    this.go({ node: 0, thread: -1, query: "" });
  }

  // ---- colours

  isDark() {
    const chosen = document.documentElement.dataset.theme;
    return chosen ? chosen === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  }

  paint() {
    const dark = this.isDark();
    this.graph.colours = this.table.colours = makeColours(this.model.data.functions, dark);
    $("legend").replaceChildren(...LEGEND.map(([text, colour]) => {
      const item = make("li", text), swatch = make("span", "");
      swatch.className = "swatch";
      swatch.style.background = colour(dark);
      item.prepend(swatch);
      return item;
    }));
    this.graph.draw();
    if (this.state.view !== "flame" && this.table.costs) this.table.show();
  }

  // ---- telling about a call

  figures(node) {
    const { model } = this, whole = model.total[0], view = model.total[this.state.node];
    const rows = [["Total", formatTime(model.total[node]), `${formatShare(model.total[node], view)} of the view` +
      (this.state.node ? `, ${formatShare(model.total[node], whole)} of all` : "")]];
    if (model.fn[node] >= 0) {
      rows.push(["Self", formatTime(model.self[node]), `${formatShare(model.self[node], view)} of the view`]);
      rows.push(["Calls", formatCount(model.calls[node]), model.calls[node] > 1
        ? `${formatTime(Math.round(model.total[node] / model.calls[node]))} each` : ""]);
      if (model.resumes[node]) rows.push(["Resumes", formatCount(model.resumes[node]), ""]);
    }
    return rows;
  }

  tell(node) {
    $("status").textContent = node < 0 ? "" : [nameOf(this.model, node).slice(0, 120), placeOf(this.model, node).slice(-80),
      ...this.figures(node).map(([what, figure, more]) => `${what} ${figure}${more ? ` (${more})` : ""}`)]
      .filter(Boolean).join(" · ");
  }

  showTip(node, x, y) {
    const tip = $("tip");
    tip.hidden = node < 0;
    if (node < 0) return;
    const list = document.createElement("dl");
    for (const [what, figure, more] of this.figures(node)) list.append(make("dt", what), make("dd", figure), make("dd", more));
    const name = nameOf(this.model, node);
    tip.replaceChildren(make("h2", name.length > 300 ? name.slice(0, 300) + "…" : name), make("p", placeOf(this.model, node).slice(0, 400)), list);
    const box = tip.getBoundingClientRect();
    tip.style.left = Math.max(8, Math.min(x + 14, innerWidth - box.width - 8)) + "px";
    tip.style.top = (y + 20 + box.height > innerHeight ? Math.max(8, y - box.height - 12) : y + 18) + "px";
  }

  // ---- what the user does

  listen() {
    const { graph } = this, canvas = $("graph");
    canvas.addEventListener("mousemove", (event) => this.hover(event));
    canvas.addEventListener("mouseleave", () => {
      graph.hovered = -1;
      graph.draw();
      this.showTip(-1);
    });
    canvas.addEventListener("click", (event) => {
      const node = graph.at(event.clientX, event.clientY);
      if (node < 0) return;
      this.go({ node, thread: node === 0 ? -1 : this.state.thread });
      this.hover(event); // another call may be there now
    });
    $("scroll").addEventListener("scroll", () => this.showTip(-1));
    canvas.addEventListener("keydown", (event) => this.graphKey(event));
    document.addEventListener("keydown", (event) => this.pageKey(event));
    $("tab-flame").addEventListener("click", () => this.go({ view: "flame" }));
    $("tab-table").addEventListener("click", () => this.go({ view: "functions" }));
    $("thread").addEventListener("change", () => this.go({ thread: Number($("thread").value) }));
    $("search").addEventListener("input", () => this.go({ query: $("search").value }));
    $("reset").addEventListener("click", () => this.reset());
    $("help").addEventListener("click", () => this.toggleKeys());
    $("theme").addEventListener("click", () => {
      document.documentElement.dataset.theme = this.isDark() ? "light" : "dark";
      this.paint();
    });
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.paint());
    addEventListener("popstate", () => this.readAddress());
    addEventListener("hashchange", () => this.readAddress());
  }

  hover(event) {
    const node = this.graph.at(event.clientX, event.clientY);
    this.graph.hovered = node;
    this.graph.draw();
    this.tell(node);
    this.showTip(node, event.clientX, event.clientY);
  }

  toggleKeys() {
    $("keys").hidden = !$("keys").hidden;
    $("help").setAttribute("aria-expanded", !$("keys").hidden);
  }

  graphKey(event) {
    const { graph, model } = this;
    if (event.key.startsWith("Arrow")) {
      this.tell(graph.move(event.key));
    } else if (event.key === "Enter" && graph.chosen >= 0) {
      this.go({ node: graph.chosen });
    } else if (event.key === "Backspace") {
      graph.chosen = this.state.node;
      this.go({ node: model.parent[this.state.node] });
    } else {
      return;
    }
    event.preventDefault();
  }

  pageKey(event) {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const typing = event.target === $("search");
    if (event.key === "Escape") {
      this.reset();
      $("search").blur();
    } else if (event.key === "Enter" && typing) {
      $("search").blur();
    } else if (typing || event.target === $("thread")) {
      return;
    } else if (event.key === "/") {
      event.preventDefault();
      $("search").focus();
    } else if (event.key === "f") {
      this.go({ view: "flame" });
    } else if (event.key === "t") {
      this.go({ view: "functions" });
    } else if (event.key === "?") {
      this.toggleKeys();
    }
  }
}

const page = new Page(JSON.parse($("data").textContent));
requestAnimationFrame(() => requestAnimationFrame(() => {
  document.documentElement.dataset.ready = page.model.count;
}));
