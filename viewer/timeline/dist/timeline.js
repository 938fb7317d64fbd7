"use strict";
(() => {
  // src/colours.ts
  var FAMILIES = {
    own: { word: "program", hue: 212, light: [62, 66], dark: [46, 44] },
    library: { word: "libraries", hue: 168, light: [36, 64], dark: [34, 34] },
    builtin: { word: "built-in", hue: 215, light: [14, 76], dark: [12, 36] },
    import: { word: "imports", hue: 280, light: [26, 74], dark: [22, 40] },
    span: { word: "spans, operators", hue: 40, light: [82, 62], dark: [60, 42] },
    gc: { word: "garbage collection", hue: 12, light: [74, 62], dark: [58, 44] }
  };
  function familyOf(name) {
    if (name[3] === "gc") return "gc";
    if (name[3] === "span" || name[3] === "operator") return "span";
    return name[4] in FAMILIES ? name[4] : "own";
  }
  var STEPS = 5;
  var order = Object.keys(FAMILIES);
  function hash(text) {
    let value = 2166136261;
    for (let i = 0; i < text.length; i++) value = Math.imul(value ^ text.charCodeAt(i), 16777619);
    return (value ^ value >>> 15) >>> 0;
  }
  function colourOf(name) {
    const family = order.indexOf(familyOf(name));
    return family * STEPS + hash(name[0] + name[1]) % STEPS;
  }
  function palette(dark, fade) {
    const colours = [];
    for (const key of order) {
      const family = FAMILIES[key];
      const [saturation, lightness] = dark ? family.dark : family.light;
      for (let step = 0; step < STEPS; step++) {
        const hue = family.hue + (step - 2) * 5;
        const l = lightness + (step - 2) * (dark ? 3.2 : 3.6);
        const background = dark ? 11 : 100;
        colours.push(
          `hsl(${hue} ${(saturation * (1 - fade * 0.5)).toFixed(1)}% ${(l + (background - l) * fade).toFixed(1)}%)`
        );
      }
    }
    return colours;
  }
  function familyColour(key, dark) {
    return palette(dark, 0)[order.indexOf(key) * STEPS + 2];
  }

  // src/tile.ts
  var COLUMNS = 512;
  var LEVELS = 48;
  var CALL = 1;
  var BEFORE = 2;
  var AFTER = 4;
  var SUMMARY = 8;
  var LOST = 16;
  var OPEN = 32;
  var HEADER = 32;
  function rowsOf(depth, count) {
    const depths = count ? depth[count - 1] + 1 : 0;
    const rows = new Uint32Array(depths + 1);
    for (let d = 0, i = 0; d <= depths; d++) {
      while (i < count && depth[i] < d) i++;
      rows[d] = i;
    }
    return rows;
  }
  function parseTile(buffer) {
    const head = new DataView(buffer);
    if (buffer.byteLength < HEADER || head.getUint32(0, true) !== 1) throw new Error("not a tile");
    const count = head.getUint32(8, true);
    if (buffer.byteLength !== HEADER + count * 28) throw new Error("a tile is cut short");
    const at = (n) => HEADER + n * count;
    const depth = new Uint16Array(buffer, at(24), count);
    return {
      from: head.getFloat64(16, true),
      length: head.getFloat64(24, true),
      unit: 2 ** head.getUint32(12, true),
      count,
      fromSummaries: (head.getUint32(4, true) & 1) !== 0,
      deeper: (head.getUint32(4, true) & 2) !== 0,
      start: new Uint32Array(buffer, at(0), count),
      span: new Uint32Array(buffer, at(4), count),
      busy: new Uint32Array(buffer, at(8), count),
      name: new Uint32Array(buffer, at(12), count),
      calls: new Uint32Array(buffer, at(16), count),
      number: new Uint32Array(buffer, at(20), count),
      flags: new Uint8Array(buffer, at(26), count),
      high: new Uint8Array(buffer, at(27), count),
      rows: rowsOf(depth, count),
      bytes: buffer.byteLength
    };
  }
  function levelFor(ns) {
    return Math.max(0, Math.min(LEVELS - 1, Math.floor(Math.log2(Math.max(1, ns)))));
  }
  function tileLength(level) {
    return 2 ** level * COLUMNS;
  }
  function firstPart(tile, depth, time) {
    let low = tile.rows[depth];
    let high = tile.rows[depth + 1];
    while (low < high) {
      const middle = low + high >> 1;
      if (tile.start[middle] + tile.span[middle] < time) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  // src/store.ts
  var BYTES_MOST = 96 << 20;
  var AT_ONCE = 5;
  var COARSER = 40;
  var TileStore = class {
    constructor(source, arrived) {
      this.source = source;
      this.arrived = arrived;
    }
    source;
    arrived;
    entries = /* @__PURE__ */ new Map();
    wishes = [];
    underWay = 0;
    bytes = 0;
    frame = 0;
    generation = [];
    /** Deepest row seen, by capture and thread. */
    depths = /* @__PURE__ */ new Map();
    /** True while something that was asked for has not come. */
    get busy() {
      return this.underWay > 0 || this.wishes.length > 0;
    }
    /** Begin a frame: what was wanted before and is not wanted now need not be fetched. */
    beginFrame() {
      this.frame++;
      this.wishes = [];
    }
    endFrame() {
      this.pump();
    }
    key(capture, thread, level, index) {
      return `${capture} ${thread} ${level} ${index}`;
    }
    /** The tile, or null if it is not there yet; then it is asked for. */
    get(capture, thread, level, index) {
      const key = this.key(capture, thread, level, index);
      const entry = this.entries.get(key);
      if (entry) {
        entry.used = this.frame;
        return entry.tile;
      }
      this.wishes.push({ key, capture, thread, level, index });
      return null;
    }
    peek(capture, thread, level, index) {
      const entry = this.entries.get(this.key(capture, thread, level, index));
      if (entry?.tile) entry.used = this.frame;
      return entry?.tile ?? null;
    }
    /** A coarser tile that covers the same time, if there is one. */
    coarser(capture, thread, level, index) {
      for (let up = 1; up <= COARSER; up++) {
        const tile = this.peek(capture, thread, level + up, Math.floor(index / 2 ** up));
        if (tile) return tile;
      }
      return null;
    }
    /** A capture has grown beyond DURATION: tiles that end after it are old. */
    forgetAfter(capture, duration2) {
      for (const [key, entry] of this.entries) {
        const [c, , level, index] = key.split(" ").map(Number);
        if (c === capture && (index + 1) * tileLength(level) > duration2) {
          this.bytes -= entry.tile?.bytes ?? 0;
          this.entries.delete(key);
        }
      }
    }
    pump() {
      while (this.underWay < AT_ONCE && this.wishes.length) {
        const wish = this.wishes.shift();
        if (!this.entries.has(wish.key)) void this.fetch(wish);
      }
    }
    async fetch(wish) {
      const entry = { tile: null, used: this.frame, failed: false };
      this.entries.set(wish.key, entry);
      this.underWay++;
      try {
        const generation = this.generation[wish.capture] ?? 0;
        const bytes = await this.source.tile(wish.capture, wish.thread, wish.level, wish.index, generation);
        if (bytes) this.keep(wish, entry, parseTile(bytes));
        else entry.failed = true;
      } catch {
        setTimeout(() => this.entries.delete(wish.key), 2e3);
      }
      this.underWay--;
      this.pump();
      this.arrived();
    }
    keep(wish, entry, tile) {
      entry.tile = tile;
      this.bytes += tile.bytes;
      const track = `${wish.capture} ${wish.thread}`;
      this.depths.set(track, Math.max(this.depths.get(track) ?? 0, tile.rows.length - 1));
      if (this.bytes > BYTES_MOST) this.tidy();
    }
    tidy() {
      const old = [...this.entries].filter(([, e]) => e.tile && e.used < this.frame - 1);
      old.sort(([, a], [, b]) => a.used - b.used);
      for (const [key, entry] of old) {
        if (this.bytes < BYTES_MOST * 0.7) break;
        this.bytes -= entry.tile?.bytes ?? 0;
        this.entries.delete(key);
      }
    }
  };

  // src/marks.ts
  function arrowsOf(marks) {
    const begun = /* @__PURE__ */ new Map();
    const arrows = [];
    for (const mark of [...marks].sort((a, b) => a[3] - b[3])) {
      const key = `${mark[4]} ${mark[2]}`;
      if (mark[0] === "flow_out") begun.set(key, mark);
      const out = mark[0] === "flow_in" ? begun.get(key) : void 0;
      if (!out) continue;
      const end = (one) => [one[1], one[3], Math.max(0, (one[6] ?? 1) - 1)];
      arrows.push({ name: mark[2], from: end(out), to: end(mark) });
    }
    return arrows;
  }
  var LANES_MOST = 64;
  function lanesOf(spans, length) {
    const ends = [];
    const rows = [];
    for (const span of [...spans].sort((a, b) => a.start - b.start || b.end - a.end)) {
      let lane = ends.findIndex((end) => end <= span.start);
      if (lane < 0) lane = ends.length < LANES_MOST ? ends.length : LANES_MOST - 1;
      ends[lane] = Math.max(ends[lane] ?? 0, span.end);
      (rows[lane] ??= []).push(span);
    }
    const ordered = rows.flat();
    const count = ordered.length;
    const starts = [0];
    for (const row of rows) starts.push(starts[starts.length - 1] + row.length);
    const tile = {
      from: 0,
      length,
      unit: 1,
      count,
      fromSummaries: false,
      deeper: false,
      start: Float64Array.from(ordered, (span) => span.start),
      span: Float64Array.from(ordered, (span) => span.end - span.start),
      busy: Float64Array.from(ordered, (span) => span.end - span.start),
      name: Uint32Array.from(ordered, (span) => span.name),
      calls: new Uint32Array(count).fill(1),
      number: Uint32Array.from(ordered, (_, i) => i + 1),
      high: new Uint8Array(count),
      flags: new Uint8Array(count).fill(CALL),
      rows: Uint32Array.from(starts),
      bytes: 0
    };
    return { tile, spans: ordered };
  }
  function seriesOf(name, points) {
    const sorted = [...points].sort((a, b) => a[3] - b[3]);
    const values = Float64Array.from(sorted, (mark) => Number(mark[4]));
    let least = 0;
    let most = 0;
    for (const value of values) {
      if (value < least) least = value;
      if (value > most) most = value;
    }
    return { name, times: Float64Array.from(sorted, (mark) => mark[3]), values, least, most };
  }
  function tasksOf(marks, end) {
    const open = /* @__PURE__ */ new Map();
    const spans = [];
    for (const [kind, thread, name, time, id, args] of [...marks].sort((a, b) => a[3] - b[3])) {
      const key = `${id} ${name}`;
      if (kind === "async_begin") {
        const span = { name, start: time, end, thread, id: String(id), args: args ?? void 0 };
        open.set(key, [...open.get(key) ?? [], span]);
        spans.push(span);
      } else if (kind === "async_end") {
        const span = open.get(key)?.pop();
        if (span) span.end = time;
      }
    }
    return spans;
  }
  function grouped(marks, key) {
    const groups = /* @__PURE__ */ new Map();
    for (const mark of marks) {
      const list = groups.get(key(mark));
      if (list) list.push(mark);
      else groups.set(key(mark), [mark]);
    }
    return groups;
  }
  function extrasOf(capture, marks) {
    const process = new Map(capture.threads.map((thread) => [thread.thread, thread.process]));
    const device = new Set(capture.threads.filter((thread) => thread.device).map((thread) => thread.thread));
    const extras = [];
    for (const [which, own] of grouped(marks, (mark) => process.get(mark[1]) ?? 0)) {
      const spans = (list) => list.map(([kind, thread, name, time, value, args]) => ({
        name,
        start: time,
        end: kind === "complete" ? time + Number(value) : time,
        thread,
        id: kind === "complete" ? "" : String(value),
        args: args ?? void 0
      }));
      const tasks = tasksOf(own.filter((mark) => mark[0].startsWith("async_")), capture.duration);
      if (tasks.length) extras.push({ process: which, title: "Tasks", detail: "awaits and spans", spans: tasks });
      const instants = own.filter((mark) => mark[0] === "instant");
      if (instants.length) extras.push({ process: which, title: "Instants", detail: "", spans: spans(instants) });
      for (const [thread, list] of grouped(own.filter((mark) => mark[0] === "complete"), (mark) => mark[1])) {
        const name = capture.threads.find((known) => known.thread === thread)?.name || `thread ${thread}`;
        extras.push({
          process: which,
          title: `${name}: finished`,
          detail: "",
          spans: spans(list),
          device: device.has(thread) ? thread : void 0
        });
      }
      for (const [name, list] of grouped(own.filter((mark) => mark[0] === "counter"), (mark) => mark[2])) {
        extras.push({ process: which, title: capture.names[name]?.[0] ?? "counter", detail: "counter", series: seriesOf(name, list) });
      }
    }
    return extras;
  }

  // src/tracks.ts
  var ROW = 18;
  var HEAD = 22;
  var GAP = 6;
  var FOLDED = 22;
  var EMPTY = 26;
  var COUNTER = 46;
  var DEPTHS_SHOWN = 256;
  var Tracks = class {
    groups = [];
    filter = "";
    /** What is shown, from top to bottom. */
    shown = [];
    height = 0;
    /** By capture: arrows between calls. */
    arrows = [];
    /** By capture: tracks of what is no call. */
    extras = [];
    /** Take over what CAPTURES have; what the user did to known tracks stays. */
    load(captures) {
      const known = /* @__PURE__ */ new Map();
      for (const group of this.groups) {
        known.set(group.key, group);
        for (const track of group.tracks) known.set(track.key, track);
      }
      this.groups = captures.flatMap((capture, which) => this.groupsOf(capture, which, captures.length > 1, known));
      captures.forEach((capture, which) => this.addExtras(capture, which, known));
    }
    groupsOf(capture, which, named, known) {
      const groups = /* @__PURE__ */ new Map();
      for (const thread of capture.threads) {
        let group = groups.get(thread.process);
        if (!group) {
          const process = capture.processes[thread.process] ?? { pid: 0, name: "", machine: "" };
          const key2 = `${which}/${thread.process}`;
          group = {
            kind: "group",
            key: key2,
            capture: which,
            title: (named ? `${capture.file} · ` : "") + (process.name || `process ${process.pid}`),
            detail: `pid ${process.pid}${process.machine ? ` on ${process.machine}` : ""}`,
            folded: known.get(key2)?.folded ?? false,
            tracks: [],
            y: 0,
            height: HEAD
          };
          groups.set(thread.process, group);
        }
        const key = `${which}:${thread.thread}`;
        const before = known.get(key);
        group.tracks.push({
          kind: "thread",
          key,
          capture: which,
          thread,
          title: thread.name || (thread.device ? `stream ${thread.thread}` : `thread ${thread.tid}`),
          detail: String(thread.tid),
          group,
          folded: before?.folded ?? false,
          pinned: before?.pinned ?? false,
          y: 0,
          height: 0,
          depths: before?.depths ?? 0
        });
      }
      return [...groups.values()];
    }
    addExtras(capture, which, known) {
      (this.extras[which] ?? []).forEach((extra, i) => {
        const group = this.groups.find((one) => one.key === `${which}/${extra.process}`);
        if (!group) return;
        const lanes = extra.spans && lanesOf(extra.spans, capture.duration);
        const device = group.tracks.find((track) => track.thread.thread === extra.device && extra.device !== void 0);
        if (device) {
          Object.assign(device, lanes);
          return;
        }
        const key = `${which}:${extra.title}`;
        const before = known.get(key);
        const thread = {
          thread: -1 - i,
          tid: 0,
          name: extra.title,
          process: extra.process,
          records: extra.spans?.length ?? extra.series?.times.length ?? 0,
          lost: 0,
          first: 0,
          last: capture.duration,
          device: false,
          summaries: false
        };
        group.tracks.push({
          kind: "thread",
          key,
          capture: which,
          thread,
          title: extra.title,
          detail: extra.detail,
          group,
          folded: before?.folded ?? false,
          pinned: before?.pinned ?? false,
          y: 0,
          height: 0,
          depths: 0,
          series: extra.series,
          ...lanes
        });
      });
      for (const group of this.groups) {
        group.tracks.sort((a, b) => Number(b.thread.thread < 0) - Number(a.thread.thread < 0));
      }
    }
    all() {
      return this.groups.flatMap((group) => group.tracks);
    }
    find(capture, thread) {
      return this.all().find((track) => track.capture === capture && track.thread.thread === thread);
    }
    wanted(track) {
      const words = this.filter.toLowerCase().split(/\s+/).filter(Boolean);
      const text = `${track.title} ${track.detail} ${track.group.title}`.toLowerCase();
      return words.every((word) => text.includes(word));
    }
    /** Move TRACK up (-1) or down (1) within its group. */
    move(track, by) {
      const list = track.group.tracks;
      const at = list.indexOf(track);
      const to = Math.max(0, Math.min(list.length - 1, at + by));
      list.splice(at, 1);
      list.splice(to, 0, track);
    }
    /** Decide what is where. DEPTHS tells how many rows a track needs. */
    layOut(depths) {
      let y = 0;
      this.shown = [];
      const place = (track) => {
        track.depths = Math.min(DEPTHS_SHOWN, track.tile ? track.tile.rows.length - 1 : depths(track));
        track.y = y;
        track.height = track.folded ? FOLDED : track.series ? COUNTER : Math.max(EMPTY, track.depths * ROW + GAP);
        this.shown.push(track);
        y += track.height;
      };
      const pinned = this.all().filter((track) => track.pinned && this.wanted(track));
      for (const track of pinned) place(track);
      for (const group of this.groups) {
        const tracks = group.tracks.filter((track) => !track.pinned && this.wanted(track));
        if (!tracks.length) continue;
        group.y = y;
        this.shown.push(group);
        y += group.height;
        if (!group.folded) for (const track of tracks) place(track);
      }
      this.height = y + 40;
    }
    at(y) {
      return this.shown.find((item) => y >= item.y && y < item.y + item.height);
    }
  };

  // src/viewport.ts
  var Viewport = class {
    from = 0;
    to = 1;
    width = 1;
    // CSS pixels
    whole = 1;
    // the end of time
    goal = null;
    get nsPerPixel() {
      return (this.to - this.from) / this.width;
    }
    x(time) {
      return (time - this.from) / this.nsPerPixel;
    }
    time(x) {
      return this.from + x * this.nsPerPixel;
    }
    limited(from, to) {
      const margin = this.whole * 0.02;
      const most = this.whole + 2 * margin;
      const length = Math.max(20, Math.min(most, to - from));
      const middle = (from + to) / 2;
      let start = middle - length / 2;
      start = Math.max(-margin, Math.min(this.whole + margin - length, start));
      return { from: start, to: start + length };
    }
    set(from, to) {
      this.goal = null;
      Object.assign(this, this.limited(from, to));
    }
    /** Move there within a few frames. */
    glide(from, to) {
      this.goal = this.limited(from, to);
    }
    showAll() {
      this.glide(0, this.whole);
    }
    pan(pixels) {
      const by = pixels * this.nsPerPixel;
      const base = this.goal ?? this;
      this.set(base.from + by, base.to + by);
    }
    /** Make everything FACTOR times as long on the screen, with the time at X staying where it is. */
    zoom(factor, x) {
      const at = this.time(x);
      this.set(at - (at - this.from) / factor, at + (this.to - at) / factor);
    }
    /** Bring TIME into sight without changing the scale, if it is not. */
    reveal(from, to) {
      const length = this.to - this.from;
      const span = to - from;
      if (span > length || span < length / 400) {
        const around = Math.max(span * 4, 200);
        this.glide(from - around, to + around);
      } else if (from < this.from || to > this.to) {
        const middle = (from + to) / 2;
        this.glide(middle - length / 2, middle + length / 2);
      }
    }
    /** Is it moving? What is in sight will not be for long. */
    get gliding() {
      return this.goal !== null;
    }
    /** One step of a glide. Returns whether there is another. */
    step(still) {
      if (!this.goal) return false;
      const near = (this.to - this.from) / this.width;
      const left = Math.abs(this.goal.from - this.from) + Math.abs(this.goal.to - this.to);
      if (still || left < near) {
        this.from = this.goal.from;
        this.to = this.goal.to;
        this.goal = null;
        return true;
      }
      this.from += (this.goal.from - this.from) * 0.35;
      this.to += (this.goal.to - this.to) * 0.35;
      return true;
    }
  };

  // src/app.ts
  var App = class {
    constructor(source) {
      this.source = source;
      this.store = new TileStore(source, () => this.emit("draw"));
    }
    source;
    view = new Viewport();
    tracks = new Tracks();
    store;
    overview = { kymograph: "", captures: [] };
    /** Where the second capture's start lies on the first one's time. */
    offset = [0, 0];
    selected = null;
    range = null;
    /** By capture: the names that a search found; null for no search. */
    highlighted = [null, null];
    dark = false;
    still = matchMedia("(prefers-reduced-motion: reduce)").matches;
    colours = [];
    listeners = /* @__PURE__ */ new Map();
    on(event, listener) {
      this.listeners.set(event, [...this.listeners.get(event) ?? [], listener]);
    }
    emit(event) {
      for (const listener of this.listeners.get(event) ?? []) listener();
    }
    get captures() {
      return this.overview.captures;
    }
    name(capture, name) {
      return this.captures[capture]?.names[name] ?? ["(unknown)", "", 0, "span", "own"];
    }
    take(overview) {
      const before = this.captures;
      this.overview = overview;
      overview.captures.forEach((capture, i) => {
        if (before[i] && before[i].generation !== capture.generation) {
          this.store.forgetAfter(i, before[i].duration - 1);
        }
        this.store.generation[i] = capture.generation;
        this.colours[i] = Uint8Array.from(capture.names, (name) => colourOf(name));
      });
      this.tracks.load(overview.captures);
      this.measure();
      this.emit("load");
    }
    /** The end of time, on the first capture's clock. */
    measure() {
      const ends = this.captures.map((capture, i) => capture.duration + this.offset[i]);
      const followed = this.view.whole > 1 && Math.abs(this.view.to - this.view.whole) < this.view.whole * 1e-3;
      const length = this.view.to - this.view.from;
      this.view.whole = Math.max(1, ...ends);
      if (followed && this.captures.some((capture) => capture.ending === "running")) {
        const from = this.view.from <= 0 ? 0 : this.view.whole - length;
        this.view.set(from, this.view.whole);
      }
    }
    select(place) {
      this.selected = place;
      this.emit("select");
      this.emit("draw");
    }
    setRange(range) {
      this.range = range;
      this.emit("range");
      this.emit("draw");
    }
    highlight(sets) {
      this.highlighted = sets;
      this.emit("highlight");
      this.emit("draw");
    }
  };

  // src/dom.ts
  function h(tag, values = {}, ...children) {
    const element = document.createElement(tag);
    for (const [key, value] of Object.entries(values)) {
      if (typeof value === "function") element.addEventListener(key.slice(2), value);
      else if (typeof value === "boolean") element.toggleAttribute(key, value);
      else element.setAttribute(key, String(value));
    }
    element.append(...children.filter((child) => child !== null && child !== void 0));
    return element;
  }
  function byId(id) {
    const element = document.getElementById(id);
    if (!element) throw new Error(`no element ${id}`);
    return element;
  }
  function prepared(canvas, width, height) {
    const ratio = Math.min(2, window.devicePixelRatio || 1);
    const w = Math.max(1, Math.round(width * ratio));
    const h2 = Math.max(1, Math.round(height * ratio));
    if (canvas.width !== w || canvas.height !== h2) {
      canvas.width = w;
      canvas.height = h2;
      canvas.style.width = `${width}px`;
      canvas.style.height = `${height}px`;
    }
    const context = canvas.getContext("2d", { alpha: true });
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    return context;
  }

  // src/format.ts
  var UNITS = [
    [1e9, "s"],
    [1e6, "ms"],
    [1e3, "µs"],
    [1, "ns"]
  ];
  function duration(ns) {
    const size = Math.abs(ns);
    if (size >= 6e11) {
      const minutes = Math.floor(size / 6e10);
      const seconds = Math.round((size - minutes * 6e10) / 1e9);
      return `${ns < 0 ? "−" : ""}${minutes} min ${seconds} s`;
    }
    for (const [unit, word] of UNITS) {
      if (size >= unit) {
        const value = size / unit;
        const digits = unit === 1 ? 0 : value >= 100 ? 1 : value >= 10 ? 2 : 3;
        return `${ns < 0 ? "−" : ""}${value.toFixed(digits)} ${word}`;
      }
    }
    return "0 ns";
  }
  function grouped2(value) {
    return String(Math.round(value)).replace(/\B(?=(\d{3})+$)/g, " ");
  }
  function moment(ns, step) {
    const [unit, word] = UNITS.find(([u]) => step >= u / 1e3 && Math.abs(ns) >= u) ?? UNITS[3];
    const digits = Math.max(0, Math.min(9, Math.ceil(-Math.log10(step / unit) - 1e-9)));
    return `${(ns / unit).toFixed(digits)} ${word}`;
  }
  function roundStep(least) {
    const power = 10 ** Math.floor(Math.log10(Math.max(least, 1)));
    for (const factor of [1, 2, 5, 10]) {
      if (power * factor >= least) return power * factor;
    }
    return power * 10;
  }
  function fileName(path) {
    return path.slice(path.lastIndexOf("/") + 1);
  }

  // src/axis.ts
  var AXIS = 26;
  function drawAxis(app, canvas) {
    const { view, range } = app;
    const style = getComputedStyle(document.documentElement);
    const context = prepared(canvas, view.width, AXIS);
    const step = roundStep(view.nsPerPixel * 110);
    context.clearRect(0, 0, view.width, AXIS);
    context.font = "11px system-ui, sans-serif";
    context.textBaseline = "middle";
    context.fillStyle = style.getPropertyValue("--muted");
    for (let t = Math.ceil(view.from / step) * step; t < view.to; t += step) {
      const x = Math.round(view.x(t));
      context.fillRect(x, AXIS - 6, 1, 6);
      context.fillText(t === 0 ? "0" : moment(t, step), x + 4, AXIS / 2);
    }
    if (range) {
      const x = view.x(range.from);
      const right = view.x(range.to);
      context.fillStyle = style.getPropertyValue("--select");
      context.fillRect(x, AXIS - 5, right - x, 5);
      const text = duration(range.to - range.from);
      const w = context.measureText(text).width + 10;
      const at = Math.max(2, Math.min(view.width - w - 2, (x + right - w) / 2));
      context.fillRect(at, 2, w, AXIS - 8);
      context.fillStyle = style.getPropertyValue("--back");
      context.fillText(text, at + 5, AXIS / 2 - 1);
    }
    return step;
  }

  // src/counter.ts
  function lastBefore(times, time) {
    let low = 0;
    let high = times.length;
    while (low < high) {
      const middle = low + high >> 1;
      if (times[middle] <= time) low = middle + 1;
      else high = middle;
    }
    return low - 1;
  }
  function shortNumber(value) {
    const size = Math.abs(value);
    for (const [unit, word] of [[1e12, " T"], [1e9, " G"], [1e6, " M"], [1e4, " k"]]) {
      if (size >= unit) return `${(value / (unit === 1e4 ? 1e3 : unit)).toPrecision(4)}${word}`;
    }
    return Number.isInteger(value) ? String(value) : value.toPrecision(4);
  }
  function drawCounter(context, app, track, top, width, fill, line, text) {
    const series = track.series;
    if (!series?.times.length) return;
    const shift = app.offset[track.capture];
    const { times, values } = series;
    const height = track.height - 6;
    const scale = height / (series.most - series.least || 1);
    const y = (value) => top + height - (value - series.least) * scale;
    let i = Math.max(0, lastBefore(times, app.view.from - shift));
    const path = new Path2D();
    const first = Math.max(0, app.view.x(times[i] + shift));
    path.moveTo(first, y(series.least < 0 ? 0 : series.least));
    let x = first;
    while (i < times.length) {
      x = Math.max(0, app.view.x(times[i] + shift));
      if (x > width) break;
      let most = values[i];
      let last = values[i];
      while (i + 1 < times.length && app.view.x(times[i + 1] + shift) < x + 1) {
        last = values[++i];
        if (last > most) most = last;
      }
      path.lineTo(x, y(most));
      path.lineTo(x, y(last));
      const next = i + 1 < times.length ? app.view.x(times[i + 1] + shift) : app.view.x(app.captures[track.capture].duration + shift);
      x = Math.min(width, next);
      path.lineTo(x, y(last));
      i++;
    }
    const outline = new Path2D(path);
    path.lineTo(x, y(series.least < 0 ? 0 : series.least));
    path.closePath();
    context.globalAlpha = 0.35;
    context.fillStyle = fill;
    context.fill(path);
    context.globalAlpha = 1;
    context.strokeStyle = line;
    context.lineWidth = 1;
    context.stroke(outline);
    context.fillStyle = text;
    context.fillText(shortNumber(series.most), 4, top + 7);
  }

  // src/label.ts
  var widths = /* @__PURE__ */ new Map();
  function fitted(context, text, width) {
    let all = widths.get(text);
    if (all === void 0) {
      if (widths.size > 2e4) widths.clear();
      all = context.measureText(text).width;
      widths.set(text, all);
    }
    if (all <= width) return text;
    const count = Math.floor((width - 9) / all * text.length);
    return count < 2 ? "" : `${text.slice(0, count)}…`;
  }

  // src/draw.ts
  var LABEL_LEAST = 24;
  var SHADES = 4;
  var ARROWS_MOST = 300;
  var Painter = class {
    constructor(app) {
      this.app = app;
    }
    app;
    shades = [];
    lists = [];
    counts = new Int32Array(0);
    labels = [];
    look = { text: "", muted: "", line: "", group: "", select: "", range: "", lost: "", stripe: "" };
    /** Read the colours of the page. */
    retune() {
      const style = getComputedStyle(document.documentElement);
      const value = (name) => style.getPropertyValue(`--${name}`).trim();
      this.look = {
        text: value("slice-text"),
        muted: value("muted"),
        line: value("line"),
        group: value("group"),
        select: value("select"),
        range: value("range"),
        lost: value("lost"),
        stripe: value("stripe")
      };
      this.shades = [];
      for (let i = 0; i < SHADES; i++) this.shades.push(palette(this.app.dark, i / SHADES * 0.85));
      this.shades.push(palette(this.app.dark, 0.78));
      const count = this.shades.length * this.shades[0].length;
      this.lists = Array.from({ length: count }, () => new Float32Array(256));
      this.counts = new Int32Array(count);
    }
    addRect(shade, colour, x, y, w, h2) {
      const list = shade * this.shades[0].length + colour;
      let at = this.counts[list];
      if (at + 4 > this.lists[list].length) {
        const larger = new Float32Array(this.lists[list].length * 2);
        larger.set(this.lists[list]);
        this.lists[list] = larger;
      }
      const values = this.lists[list];
      values[at++] = x;
      values[at++] = y;
      values[at++] = w;
      values[at++] = h2;
      this.counts[list] = at;
    }
    flushRects(context) {
      const colours = this.shades[0].length;
      for (let list = 0; list < this.lists.length; list++) {
        const end = this.counts[list];
        if (!end) continue;
        context.fillStyle = this.shades[Math.floor(list / colours)][list % colours];
        const values = this.lists[list];
        for (let i = 0; i < end; i += 4) context.fillRect(values[i], values[i + 1], values[i + 2], values[i + 3]);
        this.counts[list] = 0;
      }
    }
    /** Visit the parts of row DEPTH of TRACK from FROM to TO, joined where a call crosses tiles. */
    eachPart(track, depth, tiles, visit) {
      let open = null;
      for (const [tile, from, to] of tiles) {
        if (depth >= tile.rows.length - 1) continue;
        const end = tile.rows[depth + 1];
        const limit = (to - tile.from) / tile.unit;
        for (let i = firstPart(tile, depth, Math.max(0, (from - tile.from) / tile.unit)); i < end; i++) {
          if (tile.start[i] > limit) break;
          const flags = tile.flags[i];
          const start = tile.from + tile.start[i] * tile.unit;
          const stop = start + tile.span[i] * tile.unit;
          const number = tile.number[i] + tile.high[i] * 2 ** 32;
          const same = open !== null && open.name === tile.name[i] && (number ? open.number === number : (flags & SUMMARY) !== 0 && (open.flags & SUMMARY) !== 0 && tile.calls[i] === 0 && open.end >= start - tile.unit);
          if (same && open) {
            if (stop > open.end) {
              open.busy += tile.busy[i] * tile.unit;
              open.end = stop;
            }
            open.flags = open.flags & ~AFTER | flags & ~BEFORE;
            continue;
          }
          if (open) visit(open);
          open = {
            depth,
            start,
            end: stop,
            name: tile.name[i],
            calls: tile.calls[i],
            busy: tile.busy[i] * tile.unit,
            flags,
            number
          };
        }
      }
      if (open) visit(open);
      void track;
    }
    /** The tiles to draw TRACK with, and which part of time each is for. */
    tilesFor(track, wish) {
      const { app } = this;
      const shift = app.offset[track.capture];
      const from = Math.max(0, app.view.from - shift, track.thread.first);
      const to = Math.min(app.view.to - shift, track.thread.last + 1);
      const level = app.source.level(levelFor(app.view.nsPerPixel));
      const length = tileLength(level);
      const result = [];
      if (from >= to || track.series) return result;
      if (track.tile) return [[track.tile, from, to]];
      for (let index = Math.floor(from / length); index * length < to; index++) {
        const begin = Math.max(from, index * length);
        const end = Math.min(to, (index + 1) * length);
        const thread = track.thread.thread;
        const tile = wish ? app.store.get(track.capture, thread, level, index) : app.store.peek(track.capture, thread, level, index);
        const drawn = tile ?? app.store.coarser(track.capture, thread, level, index);
        if (drawn) result.push([drawn, begin, end]);
      }
      return result;
    }
    drawThread(context, track, top, height, width) {
      const { app } = this;
      const shift = app.offset[track.capture];
      const tiles = this.tilesFor(track, !app.view.gliding);
      const colours = app.colours[track.capture];
      const marked = app.highlighted[track.capture];
      const row = track.folded ? 3 : ROW;
      const inset = track.folded ? 2 : 0;
      const depths = track.folded ? Math.min(6, track.depths) : track.depths;
      const first = Math.max(0, Math.floor(-top / row));
      const last = Math.min(depths, Math.ceil((height - top) / row));
      for (let depth = first; depth < last; depth++) {
        const y = top + inset + depth * row;
        let edge = -1;
        this.eachPart(track, depth, tiles, (part) => {
          let x = app.view.x(part.start + shift);
          let right = app.view.x(part.end + shift);
          if (right < 0 || x > width) return;
          x = Math.max(x, -2);
          right = Math.min(right, width + 2);
          const least = part.end === part.start && track.tile ? 4 : 1;
          if (right - x < least) right = x + least;
          if (right <= edge) return;
          x = Math.max(x, edge);
          const w = right - x;
          const single = (part.flags & CALL) !== 0;
          const full = single ? 1 : Math.min(1, part.busy / Math.max(1, part.end - part.start));
          let shade = single ? 0 : Math.min(SHADES - 1, Math.floor((1 - full) * SHADES));
          if (marked && !marked.has(part.name)) shade = SHADES;
          this.addRect(shade, colours[part.name] ?? 0, x, y, w > 3 ? w - 0.75 : w, row - 1);
          edge = right;
          if (track.folded) return;
          if (w > LABEL_LEAST) {
            const text = app.name(track.capture, part.name)[0];
            const many = !single && part.calls > 1 ? ` ×${part.calls}` : "";
            const left = Math.max(4, x + 4);
            this.labels.push([fitted(context, text + many, right - left - 3), left, y + ROW / 2, shade === SHADES]);
          }
          if (part.flags & (LOST | OPEN) && right < width) {
            context.fillStyle = this.look.lost;
            context.fillRect(right - 2, y, 2, ROW - 1);
          }
        });
      }
    }
    /** Places where records are missing. */
    drawGaps(context, track, top, width) {
      const { app } = this;
      const shift = app.offset[track.capture];
      for (const [thread, first, last, , reason] of app.captures[track.capture].gaps) {
        if (thread !== track.thread.thread) continue;
        const x = app.view.x(first + shift);
        const right = Math.max(x + 3, app.view.x(last + shift));
        if (right < 0 || x > width) continue;
        const from = Math.max(0, x);
        const to = Math.min(width, right);
        context.save();
        context.beginPath();
        context.rect(from, top, to - from, track.height - 2);
        context.clip();
        context.strokeStyle = reason === "expired" ? this.look.muted : this.look.lost;
        context.globalAlpha = reason === "expired" ? 0.35 : 0.8;
        context.lineWidth = 1.5;
        context.beginPath();
        const step = 7;
        for (let s = Math.floor((from - track.height) / step) * step; s < to; s += step) {
          context.moveTo(s, top + track.height);
          context.lineTo(s + track.height, top);
        }
        context.stroke();
        context.restore();
      }
    }
    drawSelected(context, scroll, width, end) {
      const { app } = this;
      const place = app.selected;
      const track = place && app.tracks.find(place.capture, place.thread);
      if (!place || !track || track.folded || !app.tracks.shown.includes(track)) return;
      const shift = app.offset[track.capture];
      const x = Math.max(-4, app.view.x(place.start + shift));
      const right = Math.min(width + 4, Math.max(x + 3, app.view.x(end + shift)));
      const y = track.y - scroll + place.depth * ROW;
      context.strokeStyle = this.look.select;
      context.lineWidth = 2;
      context.strokeRect(x + 0.5, y - 0.5, right - x - 1, ROW);
    }
    /** Arrows in sight, if they are few enough to be followed. */
    drawArrows(context, scroll, width) {
      const { app } = this;
      app.captures.forEach((_, capture) => {
        const shift = app.offset[capture];
        const from = app.view.from - shift;
        const to = app.view.to - shift;
        const seen = (app.tracks.arrows[capture] ?? []).filter((arrow) => arrow.from[1] < to && arrow.to[1] > from);
        if (seen.length > ARROWS_MOST) return;
        const tracks = new Map(app.tracks.shown.flatMap((item) => item.kind === "thread" && item.capture === capture ? [[item.thread.thread, item]] : []));
        context.strokeStyle = context.fillStyle = this.look.select;
        context.lineWidth = 1.2;
        context.globalAlpha = 0.75;
        for (const arrow of seen) {
          const [a, b] = [tracks.get(arrow.from[0]), tracks.get(arrow.to[0])];
          if (!a || !b) continue;
          const y = (track, depth) => track.y - scroll + 2 + (track.folded ? 9 : Math.min(depth, track.depths) * ROW + ROW / 2);
          const [x1, y1] = [Math.max(-50, app.view.x(arrow.from[1] + shift)), y(a, arrow.from[2])];
          const [x2, y2] = [Math.min(width + 50, app.view.x(arrow.to[1] + shift)), y(b, arrow.to[2])];
          const bend = Math.max(12, Math.min(80, Math.abs(x2 - x1) / 2));
          context.beginPath();
          context.moveTo(x1, y1);
          context.bezierCurveTo(x1 + bend, y1, x2 - bend, y2, x2 - 5, y2);
          context.stroke();
          context.beginPath();
          context.moveTo(x2, y2);
          context.lineTo(x2 - 6, y2 - 3);
          context.lineTo(x2 - 6, y2 + 3);
          context.fill();
        }
        context.globalAlpha = 1;
      });
    }
    drawGroup(context, group, y, width) {
      context.fillStyle = this.look.group;
      context.fillRect(0, y, width, HEAD - 1);
      if (group.folded) {
        context.fillStyle = this.look.muted;
        const count = group.tracks.length;
        context.fillText(`${count} ${count === 1 ? "track" : "tracks"} folded`, 8, y + HEAD / 2);
      }
    }
    drawRange(context, width, height) {
      const { range, view } = this.app;
      if (!range) return;
      const x = view.x(range.from);
      const right = view.x(range.to);
      context.fillStyle = this.look.range;
      context.fillRect(x, 0, right - x, height);
      context.fillStyle = this.look.select;
      for (const edge of [x, right]) if (edge >= 0 && edge <= width) context.fillRect(edge - 0.5, 0, 1, height);
    }
    draw(context, width, height, scroll, step, selectedEnd) {
      const { app } = this;
      context.clearRect(0, 0, width, height);
      context.font = "11px system-ui, sans-serif";
      context.textBaseline = "middle";
      context.strokeStyle = this.look.line;
      context.lineWidth = 1;
      context.beginPath();
      for (let t = Math.ceil(app.view.from / step) * step; t < app.view.to; t += step) {
        const x = Math.round(app.view.x(t)) + 0.5;
        context.moveTo(x, 0);
        context.lineTo(x, height);
      }
      context.stroke();
      this.labels = [];
      for (const item of app.tracks.shown) {
        const y = item.y - scroll;
        if (y + item.height < 0 || y > height) continue;
        if (item.kind === "group") {
          this.drawGroup(context, item, y, width);
          continue;
        }
        context.fillStyle = this.look.line;
        context.fillRect(0, y + item.height - 1, width, 1);
        if (item.series) drawCounter(context, app, item, y + 3, width, this.shades[0][22], this.shades[0][20], this.look.muted);
        else this.drawThread(context, item, y + 2, height, width);
      }
      this.flushRects(context);
      for (const item of app.tracks.shown) {
        const y = item.y - scroll;
        if (item.kind === "thread" && y + item.height >= 0 && y <= height) this.drawGaps(context, item, y, width);
      }
      context.font = "11px system-ui, sans-serif";
      for (const faint of [false, true]) {
        context.fillStyle = faint ? this.look.muted : this.look.text;
        for (const [text, x, y, dim] of this.labels) if (dim === faint && text) context.fillText(text, x, y);
      }
      this.drawArrows(context, scroll, width);
      this.drawRange(context, width, height);
      this.drawSelected(context, scroll - 2, width, selectedEnd);
    }
    /** What is drawn at X, Y of the canvas? */
    hit(x, y, scroll) {
      const { app } = this;
      const track = app.tracks.at(y + scroll);
      if (!track || track.kind !== "thread") return null;
      const row = track.folded ? 3 : ROW;
      const depth = Math.floor((y + scroll - track.y - 2) / row);
      const shift = app.offset[track.capture];
      if (depth < 0 || depth >= track.depths) return null;
      const time = app.view.time(x) - shift;
      const near = app.view.nsPerPixel * (track.tile ? 5 : 1.5);
      let best = null;
      let distance = near;
      this.eachPart(track, depth, this.tilesFor(track, false), (part) => {
        const away = Math.max(part.start - time, time - part.end, 0);
        if (away < distance || away === 0 && !best) {
          distance = away;
          best = { ...part, track };
        }
      });
      return best;
    }
    /** The value of the counter at X, Y. */
    counterAt(x, y, scroll) {
      const { app } = this;
      const track = app.tracks.at(y + scroll);
      if (!track || track.kind !== "thread" || !track.series) return null;
      const at = lastBefore(track.series.times, app.view.time(x) - app.offset[track.capture]);
      return at < 0 ? null : [track.title, shortNumber(track.series.values[at])];
    }
    /** A line about HIT. */
    describe(hit) {
      const name = this.app.name(hit.track.capture, hit.name);
      if (hit.track.tile && hit.start === hit.end) return [name[0], "a moment"];
      if (hit.flags & CALL) {
        const more = hit.flags & (BEFORE | AFTER) ? "more than " : "";
        return [name[0], more + duration(hit.end - hit.start)];
      }
      const exact = hit.flags & SUMMARY ? "about " : "";
      const calls = hit.calls === 1 ? "1 call" : `${hit.calls} calls`;
      return [name[0], `${calls} here, ${exact}${duration(hit.busy)} in ${duration(hit.end - hit.start)}; zoom in for each`];
    }
  };

  // src/heads.ts
  var Heads = class {
    constructor(app, changed) {
      this.app = app;
      this.changed = changed;
    }
    app;
    changed;
    element = byId("heads");
    drawn = "";
    button(text, title, act, pressed = false) {
      return h(
        "button",
        {
          title,
          "aria-label": title,
          "aria-pressed": String(pressed),
          onclick: () => {
            act();
            this.changed();
          }
        },
        text
      );
    }
    groupHead(group) {
      return h(
        "div",
        { class: "head group", title: group.detail },
        this.button(group.folded ? "▸" : "▾", group.folded ? "Unfold" : "Fold", () => group.folded = !group.folded),
        h("span", { class: "title" }, group.title),
        h("span", { class: "detail" }, group.detail)
      );
    }
    trackHead(track) {
      const lost = track.thread.lost ? `, ${grouped2(track.thread.lost)} lost` : "";
      return h(
        "div",
        { class: `head${track.pinned ? " pinned" : ""}`, title: `${track.title}, ${track.detail}: ${grouped2(track.thread.records)} records${lost}` },
        this.button(track.folded ? "▸" : "▾", track.folded ? "Unfold" : "Fold", () => track.folded = !track.folded),
        h("span", { class: "title" }, track.title),
        h("span", { class: "detail" }, track.detail),
        h(
          "span",
          { class: "acts" },
          this.button("↑", "Move up", () => this.app.tracks.move(track, -1)),
          this.button("↓", "Move down", () => this.app.tracks.move(track, 1)),
          this.button("⚑", track.pinned ? "Unpin" : "Pin to the top", () => track.pinned = !track.pinned, track.pinned)
        )
      );
    }
    /** Draw what is in sight, if that has changed. */
    draw(scroll, height) {
      const shown = this.app.tracks.shown.filter((item) => item.y + item.height > scroll && item.y < scroll + height);
      const key = shown.map((item) => `${item.key}/${item.y}/${item.height}/${item.folded}/${item.kind === "thread" && item.pinned}`).join(" ");
      if (key !== this.drawn) {
        this.drawn = key;
        this.element.replaceChildren(
          ...shown.map((item) => {
            const head = item.kind === "group" ? this.groupHead(item) : this.trackHead(item);
            head.style.top = `${item.y}px`;
            head.style.height = `${item.height}px`;
            return head;
          })
        );
      }
      this.element.style.transform = `translateY(${-scroll}px)`;
    }
  };

  // src/minimap.ts
  var MINIMAP = 40;
  var TRACKS_MOST = 24;
  var Minimap = class {
    constructor(app, canvas) {
      this.app = app;
      this.canvas = canvas;
      canvas.addEventListener("pointerdown", (event) => this.begin(event));
    }
    app;
    canvas;
    begin(event) {
      const { view } = this.app;
      this.canvas.setPointerCapture(event.pointerId);
      const time = (e) => e.offsetX / view.width * view.whole;
      const began = time(event);
      const inside = began >= view.from && began <= view.to && view.to - view.from < view.whole * 0.98;
      const held = began - view.from;
      const length = view.to - view.from;
      const move = (e) => {
        const now = time(e);
        if (inside) view.set(now - held, now - held + length);
        else if (Math.abs(now - began) > view.whole / 200) view.set(Math.min(began, now), Math.max(began, now));
        this.app.emit("draw");
      };
      const end = (e) => {
        this.canvas.removeEventListener("pointermove", move);
        if (!inside && Math.abs(time(e) - began) <= view.whole / 200) {
          view.glide(began - length / 2, began + length / 2);
          this.app.emit("draw");
        }
      };
      this.canvas.addEventListener("pointermove", move);
      this.canvas.addEventListener("pointerup", end, { once: true });
      this.canvas.addEventListener("pointercancel", end, { once: true });
    }
    draw(line, select, veil) {
      const { app } = this;
      const width = app.view.width;
      const context = prepared(this.canvas, width, MINIMAP);
      context.clearRect(0, 0, width, MINIMAP);
      const tracks = app.tracks.all().filter((track) => track.thread.records > 0 && track.thread.thread >= 0).sort((a, b) => b.thread.records - a.thread.records).slice(0, TRACKS_MOST).sort((a, b) => a.capture - b.capture || a.thread.thread - b.thread.thread);
      const height = Math.min(14, MINIMAP / Math.max(1, tracks.length));
      tracks.forEach((track, i) => {
        const shift = app.offset[track.capture];
        const duration2 = app.captures[track.capture].duration;
        const level = app.source.level(levelFor(duration2 / COLUMNS) + 1);
        const tile = app.store.get(track.capture, track.thread.thread, level, 0);
        if (!tile || tile.rows.length < 2) return;
        context.fillStyle = familyColour(track.capture ? "library" : "own", app.dark);
        for (let k = tile.rows[0]; k < tile.rows[1]; k++) {
          const start = tile.from + tile.start[k] * tile.unit + shift;
          const span = tile.span[k] * tile.unit;
          const share = Math.min(1, tile.busy[k] * tile.unit / Math.max(1, span));
          const x = start / app.view.whole * width;
          const w = Math.max(0.5, span / app.view.whole * width);
          context.globalAlpha = 0.25 + 0.75 * share;
          context.fillRect(x, i * height, w, Math.max(1, height - 1));
        }
      });
      context.globalAlpha = 1;
      const from = app.view.from / app.view.whole * width;
      const to = app.view.to / app.view.whole * width;
      context.fillStyle = veil;
      context.fillRect(0, 0, from, MINIMAP);
      context.fillRect(to, 0, width - to, MINIMAP);
      context.strokeStyle = select;
      context.lineWidth = 1.5;
      context.strokeRect(Math.max(0.75, from), 0.75, Math.min(width - 1.5, Math.max(2, to - from)), MINIMAP - 1.5);
      context.fillStyle = line;
      context.fillRect(0, MINIMAP - 1, width, 1);
    }
  };

  // src/mouse.ts
  var STILL = 4;
  var Mouse = class {
    // where the mouse is, for the keys
    constructor(app, painter, canvas, scroller, chosen) {
      this.app = app;
      this.painter = painter;
      this.canvas = canvas;
      this.scroller = scroller;
      this.chosen = chosen;
      this.x = 400;
      canvas.addEventListener("pointerdown", (event) => this.press(event, event.shiftKey));
      byId("axis").addEventListener("pointerdown", (event) => this.press(event, true));
      canvas.addEventListener("pointermove", (event) => this.hover(event));
      canvas.addEventListener("pointerleave", () => this.tip.hidden = true);
      canvas.addEventListener("dblclick", (event) => {
        const hit = this.at(event);
        if (hit) this.chosen(hit, true);
      });
      for (const element of [canvas, byId("axis"), byId("minimap")]) {
        element.addEventListener("wheel", (event) => this.wheel(event), { passive: false });
      }
    }
    app;
    painter;
    canvas;
    scroller;
    chosen;
    tip = byId("tip");
    x = 0;
    at(event) {
      return this.painter.hit(event.offsetX, event.offsetY, this.scroller.scrollTop);
    }
    press(event, selecting) {
      if (event.button !== 0) return;
      const target = event.currentTarget;
      const left = target.getBoundingClientRect().left;
      const { view } = this.app;
      const began = event.clientX - left;
      const from = view.time(began);
      let last = event.clientX;
      let lastY = event.clientY;
      let moved = false;
      target.setPointerCapture(event.pointerId);
      const move = (e) => {
        moved ||= Math.abs(e.clientX - left - began) > STILL || Math.abs(e.clientY - event.clientY) > STILL;
        if (!moved) return;
        this.tip.hidden = true;
        if (selecting) {
          const to = view.time(Math.max(0, Math.min(view.width, e.clientX - left)));
          this.app.range = { from: Math.max(0, Math.min(from, to)), to: Math.max(from, to) };
        } else {
          target.style.cursor = "grabbing";
          view.pan(last - e.clientX);
          this.scroller.scrollTop += lastY - e.clientY;
        }
        last = e.clientX;
        lastY = e.clientY;
        this.app.emit("draw");
      };
      const end = (e) => {
        target.removeEventListener("pointermove", move);
        target.style.cursor = "";
        if (selecting && moved) this.app.setRange(this.app.range);
        else if (selecting) this.app.setRange(null);
        else if (!moved && e.type === "pointerup") {
          const hit = this.at(e);
          if (hit) this.chosen(hit, false);
          else this.app.select(null);
        }
      };
      target.addEventListener("pointermove", move);
      target.addEventListener("pointerup", end, { once: true });
      target.addEventListener("pointercancel", end, { once: true });
    }
    hover(event) {
      this.x = event.offsetX;
      if (event.buttons) return;
      const hit = this.at(event);
      this.canvas.style.cursor = hit ? "pointer" : "";
      const told = hit ? this.painter.describe(hit) : this.painter.counterAt(event.offsetX, event.offsetY, this.scroller.scrollTop);
      this.tip.hidden = !told;
      if (!told) return;
      const [name, words] = told;
      this.tip.replaceChildren(h("strong", {}, name), h("span", {}, words));
      const box = this.tip.getBoundingClientRect();
      this.tip.style.left = `${Math.min(event.clientX + 14, window.innerWidth - box.width - 8)}px`;
      this.tip.style.top = `${Math.min(event.clientY + 16, window.innerHeight - box.height - 8)}px`;
    }
    wheel(event) {
      const { view } = this.app;
      const lines = event.deltaMode === 1 ? 16 : 1;
      if (event.ctrlKey || event.metaKey || event.currentTarget !== this.canvas) {
        event.preventDefault();
        view.zoom(Math.exp(-event.deltaY * lines * (event.ctrlKey ? 6e-3 : 3e-3)), event.offsetX);
      } else if (event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY)) {
        event.preventDefault();
        view.pan((event.deltaX || event.deltaY) * lines);
      } else {
        return;
      }
      this.tip.hidden = true;
      this.app.emit("draw");
    }
  };

  // src/compare.ts
  function differences(stats, names) {
    const all = /* @__PURE__ */ new Map();
    stats.forEach((one, side) => {
      for (const cost of one.functions) {
        const name = names[side][cost.name] ?? ["(unknown)", "", 0, "span", "own"];
        const key = JSON.stringify(name.slice(0, 3));
        let difference = all.get(key);
        if (!difference) {
          difference = { name, self: [0, 0], total: [0, 0], calls: [0, 0], numbers: [-1, -1] };
          all.set(key, difference);
        }
        difference.self[side] += cost.self;
        difference.total[side] += cost.total;
        difference.calls[side] += cost.calls + cost.resumes;
        difference.numbers[side] = cost.name;
      }
    });
    const change = (one) => Math.abs(one.self[1] - one.self[0]);
    return [...all.values()].sort((a, b) => change(b) - change(a));
  }

  // src/flame.ts
  var ROW2 = 18;
  function treeOf(stats) {
    const root = { name: -1, parent: null, calls: 0, self: 0, total: 0, children: [] };
    const nodes = [];
    for (const [name, parent, calls, self, total] of stats.tree) {
      const above = parent < 0 ? root : nodes[parent];
      const node = { name, parent: above, calls, self, total, children: [] };
      nodes.push(node);
      above.children.push(node);
      if (above === root) root.total += total;
    }
    return root;
  }
  function sandwich(root, name, callers) {
    const top = { name, parent: null, calls: 0, self: 0, total: 0, children: [] };
    const into = (target, key, from, time) => {
      let child = target.children.find((node) => node.name === key);
      if (!child) {
        child = { name: key, parent: target, calls: 0, self: 0, total: 0, children: [] };
        target.children.push(child);
      }
      child.calls += from.calls;
      child.self += from.self;
      child.total += time;
      return child;
    };
    const copy = (source, target) => {
      for (const child of source.children) copy(child, into(target, child.name, child, child.total));
    };
    const walk = (node, inside) => {
      const here = node.name === name;
      if (here && (callers || !inside)) {
        if (!inside) top.total += node.total;
        top.calls += node.calls;
        top.self += node.self;
        if (callers) {
          let target = top;
          const time = inside ? node.self : node.total;
          for (let above = node.parent; above && above.name >= 0; above = above.parent) {
            target = into(target, above.name, node, time);
          }
        } else {
          copy(node, top);
        }
      }
      for (const child of node.children) walk(child, inside || here);
    };
    walk(root, false);
    const order2 = (node) => {
      node.children.sort((a, b) => b.total - a.total);
      node.children.forEach(order2);
    };
    order2(top);
    return top;
  }
  var Flame = class {
    constructor(app, capture, chosen) {
      this.app = app;
      this.capture = capture;
      this.chosen = chosen;
      this.element = h("div", { class: "flame" }, this.tip, this.canvas);
      this.canvas.addEventListener("pointermove", (event) => this.explain(event));
      this.canvas.addEventListener("click", (event) => {
        const node = this.at(event);
        this.zoomed = node === this.zoomed ? this.root : node ?? this.root;
        this.draw();
      });
      this.canvas.addEventListener("dblclick", (event) => {
        const node = this.at(event);
        if (node && node.name >= 0) this.chosen(node.name);
      });
    }
    app;
    capture;
    chosen;
    element;
    canvas = h("canvas", { tabindex: 0, role: "img", "aria-label": "Flame graph; the table of functions has the same figures" });
    tip = h("output", { class: "flame-tip" });
    root = null;
    zoomed = null;
    drawn = [];
    show(root) {
      this.root = this.zoomed = root;
      this.draw();
    }
    at(event) {
      const hit = this.drawn.find(
        (d) => event.offsetX >= d.x && event.offsetX < d.x + d.w && event.offsetY >= d.y && event.offsetY < d.y + ROW2
      );
      return hit?.node ?? null;
    }
    words(node) {
      if (node.name < 0) return `everything: ${duration(node.total)}`;
      const share = this.root?.total ? (100 * node.total / this.root.total).toFixed(1) : "0";
      return `${this.app.name(this.capture(), node.name)[0]}: ${duration(node.total)} (${share} %), self ${duration(node.self)}, ${grouped2(node.calls)} calls`;
    }
    explain(event) {
      const node = this.at(event);
      this.tip.textContent = node ? this.words(node) : "Click a call to zoom; double-click to find it on the timeline.";
    }
    draw() {
      if (!this.root || !this.zoomed || !this.element.clientWidth) return;
      const width = this.element.clientWidth - 16;
      let deepest = 0;
      this.drawn = [];
      const place = (node, x, w, depth) => {
        if (w < 0.6) return;
        deepest = Math.max(deepest, depth);
        this.drawn.push({ node, x, y: depth * ROW2, w });
        let at = x;
        for (const child of node.children) {
          const part = node.total ? w * child.total / node.total : 0;
          place(child, at, part, depth + 1);
          at += part;
        }
      };
      const above = [];
      for (let node = this.zoomed.parent; node; node = node.parent) above.unshift(node);
      above.forEach((node, i) => this.drawn.push({ node, x: 0, y: i * ROW2, w: width }));
      place(this.zoomed, 0, width, above.length);
      const height = (deepest + 1) * ROW2 + 4;
      const context = prepared(this.canvas, width, height);
      const colours = palette(this.app.dark, 0);
      const style = getComputedStyle(document.documentElement);
      context.clearRect(0, 0, width, height);
      context.font = "11px system-ui, sans-serif";
      context.textBaseline = "middle";
      for (const { node, x, y, w } of this.drawn) {
        const known = node.name >= 0;
        context.globalAlpha = above.includes(node) ? 0.5 : 1;
        context.fillStyle = known ? colours[this.app.colours[this.capture()][node.name] ?? 0] : style.getPropertyValue("--group");
        context.fillRect(x, y, Math.max(0.5, w - 0.75), ROW2 - 1);
        if (w < 24) continue;
        context.fillStyle = style.getPropertyValue(known ? "--slice-text" : "--text");
        const text = known ? this.app.name(this.capture(), node.name)[0] : `everything, ${duration(node.total)}`;
        context.fillText(fitted(context, text, w - 7), x + 4, y + ROW2 / 2);
      }
      context.globalAlpha = 1;
      if (!this.tip.textContent) this.tip.textContent = this.words(this.root);
    }
  };

  // src/table.ts
  function table(columns, rows, by, chosen, label) {
    const body = h("tbody");
    let sorted = by;
    let down = true;
    const heads = columns.map(
      (column, i) => h(
        "th",
        { scope: "col", class: column.right ? "right" : "", title: column.hint ?? "" },
        h("button", { onclick: () => order2(i) }, column.title)
      )
    );
    const fill = () => {
      body.replaceChildren(
        ...rows.map(
          (row) => h(
            "tr",
            {
              tabindex: 0,
              onclick: () => chosen(row),
              onkeydown: (event) => {
                if (event.key === "Enter") chosen(row);
              }
            },
            ...columns.map((column) => h("td", { class: column.right ? "right" : "", title: column.text(row) }, column.text(row)))
          )
        )
      );
      heads.forEach((head, i) => head.setAttribute("aria-sort", i === sorted ? down ? "descending" : "ascending" : "none"));
    };
    const order2 = (column) => {
      down = column === sorted ? !down : Boolean(columns[column].right);
      sorted = column;
      const key = columns[column].sort;
      rows = [...rows].sort((a, b) => {
        const x = key(a);
        const y = key(b);
        const less = x < y ? -1 : x > y ? 1 : 0;
        return down ? -less : less;
      });
      fill();
    };
    fill();
    return h("table", { "aria-label": label }, h("thead", {}, h("tr", {}, ...heads)), body);
  }

  // src/panel.ts
  var BOTH = 2;
  var SQL_EXAMPLE = "SELECT id, name, dur_ns, start_ns, thread, depth FROM slices ORDER BY dur_ns DESC LIMIT 20";
  var Panel = class {
    constructor(app, actions) {
      this.app = app;
      this.actions = actions;
      this.flame = new Flame(
        app,
        () => this.asking().capture,
        (name) => this.actions.seek(this.asking().capture, name)
      );
      for (const tab of ["call", "functions", "flame", "sql"]) {
        byId(`tab-${tab}`).addEventListener("click", () => this.open(tab));
      }
      if (!app.source.live) byId("tab-sql").hidden = true;
      byId("panel-close").addEventListener("click", () => this.toggle(false));
      this.sqlBox.value = SQL_EXAMPLE;
      this.sqlBox.addEventListener("keydown", (event) => {
        if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) void this.runQuery();
        event.stopPropagation();
      });
      app.on("select", () => void this.showCall());
      app.on("range", () => {
        if (app.range && this.tab !== "flame") this.open("functions");
        else this.refresh();
      });
      this.drag();
      this.drawCall();
    }
    app;
    actions;
    tab = "call";
    asked = 0;
    stats = null;
    statsOf = 0;
    statsKey = "";
    flame;
    flameRoot = null;
    sandwiched = -1;
    sqlBox = h("textarea", { id: "sql", rows: 3, spellcheck: "false", "aria-label": "SQL", placeholder: SQL_EXAMPLE });
    sqlResult = h("div", { class: "sql-result" });
    call = null;
    callCapture = 0;
    drag() {
      const grip = byId("panel-grip");
      grip.addEventListener("pointerdown", (event) => {
        grip.setPointerCapture(event.pointerId);
        const bottom = byId("panel").getBoundingClientRect().bottom;
        const move = (e) => {
          const height = Math.max(80, Math.min(window.innerHeight - 200, bottom - e.clientY));
          document.documentElement.style.setProperty("--panel", `${height}px`);
          this.app.emit("moved");
        };
        grip.addEventListener("pointermove", move);
        grip.addEventListener("pointerup", () => grip.removeEventListener("pointermove", move), { once: true });
      });
    }
    toggle(open) {
      byId("panel").hidden = !open;
      this.app.emit("moved");
    }
    open(tab) {
      this.tab = tab;
      this.toggle(true);
      for (const other of ["call", "functions", "flame", "sql"]) {
        byId(`tab-${other}`).setAttribute("aria-selected", String(other === tab));
      }
      this.refresh();
    }
    get openTab() {
      return byId("panel").hidden ? null : this.tab;
    }
    body(...children) {
      byId("panel-body").replaceChildren(...children);
    }
    refresh() {
      if (this.tab === "call") this.drawCall();
      else if (this.tab === "sql") this.drawSql();
      else void this.showStats();
    }
    // ------------------------------------------------------------------ a call
    async showCall() {
      const place = this.app.selected;
      const asked = ++this.asked;
      if (!place) {
        this.call = null;
        if (this.tab === "call") this.drawCall();
        return;
      }
      try {
        const call = await this.app.source.call(place.capture, place.thread, place.start, place.depth);
        if (asked !== this.asked) return;
        this.call = call;
        this.callCapture = place.capture;
        this.app.selected = { ...place, start: call.start };
        this.open("call");
        this.app.emit("draw");
      } catch (error) {
        if (asked === this.asked) this.body(h("p", { class: "problem" }, String(error.message)));
      }
    }
    /** Something that is no call: all about it is here already. */
    showSpan(span, capture) {
      this.asked++;
      this.call = null;
      this.open("call");
      const name = this.app.name(capture, span.name);
      const args = Object.entries(span.args ?? {}).map(([key, value]) => this.row(key, typeof value === "string" ? value : JSON.stringify(value)));
      const facts = h(
        "dl",
        { class: "facts" },
        this.row("start", `${(span.start / 1e6).toFixed(6)} ms`),
        ...span.end > span.start ? [this.row("duration", h("strong", {}, duration(span.end - span.start)))] : [],
        ...span.id && span.id !== "0" ? [this.row("id", span.id)] : [],
        this.row("thread", this.app.tracks.find(capture, span.thread)?.title ?? String(span.thread)),
        ...args
      );
      const where = h("span", { class: "where", title: name[1] }, name[1] ? `${fileName(name[1])}${name[2] ? `:${name[2]}` : ""}` : name[3]);
      this.body(h("div", { class: "call-head" }, h("h2", {}, name[0]), where), h("div", { class: "columns" }, h("section", {}, facts)));
    }
    row(title, ...content) {
      return h("div", {}, h("dt", {}, title), h("dd", {}, ...content));
    }
    drawCall() {
      const { call, app } = this;
      if (!call) {
        this.body(h("p", { class: "hint" }, "Click a call to see its time, arguments, callers and source. Drag over the time scale, or hold Shift and drag, to select a range."));
        return;
      }
      const capture = this.callCapture;
      const name = app.name(capture, call.name);
      const facts = h(
        "dl",
        { class: "facts" },
        this.row("start", `${(call.start / 1e6).toFixed(6)} ms`),
        this.row("duration", h("strong", {}, duration(call.duration))),
        this.row("self", `${call.self_about ? "about " : ""}${duration(call.self)}`),
        this.row("ended", call.ended === "return" ? "returned" : call.ended === "unwind" ? "by an exception" : call.ended),
        ...call.entered !== "call" ? [this.row("entered", call.entered)] : [],
        ...call.task ? [this.row("coroutine", String(call.task))] : [],
        this.row("thread", app.tracks.find(capture, call.thread)?.title ?? String(call.thread)),
        this.row("depth", String(call.depth)),
        this.row("id", String(call.id))
      );
      const swatch = h("i", { class: "swatch" });
      swatch.style.background = familyColour(familyOf(name), app.dark);
      const head = h(
        "div",
        { class: "call-head" },
        swatch,
        h("h2", {}, name[0]),
        h("span", { class: "where", title: name[1] }, name[1] ? `${fileName(name[1])}${name[2] ? `:${name[2]}` : ""}` : name[3]),
        h("button", { onclick: () => this.actions.seek(capture, call.name) }, "Find all calls"),
        h("button", { onclick: () => this.actions.go({ capture, thread: call.thread, start: call.start, depth: call.depth }, call.duration) }, "Zoom (f)"),
        h("button", { onclick: () => app.setRange({ from: call.start + app.offset[capture], to: call.start + call.duration + app.offset[capture] }) }, "Figures of it (m)")
      );
      const args = Object.entries(call.args);
      const columns = [h("section", {}, facts)];
      if (args.length) {
        columns.push(
          h("section", {}, h("h3", {}, "Arguments"), h("dl", { class: "facts" }, ...args.map(([key, value]) => this.row(key, typeof value === "string" ? value : JSON.stringify(value)))))
        );
      }
      columns.push(this.callersOf(call, capture));
      if (call.source) columns.push(this.sourceOf(call, name[2]));
      this.body(head, h("div", { class: "columns" }, ...columns));
    }
    callersOf(call, capture) {
      const list = h("ol", { class: "callers" });
      for (const [name, start, depth] of [...call.callers].reverse()) {
        const known = this.app.name(capture, name);
        list.append(
          h(
            "li",
            {},
            h("button", { class: "link", title: known[1], onclick: () => this.actions.go({ capture, thread: call.thread, start, depth }, 0) }, known[0]),
            h("span", { class: "where" }, known[1] ? ` ${fileName(known[1])}${known[2] ? `:${known[2]}` : ""}` : "")
          )
        );
      }
      return h("section", {}, h("h3", {}, "Called by"), call.callers.length ? list : h("p", { class: "hint" }, "nobody: outermost"));
    }
    sourceOf(call, line) {
      const source = call.source;
      const lines = source.lines.map(
        (text, i) => h("div", { class: source.first + i === line ? "here" : "" }, h("span", { class: "number" }, String(source.first + i)), text || " ")
      );
      return h("section", { class: "source" }, h("h3", {}, "Source"), h("pre", {}, ...lines));
    }
    // ----------------------------------------------------------------- a range
    /** The part of a capture that is asked about: the range, or what is in sight. */
    asking(which = this.statsOf) {
      const { app } = this;
      const capture = Math.min(which, app.captures.length - 1);
      const range = app.range ?? { from: app.view.from, to: app.view.to };
      const shift = app.offset[capture];
      const real = (item) => item.kind === "thread" && item.capture === capture && item.thread.thread >= 0;
      const shown = app.tracks.shown.filter(real);
      const all = app.tracks.all().filter(real).length;
      return {
        capture,
        range: { from: Math.max(0, range.from - shift), to: range.to - shift },
        threads: shown.length === all ? null : shown.map((item) => item.thread.thread)
      };
    }
    async showStats() {
      const { capture, range, threads } = this.asking();
      const key = JSON.stringify([capture, range, threads, this.app.captures[capture]?.generation]);
      if (key !== this.statsKey) {
        const asked = ++this.asked;
        this.body(h("p", { class: "hint" }, "Adding up…"));
        try {
          const stats = await this.app.source.stats(capture, range, threads);
          if (asked !== this.asked) return;
          this.stats = stats;
          this.statsKey = key;
          this.flameRoot = null;
          this.sandwiched = -1;
        } catch (error) {
          if (asked === this.asked) this.body(h("p", { class: "problem" }, String(error.message)));
          return;
        }
      }
      if (this.tab === "functions" && this.statsOf === BOTH) void this.showDifferences();
      else if (this.tab === "functions") this.drawFunctions();
      else if (this.tab === "flame") this.drawFlame();
    }
    /** The same stretch of both captures, as they lie on the screen. */
    async showDifferences() {
      const { app } = this;
      const asked = ++this.asked;
      const [first, second] = [this.asking(0), this.asking(1)];
      const stats = [
        await app.source.stats(0, first.range, first.threads),
        await app.source.stats(1, second.range, second.threads)
      ];
      if (asked !== this.asked) return;
      const rows = differences(stats, [app.captures[0].names, app.captures[1].names]);
      const signed = (ns) => (ns > 0 ? "+" : "") + duration(ns);
      const columns = [
        { title: "Function", text: (row) => row.name[0], sort: (row) => row.name[0] },
        { title: "Change of self", right: true, text: (row) => signed(row.self[1] - row.self[0]), sort: (row) => row.self[1] - row.self[0] },
        { title: "Self, first", right: true, text: (row) => duration(row.self[0]), sort: (row) => row.self[0] },
        { title: "Self, second", right: true, text: (row) => duration(row.self[1]), sort: (row) => row.self[1] },
        { title: "Total, first", right: true, text: (row) => duration(row.total[0]), sort: (row) => row.total[0] },
        { title: "Total, second", right: true, text: (row) => duration(row.total[1]), sort: (row) => row.total[1] },
        { title: "Calls, first", right: true, text: (row) => grouped2(row.calls[0]), sort: (row) => row.calls[0] },
        { title: "Calls, second", right: true, text: (row) => grouped2(row.calls[1]), sort: (row) => row.calls[1] },
        { title: "File", text: (row) => row.name[1] ? `${fileName(row.name[1])}${row.name[2] ? `:${row.name[2]}` : ""}` : "", sort: (row) => row.name[1] }
      ];
      const go = (row) => {
        const side = row.numbers[1] >= 0 ? 1 : 0;
        this.actions.seek(side, row.numbers[side]);
      };
      this.body(this.statsHead(), table(columns, rows, -1, go, "Differences of functions"));
    }
    statsHead() {
      const { app } = this;
      const stats = this.stats;
      const { capture, range: asked } = this.asking();
      const range = app.source.live ? asked : stats;
      const head = h("div", { class: "stats-head" });
      if (app.captures.length > 1) {
        const files = [...app.captures.map((c) => c.file), "both: the difference"];
        const choice = h("select", { "aria-label": "Capture" }, ...files.map((file, i) => h("option", { value: i, selected: i === this.statsOf }, file)));
        choice.addEventListener("change", () => {
          this.statsOf = Number(choice.value);
          this.refresh();
        });
        head.append(choice);
      }
      head.append(
        h("span", {}, `${!app.source.live ? "On this page" : app.range ? "Selected" : "In sight"}: ${moment(range.from, 1e3)} to ${moment(range.to, 1e3)}, `, h("strong", {}, duration(range.to - range.from))),
        h("span", {}, `${grouped2(stats.calls)} calls, ${grouped2(stats.functions_all)} functions, ${duration(stats.busy)} busy on all threads`)
      );
      if (!app.range) head.append(h("button", { onclick: () => this.refresh() }, "Update"));
      const cut = app.source.cutAddress(capture, range);
      if (cut) head.append(h("a", { href: cut, download: `${app.captures[capture].file.replace(/\.kymo$/, "")}-cut.kymo`, class: "button" }, "Cut"));
      if (app.range) head.append(h("button", { onclick: () => app.setRange(null) }, "Clear"));
      return head;
    }
    drawFunctions() {
      const stats = this.stats;
      const capture = this.asking().capture;
      const name = (row) => this.app.name(capture, row.name);
      const time = (title, key, hint) => ({
        title,
        hint,
        right: true,
        text: (row) => duration(row[key]),
        sort: (row) => row[key]
      });
      const columns = [
        { title: "Function", text: (row) => name(row)[0], sort: (row) => name(row)[0] },
        time("Self", "self", "time in the function itself"),
        { title: "%", right: true, hint: "of the busy time", text: (row) => (100 * row.self / Math.max(1, stats.busy)).toFixed(1), sort: (row) => row.self },
        time("Total", "total", "time with what it called"),
        { title: "Calls", right: true, text: (row) => grouped2(row.calls + row.resumes), sort: (row) => row.calls + row.resumes },
        time("Mean", "mean", "of a call"),
        time("p50", "p50", "half of the calls took no longer"),
        time("p90", "p90", "nine of ten calls took no longer"),
        time("p99", "p99", "99 of 100 calls took no longer"),
        time("Max", "max", "the longest call"),
        { title: "File", text: (row) => name(row)[1] ? `${fileName(name(row)[1])}${name(row)[2] ? `:${name(row)[2]}` : ""}` : "", sort: (row) => name(row)[1] }
      ];
      this.body(this.statsHead(), table(columns, stats.functions, 1, (row) => this.actions.seek(capture, row.name), "Functions of the range"));
    }
    drawFlame() {
      const stats = this.stats;
      const capture = this.asking().capture;
      this.flameRoot ??= treeOf(stats);
      const head = this.statsHead();
      const names = stats.functions.slice(0, 100);
      const choice = h(
        "select",
        { "aria-label": "Callers and callees of" },
        h("option", { value: "-1" }, "Flame graph of everything"),
        ...names.flatMap((f) => {
          const text = this.app.name(capture, f.name)[0];
          return [
            h("option", { value: `${f.name}>`, selected: this.sandwiched === f.name }, `${text}: what it calls`),
            h("option", { value: `${f.name}<` }, `${text}: who calls it`)
          ];
        })
      );
      choice.addEventListener("change", () => {
        const value = parseInt(choice.value, 10);
        const root = this.flameRoot;
        this.flame.show(value < 0 ? root : sandwich(root, value, choice.value.endsWith("<")));
      });
      head.prepend(choice);
      this.body(head, this.flame.element);
      this.flame.show(this.flameRoot);
    }
    resized() {
      if (this.tab === "flame" && !byId("panel").hidden) this.flame.draw();
    }
    // -------------------------------------------------------------------- SQL
    drawSql() {
      this.body(
        h("div", { class: "sql" }, this.sqlBox, h("button", { onclick: () => void this.runQuery() }, "Run (Ctrl-Enter)")),
        this.sqlResult
      );
    }
    async runQuery() {
      const asked = ++this.asked;
      this.sqlResult.replaceChildren(h("p", { class: "hint" }, "Running…"));
      try {
        const rows = await this.app.source.query(0, this.sqlBox.value);
        if (asked === this.asked) this.showRows(rows);
      } catch (error) {
        this.sqlResult.replaceChildren(h("p", { class: "problem" }, String(error.message)));
      }
    }
    showRows(rows) {
      const most = 2e3;
      const keys = Object.keys(rows[0] ?? {});
      const leads = keys.includes("start_ns") && keys.includes("thread") && keys.includes("depth");
      const columns = keys.map((key) => ({
        title: key,
        right: typeof rows[0][key] === "number",
        text: (row) => row[key] === null ? "–" : String(row[key]),
        sort: (row) => row[key]
      }));
      const words = rows.length === 0 ? "No rows." : `${grouped2(rows.length)} rows${rows.length > most ? `, the first ${most} shown` : ""}.`;
      const hint = leads ? " Click a row to go to its call." : " Select start_ns, thread and depth of slices, and rows lead to their calls.";
      this.sqlResult.replaceChildren(
        h("p", { class: "hint" }, words + (rows.length ? hint : "")),
        rows.length ? table(
          columns,
          rows.slice(0, most),
          -1,
          (row) => {
            if (!leads) return;
            const place = { capture: 0, thread: Number(row.thread), start: Number(row.start_ns), depth: Number(row.depth) };
            this.actions.go(place, Number(row.dur_ns ?? 0));
          },
          "Rows"
        ) : ""
      );
    }
  };

  // src/search.ts
  function matcher(text) {
    const expression = /^\/(.*)\/(i?)$/.exec(text);
    if (expression) {
      const pattern = new RegExp(expression[1], expression[2]);
      return (name) => pattern.test(name[0]);
    }
    if (text.startsWith("=")) return (name) => name[0] === text.slice(1);
    const part = text.toLowerCase();
    return (name) => name[0].toLowerCase().includes(part) || name[1].toLowerCase().includes(part);
  }
  var Search = class {
    constructor(app, go) {
      this.app = app;
      this.go = go;
      this.box.addEventListener("input", () => {
        clearTimeout(this.timer);
        this.timer = window.setTimeout(() => this.apply(), 120);
      });
      this.box.addEventListener("keydown", (event) => {
        if (event.key === "Enter") {
          clearTimeout(this.timer);
          this.apply();
          void this.next(event.shiftKey);
        } else if (event.key === "Escape") {
          this.set("");
          this.box.blur();
        }
        event.stopPropagation();
      });
      byId("next").addEventListener("click", () => void this.next(false));
      byId("previous").addEventListener("click", () => void this.next(true));
    }
    app;
    go;
    box = byId("search");
    hits = byId("hits");
    counts = [];
    running = 0;
    timer = 0;
    get text() {
      return this.box.value;
    }
    focus() {
      this.box.focus();
      this.box.select();
    }
    set(text) {
      this.box.value = text;
      this.apply();
    }
    apply() {
      const text = this.box.value.trim();
      this.box.classList.remove("bad");
      if (!text) {
        this.hits.textContent = "";
        this.app.highlight([null, null]);
        return;
      }
      let matches;
      try {
        matches = matcher(text);
      } catch {
        this.box.classList.add("bad");
        this.hits.textContent = "not a regular expression";
        return;
      }
      const sets = this.app.captures.map((capture) => {
        const set = /* @__PURE__ */ new Set();
        capture.names.forEach((name, i) => {
          if (matches(name)) set.add(i);
        });
        return set;
      });
      this.app.highlight([sets[0] ?? null, sets[1] ?? null]);
      this.report(sets);
      void this.count(sets);
    }
    report(sets) {
      const names = sets.reduce((sum, set) => sum + set.size, 0);
      let words = names === 1 ? "1 name" : `${grouped2(names)} names`;
      if (names && sets.every((_, i) => this.counts[i])) {
        let calls = 0;
        sets.forEach((set, i) => {
          for (const name of set) calls += this.counts[i].get(name) ?? 0;
        });
        words += `, ${grouped2(calls)} calls`;
      }
      this.hits.textContent = words;
    }
    /** How often each name was called, once: from the figures of everything. */
    async count(sets) {
      const asked = ++this.running;
      if (this.counts.length === this.app.captures.length) return;
      for (let i = 0; i < this.app.captures.length; i++) {
        try {
          const rows = await this.app.source.counts(i);
          this.counts[i] = new Map(rows);
        } catch {
          return;
        }
      }
      if (asked === this.running) this.report(sets);
    }
    /** Go to the next call that was found, or to the previous one. */
    async next(back) {
      const { app } = this;
      const capture = app.selected?.capture ?? (app.highlighted[0]?.size ? 0 : 1);
      const names = app.highlighted[capture];
      if (!names?.size || !app.captures[capture]) return;
      const asked = ++this.running;
      let time = app.selected ? app.selected.start : back ? app.view.to - app.offset[capture] : app.view.from - app.offset[capture] - 1;
      time = Math.max(-1, time);
      const before = this.hits.textContent ?? "";
      for (; ; ) {
        const found = await app.source.find(capture, [...names], time, back);
        if (asked !== this.running) return;
        if (found.found) {
          this.hits.textContent = before.replace(/ · .*/, "");
          this.go({ capture, thread: found.thread, start: found.time, depth: found.depth });
          return;
        }
        if (found.done) {
          this.hits.textContent = `${before.replace(/ · .*/, "")} · no ${back ? "earlier" : "later"} call`;
          return;
        }
        const share = 100 * found.time / Math.max(1, app.captures[capture].duration);
        this.hits.textContent = `${before.replace(/ · .*/, "")} · searching, ${share.toFixed(0)} %`;
        time = found.time;
      }
    }
  };

  // src/pagesource.ts
  async function inflated(text) {
    const packed = Uint8Array.from(atob(text), (character) => character.charCodeAt(0));
    const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("deflate-raw"));
    return new Response(stream).arrayBuffer();
  }
  var PageSource = class {
    constructor(data2) {
      this.data = data2;
      this.leftOut = data2.left_out;
      this.bytes = inflated(data2.stream);
      let offset = 0;
      for (const [capture, thread, level, index, length] of data2.tiles) {
        this.places.set(`${capture} ${thread} ${level} ${index}`, [offset, length]);
        this.finest = Math.min(this.finest, level);
        this.levels[level] = level;
        offset += length;
      }
      for (let level = LEVELS - 1, last = LEVELS - 1; level >= 0; level--) {
        last = this.levels[level] ?? last;
        this.levels[level] = last;
      }
    }
    data;
    live = false;
    leftOut;
    bytes;
    places = /* @__PURE__ */ new Map();
    finest = LEVELS;
    /** By level: the one to use, because not all are here. */
    levels = [];
    level(wanted) {
      return this.levels[wanted];
    }
    async overview() {
      return this.data.overview;
    }
    async tile(capture, thread, level, index) {
      const place = this.places.get(`${capture} ${thread} ${level} ${index}`);
      return place ? (await this.bytes).slice(place[0], place[0] + place[1]) : null;
    }
    /** The finest tile there is at TIME. */
    async finestAt(capture, thread, time) {
      for (let level = this.finest; level < LEVELS; level++) {
        const bytes = await this.tile(capture, thread, level, Math.floor(time / tileLength(level)));
        if (bytes) return parseTile(bytes);
      }
      return null;
    }
    partAt(tile, depth, time) {
      if (depth >= tile.rows.length - 1) return null;
      const at = firstPart(tile, depth, (time - tile.from) / tile.unit);
      if (at >= tile.rows[depth + 1]) return null;
      const start = tile.from + tile.start[at] * tile.unit;
      const end = start + tile.span[at] * tile.unit;
      return start <= time + tile.unit ? { tile, at, start, end } : null;
    }
    /** The same call in the tiles beside: it may be longer than one. */
    async widened(capture, thread, depth, part) {
      const number = part.tile.number[part.at];
      if (!number) return part;
      const whole = { ...part };
      for (const [c, t, level, index] of this.data.tiles) {
        const from = index * tileLength(level);
        if (c !== capture || t !== thread || tileLength(level) !== part.tile.length) continue;
        const bytes = await this.tile(c, t, level, index);
        const tile = bytes && parseTile(bytes);
        if (!tile || depth >= tile.rows.length - 1 || from === part.tile.from) continue;
        for (let i = tile.rows[depth]; i < tile.rows[depth + 1]; i++) {
          if (tile.number[i] !== number || tile.high[i] !== part.tile.high[part.at]) continue;
          whole.start = Math.min(whole.start, tile.from + tile.start[i] * tile.unit);
          whole.end = Math.max(whole.end, tile.from + (tile.start[i] + tile.span[i]) * tile.unit);
        }
      }
      return whole;
    }
    async call(capture, thread, start, depth) {
      const tile = await this.finestAt(capture, thread, start);
      const part = tile && this.partAt(tile, depth, start);
      if (!tile || !part) throw new Error("This page has nothing more about this place.");
      if (!(tile.flags[part.at] & CALL)) throw new Error("Several calls together; this page does not have them apart.");
      const whole = await this.widened(capture, thread, depth, part);
      const callers = [];
      for (let d = 0; d < depth; d++) {
        const above = this.partAt(tile, d, start);
        if (above) callers.push([tile.name[above.at], (await this.widened(capture, thread, d, above)).start, d]);
      }
      let inside = 0;
      if (depth + 2 < tile.rows.length) {
        for (let i = tile.rows[depth + 1]; i < tile.rows[depth + 2]; i++) {
          const at = tile.from + tile.start[i] * tile.unit;
          if (at >= part.start && at < part.end) inside += tile.busy[i] * tile.unit;
        }
      }
      const share = (part.end - part.start - inside) / Math.max(1, part.end - part.start);
      return {
        id: thread * 2 ** 40 + tile.number[part.at],
        number: tile.number[part.at],
        thread,
        depth,
        name: tile.name[part.at],
        start: whole.start,
        duration: whole.end - whole.start,
        self: Math.max(0, share) * (whole.end - whole.start),
        self_about: true,
        entered: "call",
        ended: "return",
        callers,
        args: {}
      };
    }
    async stats(capture, range) {
      const stats = this.data.stats[capture];
      void range;
      return stats;
    }
    async counts(capture) {
      return this.data.counts[capture].counts;
    }
    async marks(capture) {
      return this.data.marks[capture];
    }
    async find(capture, names, time, back) {
      const wanted = new Set(names);
      const found = { found: false, done: true, time, thread: 0, depth: 0, name: 0, number: 0 };
      for (const [c, thread, level, index] of this.data.tiles) {
        if (c !== capture || level !== this.finest) continue;
        const bytes = await this.tile(c, thread, level, index);
        const tile = bytes && parseTile(bytes);
        if (!tile) continue;
        for (let depth = 0; depth + 1 < tile.rows.length; depth++) {
          for (let i = tile.rows[depth]; i < tile.rows[depth + 1]; i++) {
            const start = tile.from + tile.start[i] * tile.unit;
            const begins = tile.calls[i] > 0 && wanted.has(tile.name[i]);
            const better = back ? start < time && (!found.found || start > found.time) : start > time && (!found.found || start < found.time);
            if (begins && better) {
              Object.assign(found, { found: true, done: false, time: start, thread, depth, name: tile.name[i], number: tile.number[i] });
            }
          }
        }
      }
      return found;
    }
    async query() {
      throw new Error("SQL needs kymograph view and the capture.");
    }
    cutAddress() {
      return null;
    }
    listen() {
    }
  };

  // src/source.ts
  async function answerOf(response) {
    if (response.ok) return response;
    let words = response.statusText;
    try {
      words = (await response.json()).error ?? words;
    } catch {
    }
    throw new Error(words);
  }
  var ServerSource = class {
    live = true;
    leftOut = "";
    level(wanted) {
      return wanted;
    }
    async ask(name, values) {
      const text = new URLSearchParams();
      for (const [key, value] of Object.entries(values)) text.set(key, String(value));
      return answerOf(await fetch(`${name}?${text}`));
    }
    async overview() {
      return (await this.ask("overview", {})).json();
    }
    async tile(capture, thread, level, index, generation) {
      return (await this.ask("tile", { capture, thread, level, index, generation })).arrayBuffer();
    }
    async call(capture, thread, start, depth) {
      return (await this.ask("call", { capture, thread, start: Math.floor(start), depth })).json();
    }
    async stats(capture, range, threads) {
      const values = {
        capture,
        from: Math.max(0, Math.floor(range.from)),
        to: Math.max(1, Math.ceil(range.to))
      };
      if (threads) values.threads = threads.join(",");
      return (await this.ask("stats", values)).json();
    }
    async find(capture, names, time, back) {
      const values = { capture, names: names.join(","), time: Math.floor(time), back: back ? 1 : 0 };
      return (await this.ask("find", values)).json();
    }
    async counts(capture) {
      const answer = await (await this.ask("counts", { capture })).json();
      return answer.counts;
    }
    async marks(capture) {
      return (await this.ask("marks", { capture })).json();
    }
    async query(capture, sql) {
      const text = await (await this.ask("query", { capture, sql })).text();
      return text.split("\n").filter((line) => line).map((line) => JSON.parse(line));
    }
    cutAddress(capture, range) {
      const from = Math.max(0, Math.floor(range.from));
      return `cut?capture=${capture}&from=${from}&to=${Math.max(from + 1, Math.ceil(range.to))}`;
    }
    listen(grown, gone) {
      const news = new EventSource("news");
      news.addEventListener("grown", grown);
      news.addEventListener("open", () => gone(false));
      news.addEventListener("error", () => gone(true));
    }
  };

  // src/state.ts
  function numbers(text, count) {
    const list = (text ?? "").split(",").map(Number);
    return list.length === count && list.every(Number.isFinite) ? list : void 0;
  }
  function readState(hash2) {
    const values = new URLSearchParams(hash2.replace(/^#/, ""));
    return {
      view: numbers(values.get("v"), 2),
      selected: numbers(values.get("s"), 4),
      range: numbers(values.get("r"), 2),
      search: values.get("q") ?? void 0,
      filter: values.get("t") ?? void 0,
      folded: values.get("f")?.split(" ").filter(Boolean),
      pinned: values.get("p")?.split(" ").filter(Boolean),
      tab: values.get("tab") ?? void 0
    };
  }
  function writeState(app, search, tab) {
    const values = new URLSearchParams();
    values.set("v", `${Math.round(app.view.from)},${Math.round(app.view.to)}`);
    const { selected, range } = app;
    if (selected) values.set("s", [selected.capture, selected.thread, selected.start, selected.depth].join(","));
    if (range) values.set("r", `${Math.round(range.from)},${Math.round(range.to)}`);
    if (search) values.set("q", search);
    if (app.tracks.filter) values.set("t", app.tracks.filter);
    const all = app.tracks.all();
    const folded = all.filter((track) => track.folded).map((track) => track.key);
    const pinned = all.filter((track) => track.pinned).map((track) => track.key);
    if (folded.length && folded.length < 100) values.set("f", folded.join(" "));
    if (pinned.length && pinned.length < 100) values.set("p", pinned.join(" "));
    if (tab) values.set("tab", tab);
    return `#${values}`;
  }

  // src/main.ts
  var Page = class {
    app;
    painter;
    heads;
    minimap;
    mouse;
    panel;
    search;
    canvas = byId("tracks");
    scroller = byId("scroll");
    asked = false;
    saved = 0;
    loaded = false;
    marksAsked = 0;
    /** For tests: how often and for how long a frame was drawn. */
    frames = [];
    constructor(source) {
      this.app = new App(source);
      this.painter = new Painter(this.app);
      this.heads = new Heads(this.app, () => this.draw());
      this.minimap = new Minimap(this.app, byId("minimap"));
      this.mouse = new Mouse(this.app, this.painter, this.canvas, this.scroller, (hit, zoom) => this.choose(hit, zoom));
      this.panel = new Panel(this.app, {
        go: (place, length) => this.go(place, length),
        seek: (capture, name) => {
          this.search.set(`=${this.app.name(capture, name)[0]}`);
          void this.search.next(false);
        }
      });
      this.search = new Search(this.app, (place) => this.go(place, 0));
      for (const event of ["draw", "highlight", "moved"]) this.app.on(event, () => this.draw());
      this.scroller.addEventListener("scroll", () => this.draw());
      new ResizeObserver(() => this.draw()).observe(this.scroller);
      byId("filter").addEventListener("input", (event) => {
        this.app.tracks.filter = event.target.value;
        this.draw();
      });
      byId("filter").addEventListener("keydown", (event) => event.stopPropagation());
      byId("whole").addEventListener("click", () => this.showAll());
      byId("theme").addEventListener("click", () => this.setTheme(!this.app.dark, true));
      byId("help").addEventListener("click", () => this.help());
      byId("help-close").addEventListener("click", () => this.help());
      document.addEventListener("keydown", (event) => this.key(event));
      this.setTheme(this.preferred(), false);
      matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.setTheme(this.preferred(), false));
    }
    preferred() {
      let kept = null;
      try {
        kept = localStorage.getItem("kymograph-theme");
      } catch {
      }
      return kept ? kept === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
    }
    setTheme(dark, keep) {
      this.app.dark = dark;
      document.documentElement.dataset.theme = dark ? "dark" : "light";
      try {
        if (keep) localStorage.setItem("kymograph-theme", dark ? "dark" : "light");
      } catch {
      }
      this.painter.retune();
      byId("legend").replaceChildren(
        ...Object.entries(FAMILIES).map(([key, family]) => {
          const swatch = h("i", { class: "swatch" });
          swatch.style.background = familyColour(key, dark);
          return h("li", {}, swatch, family.word);
        })
      );
      this.draw();
    }
    async load() {
      const before = this.loaded;
      this.app.take(await this.app.source.overview());
      this.title();
      if (!before) {
        this.loaded = true;
        this.app.view.width = Math.max(1, this.scroller.clientWidth);
        this.app.view.set(0, this.app.view.whole);
        this.restore();
        this.app.source.listen(
          () => void this.load(),
          (gone) => byId("gone").hidden = !gone
        );
      }
      this.draw();
      void this.loadMarks();
    }
    /** What is no call comes later: all of the capture has to be read for it. */
    async loadMarks() {
      const { app } = this;
      const asked = ++this.marksAsked;
      for (let i = 0; i < app.captures.length; i++) {
        try {
          const { marks } = await app.source.marks(i);
          if (asked !== this.marksAsked) return;
          app.tracks.extras[i] = extrasOf(app.captures[i], marks);
          app.tracks.arrows[i] = arrowsOf(marks);
        } catch {
          return;
        }
      }
      app.tracks.load(app.captures);
      this.draw();
    }
    title() {
      const { captures } = this.app;
      const names = captures.map((capture) => capture.file).join(" · ");
      document.title = `${names} – kymograph`;
      byId("file").textContent = names;
      byId("summary").textContent = captures.map((c) => `${duration(c.duration)}, ${grouped2(c.records)} records, ${grouped2(c.threads_all)} ${c.threads_all === 1 ? "thread" : "threads"}`).join(" · ");
      const notes = [];
      for (const c of captures) {
        const file = captures.length > 1 ? `${c.file}: ` : "";
        if (c.ending === "running") notes.push(`${file}still being recorded`);
        if (c.ending === "killed") notes.push(`${file}the program was killed; everything until then is here`);
        if (c.ending === "failed") notes.push(`${file}writing failed; everything until then is here`);
        if (c.lost) notes.push(`${file}${grouped2(c.lost)} records were lost; hatched`);
        if (c.damaged) notes.push(`${file}${grouped2(c.damaged)} damaged blocks`);
        if (c.threads_all > c.threads.length) notes.push(`${file}the ${grouped2(c.threads.length)} busiest threads are shown`);
      }
      if (this.app.source.leftOut) notes.push(this.app.source.leftOut);
      byId("notes").textContent = notes.join(" · ");
      byId("notes").hidden = !notes.length;
    }
    restore() {
      const state = readState(location.hash);
      const { app } = this;
      for (const track of app.tracks.all()) {
        track.folded = state.folded?.includes(track.key) ?? false;
        track.pinned = state.pinned?.includes(track.key) ?? false;
      }
      if (state.view) app.view.set(state.view[0], state.view[1]);
      if (state.filter) byId("filter").value = app.tracks.filter = state.filter;
      if (state.search) this.search.set(state.search);
      if (state.range) app.setRange({ from: state.range[0], to: state.range[1] });
      if (state.selected) {
        const [capture, thread, start, depth] = state.selected;
        app.select({ capture, thread, start, depth });
      } else if (state.tab) {
        this.panel.open(state.tab);
      }
    }
    save() {
      clearTimeout(this.saved);
      this.saved = window.setTimeout(() => {
        const hash2 = writeState(this.app, this.search.text, this.panel.openTab);
        if (this.loaded && hash2 !== location.hash) history.replaceState(null, "", hash2);
      }, 300);
    }
    /** Ask for a frame. */
    draw() {
      if (this.asked) return;
      this.asked = true;
      requestAnimationFrame(() => {
        this.asked = false;
        this.frame();
      });
    }
    frame() {
      const began = performance.now();
      const { app } = this;
      const width = this.scroller.clientWidth;
      const height = this.scroller.clientHeight;
      if (!this.loaded || width < 10) return;
      app.view.width = width;
      app.store.beginFrame();
      if (app.view.step(app.still)) this.draw();
      app.tracks.layOut((track) => app.store.depths.get(`${track.capture} ${track.thread.thread}`) ?? 0);
      byId("space").style.height = `${Math.max(app.tracks.height, height)}px`;
      const scroll = this.scroller.scrollTop;
      const step = drawAxis(app, byId("axis"));
      const context = prepared(this.canvas, width, height);
      const call = this.panel.call;
      const end = call && app.selected ? call.start + call.duration : app.selected?.start ?? 0;
      this.painter.draw(context, width, height, scroll, step, end);
      const style = getComputedStyle(document.documentElement);
      this.minimap.draw(style.getPropertyValue("--line"), style.getPropertyValue("--select"), style.getPropertyValue("--veil"));
      this.heads.draw(scroll, height);
      app.store.endFrame();
      this.panel.resized();
      byId("busy").hidden = !app.store.busy;
      this.save();
      if (this.frames.push(performance.now() - began) > 2e3) this.frames.splice(0, 1e3);
    }
    choose(hit, zoom) {
      const { app } = this;
      const shift = app.offset[hit.track.capture];
      const place = { capture: hit.track.capture, thread: hit.track.thread.thread, start: hit.start, depth: hit.depth };
      const span = hit.track.spans?.[hit.number - 1];
      if (span) {
        app.selected = null;
        if (zoom) app.view.glide(span.start + shift - 1e3, span.end + shift + 1e3);
        this.panel.showSpan(span, place.capture);
        this.draw();
        return;
      }
      const around = hit.end - hit.start;
      if (zoom) app.view.glide(hit.start + shift - around * 0.05, hit.end + shift + around * 0.05);
      else if (!(hit.flags & CALL)) place.start = Math.floor((hit.start + hit.end) / 2);
      app.select(place);
    }
    async go(place, length) {
      const { app } = this;
      const track = app.tracks.find(place.capture, place.thread);
      if (!track) return;
      if (track.folded) track.folded = false;
      track.group.folded = false;
      const shift = app.offset[place.capture];
      let span = length;
      if (!span) {
        try {
          span = (await app.source.call(place.capture, place.thread, place.start, place.depth)).duration;
        } catch {
          span = 0;
        }
      }
      if (length) app.view.glide(place.start + shift - span * 0.1, place.start + shift + span * 1.1);
      else app.view.reveal(place.start + shift, place.start + shift + span);
      app.select(place);
      const y = track.y + place.depth * ROW;
      const height = this.scroller.clientHeight;
      if (y < this.scroller.scrollTop || y > this.scroller.scrollTop + height - 3 * ROW) {
        this.scroller.scrollTop = Math.max(0, y - height / 3);
      }
      this.draw();
    }
    showAll() {
      this.app.view.showAll();
      this.draw();
    }
    help() {
      byId("keys").hidden = !byId("keys").hidden;
    }
    /** Zoom to the selected call, else to the range. */
    fit() {
      const { app } = this;
      const call = this.panel.call;
      if (app.selected && call) {
        const start = call.start + app.offset[app.selected.capture];
        app.view.glide(start - call.duration * 0.1, start + call.duration * 1.1);
      } else if (app.range) {
        app.view.glide(app.range.from, app.range.to);
      }
      this.draw();
    }
    /** Select the time of the selected call. */
    mark() {
      const { app } = this;
      const call = this.panel.call;
      if (!app.selected || !call) return;
      const start = call.start + app.offset[app.selected.capture];
      app.setRange({ from: start, to: start + call.duration });
    }
    /** Let the selected call of the second capture begin where the range, or what is in sight, does. */
    align() {
      const { app } = this;
      if (app.captures.length < 2 || app.selected?.capture !== 1) return;
      app.offset[1] = (app.range?.from ?? app.view.from + (app.view.to - app.view.from) / 4) - app.selected.start;
      app.measure();
      this.draw();
    }
    escape() {
      if (!byId("keys").hidden) this.help();
      else if (this.search.text) this.search.set("");
      else if (this.app.range) this.app.setRange(null);
      else this.app.select(null);
    }
    key(event) {
      if (event.ctrlKey || event.metaKey || event.altKey) return;
      const target = event.target;
      if (/^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName)) return;
      const { view } = this.app;
      const far = view.width * 0.18;
      const acts = {
        w: () => view.zoom(1.35, this.mouse.x),
        s: () => view.zoom(1 / 1.35, this.mouse.x),
        a: () => view.pan(-far),
        d: () => view.pan(far),
        ArrowLeft: () => view.pan(-far),
        ArrowRight: () => view.pan(far),
        f: () => this.fit(),
        m: () => this.mark(),
        l: () => this.align(),
        0: () => this.showAll(),
        "/": () => this.search.focus(),
        "?": () => this.help(),
        n: () => void this.search.next(false),
        N: () => void this.search.next(true),
        q: () => this.panel.toggle(Boolean(byId("panel").hidden)),
        Escape: () => this.escape()
      };
      const act = acts[event.key] ?? acts[event.key.toLowerCase()];
      if (!act) return;
      event.preventDefault();
      act();
      this.draw();
    }
  };
  var data = JSON.parse(byId("data").textContent || "{}");
  if (data.server || data.overview) {
    const page = new Page(data.server ? new ServerSource() : new PageSource(data));
    window.kymograph = page;
    page.load().catch((error) => {
      byId("notes").hidden = false;
      byId("notes").textContent = `This page could not be filled: ${error.message}`;
    });
  }
})();
