// graph.js — draws the flame graph, callers above what they call, and tells which call is
// where. Only what is in view and wide enough to be seen is looked at, so that the number of
// calls hardly matters.

const ROW = 21, NARROWEST = 0.6, TEXT_FROM = 26, FONT = "12px system-ui, -apple-system, 'Segoe UI', Roboto, 'Noto Sans', sans-serif";

class Graph {
  constructor(model, canvas, scroll, space) {
    Object.assign(this, { model, canvas, scroll, space });
    this.context = canvas.getContext("2d");
    this.zoomed = 0;
    this.found = null;
    this.hovered = this.chosen = -1;
    this.colours = null; // plain ones, and ofCall(node): the page gives them
    this.widths = new Map();
    this.waiting = false;
    this.rectangles = 0;
    scroll.addEventListener("scroll", () => this.draw());
    new ResizeObserver(() => this.draw()).observe(scroll);
  }

  // The next frame will do: many changes are one drawing.
  draw() {
    if (this.waiting) return;
    this.waiting = true;
    requestAnimationFrame(() => {
      this.waiting = false;
      this.drawNow();
    });
  }

  zoom(node) {
    this.zoomed = node;
    this.rows = this.countRows();
    this.space.style.height = this.rows * ROW + "px";
    // What is zoomed to should have more room than what is around it.
    const top = this.model.depth[node] * ROW, y = top - this.scroll.scrollTop;
    if (y < 0 || y > 0.4 * this.scroll.clientHeight) this.scroll.scrollTop = Math.max(0, top - 4 * ROW);
    this.draw();
  }

  countRows() {
    const { depth, end } = this.model;
    let most = depth[this.zoomed];
    for (let i = this.zoomed; i < end[this.zoomed]; i++) if (depth[i] > most) most = depth[i];
    return most + 1;
  }

  // Left edge and width of NODE in pixels; what encloses the zoomed call is as wide as the view.
  span(node) {
    const { start, total } = this.model;
    const scale = this.width / (total[this.zoomed] || 1);
    return [(start[node] - start[this.zoomed]) * scale, total[node] * scale];
  }

  // Call EACH(node, left, width) for everything wide enough in rows FROM up to TO, and
  // SMALL(depth, left, width) for what is not.
  visit(from, to, each, small) {
    const { start, total, filled, end, depth, parent } = this.model;
    for (let i = parent[this.zoomed], inner = this.zoomed; inner !== 0; inner = i, i = parent[i])
      if (depth[i] >= from && depth[i] < to) each(i, 0, this.width);
    const scale = this.width / (total[this.zoomed] || 1), origin = start[this.zoomed];
    const todo = [this.zoomed];
    while (todo.length) {
      const node = todo.pop(), row = depth[node];
      if (row >= from) each(node, (start[node] - origin) * scale, total[node] * scale);
      if (row + 1 >= to) continue;
      for (let child = node + 1; child < end[node]; child = end[child]) {
        const width = total[child] * scale;
        if (width < NARROWEST) { // and so are all that follow
          if (row + 1 >= from) {
            const left = (start[child] - origin) * scale;
            small(row + 1, left, (start[node] + filled[node] - origin) * scale - left);
          }
          break;
        }
        todo.push(child);
      }
    }
  }

  drawNow() {
    const { canvas, context: c, scroll, colours, model } = this, begun = performance.now();
    const ratio = window.devicePixelRatio || 1;
    this.width = scroll.clientWidth;
    const height = scroll.clientHeight;
    if (canvas.width !== Math.round(this.width * ratio) || canvas.height !== Math.round(height * ratio)) {
      canvas.width = Math.round(this.width * ratio);
      canvas.height = Math.round(height * ratio);
      canvas.style.height = height + "px";
    }
    c.setTransform(ratio, 0, 0, ratio, 0, 0);
    c.clearRect(0, 0, this.width, height);
    c.font = FONT;
    c.textBaseline = "middle";
    const top = scroll.scrollTop, from = Math.floor(top / ROW), to = Math.ceil((top + height) / ROW);
    this.rectangles = 0;
    this.visit(from, to, (node, left, width) => {
      this.rectangles++;
      this.drawCall(node, left, model.depth[node] * ROW - top, width);
    }, (row, left, width) => {
      if (width < 0.3) return;
      c.fillStyle = this.found ? colours.dim : colours.small;
      c.fillRect(left, row * ROW - top, Math.max(width - 0.5, 0.5), ROW - 1);
    });
    for (const node of [this.hovered, this.chosen]) if (node >= 0) this.outline(node, top, node === this.chosen);
    canvas.dataset.rectangles = this.rectangles;
    canvas.dataset.time = performance.now() - begun;
  }

  drawCall(node, left, y, width) {
    const { context: c, colours, model } = this;
    const fn = model.fn[node];
    const isFound = this.found && fn >= 0 && this.found[fn];
    const dim = (this.found && !isFound) || model.depth[node] < model.depth[this.zoomed];
    c.fillStyle = isFound ? colours.found : dim && this.found ? colours.dim : fn < 0 ? colours.thread : colours.ofCall(node);
    c.globalAlpha = model.depth[node] < model.depth[this.zoomed] ? 0.55 : 1;
    c.fillRect(left, y, Math.max(width - (width > 3 ? 1 : 0.25), NARROWEST), ROW - 1);
    if (width > TEXT_FROM) {
      c.fillStyle = isFound ? (colours.dark ? "#fff" : "#3a0a20") : dim && this.found ? colours.dimText : colours.text;
      const name = nameOf(model, node), text = this.fit(name, width - 10);
      if (text) c.fillText(text, left + 5, y + ROW / 2);
      if (text === name && fn >= 0) this.drawPlace(model.data.functions[fn].short, left + 13 + this.measure(text), y, left + width - 6);
    }
    c.globalAlpha = 1;
  }

  // Where a function is, from LEFT on, if all of it fits in before RIGHT.
  drawPlace(place, left, y, right) {
    if (!place || left + this.measure(place) > right) return;
    this.context.globalAlpha *= 0.55;
    this.context.fillText(place, left, y + ROW / 2);
  }

  outline(node, top, strong) {
    const depth = this.model.depth[node];
    let [left, width] = depth < this.model.depth[this.zoomed] ? [0, this.width] : this.span(node);
    if (left > this.width || left + width < 0) return;
    this.context.strokeStyle = this.colours.edge;
    this.context.lineWidth = strong ? 2 : 1;
    this.context.strokeRect(left + 0.5, depth * ROW - top + 0.5, Math.max(width - 2, 1), ROW - 2);
  }

  // As much of TEXT as is WIDTH wide.
  fit(text, width) {
    const most = Math.ceil(width / 4) + 1; // no letter is narrower than this
    if (text.length > most) text = text.slice(0, most);
    if (this.measure(text) <= width) return text;
    let low = 0, high = text.length;
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if (this.measure(text.slice(0, middle) + "…") <= width) low = middle;
      else high = middle - 1;
    }
    return low > 1 ? text.slice(0, low) + "…" : "";
  }

  measure(text) {
    let width = this.widths.get(text);
    if (width === undefined) {
      if (this.widths.size > 20000) this.widths.clear();
      this.widths.set(text, width = this.context.measureText(text).width);
    }
    return width;
  }

  // The call at a place on the page, or -1.
  at(x, y) {
    const box = this.canvas.getBoundingClientRect();
    const row = Math.floor((y - box.top + this.scroll.scrollTop) / ROW), px = x - box.left;
    let found = -1;
    if (px >= 0 && px < this.width)
      this.visit(row, row + 1, (node, left, width) => {
        if (px >= left && px < left + width) found = node;
      }, () => {});
    return found;
  }

  // Choose the call that KEY leads to from the chosen one; returns it.
  move(key) {
    const { model } = this, { parent, end } = model;
    let at = this.chosen;
    if (at < this.zoomed || at >= end[this.zoomed]) at = this.zoomed;
    else if (key === "ArrowUp" && at !== 0) at = parent[at];
    else if (key === "ArrowDown" && at + 1 < end[at]) at = at + 1;
    else if (key === "ArrowRight" && at !== 0 && end[at] < end[parent[at]]) at = end[at];
    else if (key === "ArrowLeft" && at !== 0 && parent[at] + 1 !== at) {
      let before = parent[at] + 1;
      while (end[before] !== at) before = end[before];
      at = before;
    }
    this.chosen = at;
    const y = model.depth[at] * ROW;
    if (y < this.scroll.scrollTop) this.scroll.scrollTop = y;
    if (y + ROW > this.scroll.scrollTop + this.scroll.clientHeight)
      this.scroll.scrollTop = y + ROW - this.scroll.clientHeight;
    this.draw();
    return at;
  }
}
