// page.js — what pages have in common: what is in view, and what buttons, keys and the address
// do about it. The address holds the state behind #, so that a view can be linked to and Back
// works. A page of its own says in which parts the graph can be seen (threads, for instance),
// what is told about a call, what the table holds, and which colours things have.

const $ = (id) => document.getElementById(id);

function make(tag, text) {
  const element = document.createElement(tag);
  element.textContent = text;
  return element;
}

function readData() {
  return JSON.parse($("data").textContent);
}

// What CAPTURE lacks; WHOSE is how a sentence about it begins.
function endingNotes(capture, whose) {
  const notes = [], { ending, lost } = capture;
  if (ending === "killed") notes.push(`${whose} process ended without stopping the recording.`);
  if (ending === "running") notes.push(`${whose} recording was still running.`);
  if (ending === "failed") notes.push(`${whose} recording could not be written to its end.`);
  if (lost) notes.push(`${whose} recording is not whole: ${formatCount(lost)} events are missing; calls around them may be cut.`);
  return notes;
}

function hiddenNote(tree) {
  return `${formatCount(tree.hidden)} call paths, each ${inBytes ? "smaller" : "shorter"} than ${formatFigure(tree.shortest)}, are not drawn: they are the blank below their callers.`;
}

class Page {
  // PART is what the address calls a part of the graph.
  constructor(model, part) {
    this.model = model;
    this.part = part;
    this.state = { view: "flame", part: this.firstPart(), node: 0, query: "", all: false };
    this.graph = new Graph(model, $("graph"), $("scroll"), $("space"));
    this.table = new Table(this.columns(), $("heads"), $("rows"), $("more"), (fn) => this.find(fn));
    this.describe();
    this.listen();
    this.paint();
    this.readAddress();
    requestAnimationFrame(() => requestAnimationFrame(() => {
      document.documentElement.dataset.ready = this.model.count;
    }));
  }

  find(fn) {
    this.go({ view: "flame", query: "=" + this.model.data.functions[fn].name });
  }

  // What is said above the graph: TITLE, a line and notes about what is amiss.
  head(title, summary, notes) {
    document.title = title;
    $("summary").textContent = summary;
    $("notes").replaceChildren(...notes.map((note) => make("li", note)));
  }

  // Whether there is nothing to see in a view.
  isEmpty() {
    return this.model.count <= 1;
  }

  // The parts that can be chosen: [value, text] of each.
  offer(what, parts) {
    $("part").setAttribute("aria-label", what);
    $("part").replaceChildren(...parts.map(([value, text]) => {
      const option = make("option", text);
      option.value = value;
      return option;
    }));
  }

  // ---- state

  go(change) {
    const next = { ...this.state, ...change };
    if ("part" in change && !("node" in change)) next.node = this.nodeIn(next.part);
    const pairs = [];
    if (next.view !== "flame") pairs.push("view=" + next.view);
    if (next.part !== this.firstPart()) pairs.push(this.part + "=" + next.part);
    if (next.node) pairs.push("node=" + next.node);
    if (next.all) pairs.push("all=1");
    if (next.query) pairs.push("q=" + encodeURIComponent(next.query));
    const address = "#" + pairs.join("&");
    const typing = "query" in change && Object.keys(change).length === 1;
    try {
      history[typing ? "replaceState" : "pushState"](null, "", address);
    } catch { /* an address that may not change: the page works without */ }
    this.show(next);
  }

  readAddress() {
    const given = new URLSearchParams(location.hash.slice(1));
    const number = (key, least, most, otherwise) => {
      const value = given.has(key) ? Number(given.get(key)) : NaN;
      return Number.isInteger(value) && value >= least && value < most ? value : otherwise;
    };
    const part = number(this.part, 0, this.partCount(), this.firstPart());
    const all = given.get("all") === "1";
    this.use(part, all);
    this.show({
      view: given.get("view") === "functions" ? "functions" : "flame",
      part,
      node: number("node", 0, this.model.count, this.rootOf(part)),
      query: given.get("q") || "",
      all,
    });
  }

  show(state) {
    const before = this.state;
    this.use(state.part, state.all);
    this.state = state;
    const flame = state.view === "flame";
    const nothing = this.isEmpty(state.view);
    $("empty").hidden = !nothing;
    $("scroll").hidden = nothing;
    $("view-flame").hidden = !flame;
    $("view-table").hidden = flame || nothing;
    for (const [tab, on] of [["tab-flame", flame], ["tab-table", !flame]]) {
      $(tab).setAttribute("aria-selected", on);
    }
    $("part").value = state.part;
    if ($("search").value !== state.query) $("search").value = state.query;
    if (before.query !== state.query || !this.searched) {
      this.found = findFunctions(this.model, state.query);
      this.searched = true;
    }
    this.graph.found = this.found;
    this.graph.zoom(state.node);
    if (!flame) this.table.fill(this.rows(state.node).filter((row) => !this.found || this.found[row.fn]));
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
      button.addEventListener("click", () => this.go({ node, part: this.partOf(node) }));
      return button;
    });
    if (parts.length > MOST) parts.splice(3, parts.length - MOST, make("span", `› ${formatCount(parts.length - MOST)} more`));
    $("path").replaceChildren(...parts);
    $("path").scrollLeft = $("path").scrollWidth;
  }

  reset() {
    this.graph.chosen = this.graph.hovered = -1;
    this.showTip(-1);
    $("status").textContent = "";
    this.go({ node: 0, part: this.partOf(0), query: "" });
  }

  // ---- colours

  isDark() {
    const chosen = document.documentElement.dataset.theme;
    return chosen ? chosen === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  }

  paint() {
    const dark = this.isDark();
    this.graph.colours = this.table.colours = { ...plainColours(dark), ...this.colours(dark) };
    $("legend").replaceChildren(...this.legend().map(([text, colour]) => {
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
      this.go({ node, part: this.partOf(node) });
      this.hover(event); // another call may be there now
    });
    $("scroll").addEventListener("scroll", () => this.showTip(-1));
    canvas.addEventListener("keydown", (event) => this.graphKey(event));
    document.addEventListener("keydown", (event) => this.pageKey(event));
    $("tab-flame").addEventListener("click", () => this.go({ view: "flame" }));
    $("tab-table").addEventListener("click", () => this.go({ view: "functions" }));
    $("part").addEventListener("change", () => this.go({ part: Number($("part").value) }));
    $("search").addEventListener("input", () => this.go({ query: $("search").value }));
    $("reset").addEventListener("click", () => this.reset());
    $("unfold").addEventListener("click", () => this.unfold());
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

  // Another tree: the call in view may not be in it.
  unfold() {
    if (!$("unfold").hidden) this.go({ all: !this.state.all, node: 0, part: this.partOf(0) });
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
    } else if (typing || event.target === $("part")) {
      return;
    } else if (event.key === "/") {
      event.preventDefault();
      $("search").focus();
    } else if (event.key === "f") {
      this.go({ view: "flame" });
    } else if (event.key === "t") {
      this.go({ view: "functions" });
    } else if (event.key === "u") {
      this.unfold();
    } else if (event.key === "?") {
      this.toggleKeys();
    }
  }
}
