// page.js — the page of a comparison: its parts are the call trees of B, the second capture, and
// of A, the first.

const PARTS = [1, 0]; // which side a part is

class ComparisonPage extends Page {
  // ---- sides

  firstPart() {
    return 0;
  }

  partCount() {
    return PARTS.length;
  }

  partOf() {
    return this.state.part;
  }

  rootOf() {
    return 0;
  }

  // The same path in the tree of another side, as far as it goes there.
  nodeIn(part) {
    return samePath(this.model, this.state.node, this.model.data.models[PARTS[part]]);
  }

  use(part) {
    const model = this.model.data.models[PARTS[part]];
    if (model === this.model) return;
    this.model = this.graph.model = model;
    this.graph.hovered = this.graph.chosen = -1;
  }

  isEmpty(view) {
    return view === "flame" ? super.isEmpty() : this.model.data.listed === 0;
  }

  show(state) {
    super.show(state);
    $("path").hidden = state.view !== "flame"; // the table is that of everything
    $("part").hidden = state.view !== "flame";
  }

  // ---- what is said

  describe() {
    const { data } = this.model, [a, b] = data.captures;
    const title = `${shown(a.file)} → ${shown(b.file)}`;
    const notes = [...endingNotes(a, "A's"), ...endingNotes(b, "B's")];
    data.trees.forEach((tree, side) => {
      if (tree.hidden) notes.push(`Of ${"AB"[side]} ${hiddenNote(tree)} The table has them all.`);
    });
    $("title").textContent = title;
    $("title").title = `A: ${shown(a.file)}\nB: ${shown(b.file)}`;
    const count = (n, word) => `${formatCount(n)} ${word}`;
    this.head(`${title} — comparison`, [
      `A lasted ${formatTime(a.duration)}, B ${formatTime(b.duration)}`,
      `${formatCount(a.calls)} → ${formatCount(b.calls)} ${data.samples ? "samples" : "calls"}`,
      "functions: " + [count(data.slower, "slower"), count(data.faster, "faster"), count(data.fresh, "new"),
        count(data.gone, "gone"), count(data.same, "the same")].join(", "),
    ].join(" · "), notes);
    this.answer(data);
    this.offer("Call tree", PARTS.map((side) => ["call tree of " + "AB"[side], data.captures[side].file])
      .map(([text, file], part) => [part, `${text[0].toUpperCase()}${text.slice(1)} · ${shown(file.slice(file.lastIndexOf("/") + 1)).slice(0, 60)}`]));
  }

  // How the whole changed, and because of whom.
  answer(data) {
    const [a, b] = data.captures.map((capture) => capture.busy), { percent, functions } = data.explained;
    const change = make("strong", formatChange(a, b, formatTime)), soft = (text) => {
      const span = make("span", text);
      span.className = "soft";
      return span;
    };
    change.className = b > a ? "more" : b < a ? "less" : "";
    const share = a > 0 ? ` (${b < a ? "−" : "+"}${formatShare(Math.abs(b - a), a)})` : "";
    $("answer").replaceChildren(change, `${share} `, soft(`time in ${data.samples ? "samples" : "calls"}, ${formatTime(a)} → ${formatTime(b)}. `));
    if (functions.length === 0) {
      $("answer").append(soft(a === b ? "Nothing changed in sum." : "Because of nothing single: changes cancel out."));
      return;
    }
    $("answer").append(soft("Because of "));
    for (const fn of functions) {
      const f = data.functions[fn], button = make("button", `${f.name.slice(0, 80)} `);
      const figure = make("span", formatChange(f.sides[0].self, f.sides[1].self, formatTime));
      figure.className = f.change > 0 ? "more" : "less";
      button.append(figure, f.sides[0].there && f.sides[1].there ? "" : f.sides[1].there ? " new" : " gone");
      button.title = "Show it in the flame graph";
      button.addEventListener("click", () => this.find(fn));
      $("answer").append(button);
    }
    $("answer").append(soft(`: together ${percent} % of the change.`));
  }

  // What is gone is drawn in A's tree only.
  find(fn) {
    const f = this.model.data.functions[fn], side = PARTS[this.state.part];
    if (f.sides[side].there) super.find(fn);
    else this.go({ view: "flame", part: 1 - this.state.part, node: 0, query: "=" + f.name });
  }

  figures(node) {
    const { model } = this, row = (title, what, format) => {
      const [a, b] = bothOf(model, node, what), ratio = a !== b ? formatRatio(a, b) : "";
      return [title, `${format(a)} → ${format(b)}`, a === b ? "the same" : formatChange(a, b, format) + (ratio ? `, ${ratio}` : "")];
    };
    const rows = [row("Total", "total", formatTime)];
    if (model.fn[node] < 0) return rows;
    rows.unshift(row("Self", "self", formatTime));
    rows.push(row(model.data.samples ? "Samples" : "Calls", "calls", formatCount));
    if (model.resumes[node] || model.otherResumes[node]) rows.push(row("Resumes", "resumes", formatCount));
    if (!(model.otherCalls[node] || model.otherResumes[node]))
      rows.push(["Path", model.side === 1 ? "new" : "gone", model.side === 1 ? "not in A" : "not in B"]);
    return rows;
  }

  // ---- the table

  columns() {
    const both = (title, key, format) => [0, 1].map((side) => ({
      title: `${title} ${"AB"[side]}`,
      figure: (f) => f.sides[side].there ? f.sides[side][key] : -1,
      show: (f) => f.sides[side].there ? format(f.sides[side][key]) : "–",
    }));
    const ratio = (f) => f.sides[0].self > 0 ? f.sides[1].self / f.sides[0].self : Infinity;
    const most = this.model.data.functions.reduce((m, f) => Math.max(m, Math.abs(f.change)), 1);
    return [
      {
        title: "Change", kind: "share", figure: (f) => f.change,
        show: (f) => withBar(formatChange(0, f.change, formatTime), Math.abs(f.change) / most, f.change > 0 ? "more" : "less"),
      },
      {
        title: "Ratio", figure: ratio,
        show: (f) => !f.sides[0].there ? "new" : !f.sides[1].there ? "gone" : formatRatio(f.sides[0].self, f.sides[1].self) || "–",
      },
      ...both("Self", "self", formatTime),
      ...both("Total", "total", formatTime),
      ...both(this.model.data.samples ? "Samples" : "Calls", "calls", formatCount),
      ...both("Mean", "mean", formatTime),
      ...nameColumns(this.model.data.functions),
    ];
  }

  rows() {
    const { functions, listed } = this.model.data;
    return functions.slice(0, listed).map((f, fn) => ({ ...f, fn }));
  }

  // ---- colours

  colours(dark) {
    const { functions, least, models } = this.model.data;
    const most = functions.reduce((m, f) => Math.max(m, Math.abs(f.change)), 1);
    const path = Math.max(...models.map((model) => model.most)); // both trees by the same measure
    return {
      ofCall: (node) => changeColour(changeOf(this.model, node), path, least, dark),
      ofFunction: (fn) => changeColour(functions[fn].change, most, least, dark),
    };
  }

  legend() {
    return LEGEND;
  }
}

new ComparisonPage(readComparison(readData()), "side");
