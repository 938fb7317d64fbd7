// The panel below the tracks: the call that was clicked, the figures of a range.

import type { App } from "./app";
import { differences, type Difference } from "./compare";
import { byId, h } from "./dom";
import { Durations } from "./durations";
import { familyColour, familyOf } from "./colours";
import { Flame, sandwich, treeOf } from "./flame";
import { duration, fileName, grouped, moment } from "./format";
import { SqlPanel } from "./sqlpanel";
import { table, type Column } from "./table";
import type { Group, Track } from "./tracks";
import type { Span } from "./marks";
import { showMemory } from "./memorytab";
import { callersOf, sourceOf } from "./callparts";
import { SamplePanel } from "./samplepanel";
import { numbered, onlySamples, sampleColumns, SAMPLES, threadOf, words } from "./samples";
import type { Call, FunctionCost, Place, Range, Stats } from "./types";

/** In place of a capture: the difference of both. */
const BOTH = 2;

const TABS = ["call", "functions", "flame", "memory", "sql"] as const;
type Tab = (typeof TABS)[number];

export interface Actions {
  /** Show PLACE and select it. */
  go(place: Place, length: number): void;
  /** Search for a function and go to its next call. */
  seek(capture: number, name: number): void;
}

export class Panel {
  private tab: Tab = "call";
  private asked = 0;
  private stats: Stats | null = null;
  private statsOf = 0;
  private statsKey = "";
  private flame: Flame;
  private flameRoot: ReturnType<typeof treeOf> | null = null;
  private sandwiched = -1;
  private durations: Durations;
  /** A function that was chosen in a table, until one of its calls is selected. */
  private chosen: { capture: number; name: number } | null = null;
  private sql: SqlPanel;
  private sample: SamplePanel;
  /** Figures of samples instead of calls; null: of what there is. */
  private sampled: boolean | null = null;
  call: Call | null = null;
  callCapture = 0;

  constructor(
    private app: App,
    private actions: Actions,
  ) {
    this.flame = new Flame(
      app,
      () => this.asking().capture,
      (name) => this.actions.seek(this.asking().capture, name),
    );
    this.sample = new SamplePanel(
      app,
      (...children) => this.show(...children),
      (capture, name) => this.actions.seek(capture, name),
    );
    this.sql = new SqlPanel(app, (place, length) => this.actions.go(place, length));
    this.durations = new Durations(app, (place, length) => this.actions.go(place, length));
    for (const tab of TABS) {
      byId(`tab-${tab}`).addEventListener("click", () => this.open(tab));
    }
    if (!app.source.live) byId("tab-sql").hidden = true;
    byId("panel-close").addEventListener("click", () => this.toggle(false));
    app.on("select", () => void this.showCall());
    app.on("range", () => {
      if (app.range && this.tab !== "flame" && this.tab !== "memory") this.open("functions");
      else this.refresh();
    });
    this.drag();
    this.drawCall();
  }

  private drag(): void {
    const grip = byId("panel-grip");
    grip.addEventListener("pointerdown", (event) => {
      grip.setPointerCapture(event.pointerId);
      const bottom = byId("panel").getBoundingClientRect().bottom;
      const move = (e: PointerEvent) => {
        const height = Math.max(80, Math.min(window.innerHeight - 200, bottom - e.clientY));
        document.documentElement.style.setProperty("--panel", `${height}px`);
        this.app.emit("moved");
      };
      grip.addEventListener("pointermove", move);
      grip.addEventListener("pointerup", () => grip.removeEventListener("pointermove", move), { once: true });
    });
  }

  toggle(open: boolean): void {
    byId("panel").hidden = !open;
    this.app.emit("moved");
  }

  open(tab: Tab): void {
    this.tab = tab;
    this.toggle(true);
    for (const other of TABS) {
      byId(`tab-${other}`).setAttribute("aria-selected", String(other === tab));
    }
    this.refresh();
  }

  get openTab(): Tab | null {
    return byId("panel").hidden ? null : this.tab;
  }

  private body(...children: (Node | string)[]): void {
    const focused = document.activeElement as HTMLElement | null;
    byId("panel-body").replaceChildren(...children);
    // A part that stays is put in anew, which takes the focus from what is in it.
    if (focused && byId("panel-body").contains(focused)) focused.focus({ preventScroll: true });
  }

  refresh(): void {
    if (this.tab === "call") this.drawCall();
    else if (this.tab === "sql") this.body(...this.sql.elements);
    else if (this.tab === "memory") void this.showMemory();
    else void this.showStats();
  }

  // ------------------------------------------------------------------ a call

  private async showCall(): Promise<void> {
    const place = this.app.selected;
    const asked = ++this.asked;
    this.chosen = null;
    this.sample.forget();
    if (place && place.thread >= SAMPLES) {
      this.call = null;
      void this.sample.open(place);
      return;
    }
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
      if (asked === this.asked) this.body(h("p", { class: "problem" }, (error as Error).message));
    }
  }

  /** Show what is no call. */
  private show(...children: (Node | string)[]): void {
    this.asked++;
    this.call = null;
    this.chosen = null;
    this.open("call");
    this.body(...children);
  }

  /** Something that is no call: all about it is here already. */
  showSpan(span: Span, capture: number): void {
    this.sample.forget();
    const name = this.app.name(capture, span.name);
    const args = Object.entries(span.args ?? {}).map(([key, value]) => this.row(key, typeof value === "string" ? value : JSON.stringify(value)));
    const facts = h(
      "dl",
      { class: "facts" },
      this.row("start", `${(span.start / 1e6).toFixed(6)} ms`),
      ...(span.end > span.start ? [this.row("duration", h("strong", {}, duration(span.end - span.start)))] : []),
      ...(span.id && span.id !== "0" ? [this.row("id", span.id)] : []),
      this.row("thread", this.app.tracks.find(capture, span.thread)?.title ?? String(span.thread)),
      ...args,
    );
    const where = h("span", { class: "where", title: name[1] }, name[1] ? `${fileName(name[1])}${name[2] ? `:${name[2]}` : ""}` : name[3]);
    this.show(h("div", { class: "call-head" }, h("h2", {}, name[0]), where), h("div", { class: "columns" }, h("section", {}, facts)));
  }

  private row(title: string, ...content: (Node | string)[]): HTMLElement {
    return h("div", {}, h("dt", {}, title), h("dd", {}, ...content));
  }

  /** Name, colour and place of a function, with buttons. */
  private headOf(capture: number, number: number, ...buttons: HTMLElement[]): HTMLElement {
    const name = this.app.name(capture, number);
    const swatch = h("i", { class: "swatch" });
    swatch.style.background = familyColour(familyOf(name), this.app.dark);
    const where = name[1] ? `${fileName(name[1])}${name[2] ? `:${name[2]}` : ""}` : name[3];
    return h("div", { class: "call-head" }, swatch, h("h2", {}, name[0]), h("span", { class: "where", title: name[1] }, where), ...buttons);
  }

  /** The durations of the calls of a function: in the range, or in all of the capture. */
  private durationsOf(capture: number, name: number, here: number | null): HTMLElement {
    const { range, threads } = this.asking(capture);
    this.durations.show({ capture, name, range: this.app.range ? range : null, threads }, here);
    return this.durations.element;
  }

  /** Show the function and go to its next call, if there is one. */
  private choose(capture: number, name: number): void {
    this.chosen = { capture, name };
    this.open("call");
    this.actions.seek(capture, name);
  }

  private drawCall(): void {
    const { call, chosen, app } = this;
    if (chosen) {
      const { capture, name } = chosen;
      const find = h("button", { onclick: () => this.actions.seek(capture, name) }, "Find all calls");
      this.body(this.headOf(capture, name, find), h("div", { class: "columns" }, this.durationsOf(capture, name, null)));
      return;
    }
    if (!call) {
      this.body(
        h(
          "p",
          { class: "hint" },
          "Click a call to see its time, arguments, callers and source. Drag over the time scale, or hold Shift and drag, to select a range.",
        ),
      );
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
      ...(call.entered !== "call" ? [this.row("entered", call.entered)] : []),
      ...(call.task ? [this.row("coroutine", String(call.task))] : []),
      this.row("thread", app.tracks.find(capture, call.thread)?.title ?? String(call.thread)),
      this.row("depth", String(call.depth)),
      this.row("id", String(call.id)),
    );
    const head = this.headOf(
      capture,
      call.name,
      h("button", { onclick: () => this.actions.seek(capture, call.name) }, "Find all calls"),
      h("button", { onclick: () => this.actions.go({ capture, thread: call.thread, start: call.start, depth: call.depth }, call.duration) }, "Zoom (f)"),
      h(
        "button",
        { onclick: () => app.setRange({ from: call.start + app.offset[capture], to: call.start + call.duration + app.offset[capture] }) },
        "Figures of it (m)",
      ),
    );
    const args = Object.entries(call.args);
    const columns: Node[] = [h("section", { class: "when" }, facts)];
    if (args.length) {
      columns.push(
        h(
          "section",
          {},
          h("h3", {}, "Arguments"),
          h("dl", { class: "facts" }, ...args.map(([key, value]) => this.row(key, typeof value === "string" ? value : JSON.stringify(value)))),
        ),
      );
    }
    columns.push(this.durationsOf(capture, call.name, call.duration));
    columns.push(callersOf(this.app, call, capture, (place) => this.actions.go(place, 0)));
    if (call.source) columns.push(sourceOf(call.source, name[2]));
    this.body(head, h("div", { class: "columns" }, ...columns));
  }

  // ----------------------------------------------------------------- a range

  /** The part of a capture that is asked about: the range, or what is in sight. */
  private asking(which = this.statsOf): { capture: number; range: Range; threads: number[] | null } {
    const { app } = this;
    const capture = Math.min(which, app.captures.length - 1);
    const range = app.range ?? { from: app.view.from, to: app.view.to };
    const shift = app.offset[capture];
    const real = (item: Track | Group): item is Track => item.kind === "thread" && item.capture === capture && item.thread.thread >= 0;
    const threads = (items: (Track | Group)[]) => [...new Set(items.filter(real).map((item) => threadOf(item.thread.thread)))];
    const shown = threads(app.tracks.shown);
    const all = threads(app.tracks.all()).length;
    return {
      capture,
      range: { from: Math.max(0, range.from - shift), to: range.to - shift },
      threads: shown.length === all ? null : shown,
    };
  }

  /** Are the figures of CAPTURE those of samples? */
  private ofSamples(capture: number): boolean {
    const info = this.app.samples[capture];
    return Boolean(info?.samples) && (this.sampled ?? onlySamples(info, this.app.captures[capture].threads));
  }

  private async showStats(): Promise<void> {
    const { capture, range, threads } = this.asking();
    const samples = this.ofSamples(capture);
    const key = JSON.stringify([capture, range, threads, samples, this.app.captures[capture]?.generation]);
    if (key !== this.statsKey) {
      const asked = ++this.asked;
      this.body(h("p", { class: "hint" }, "Adding up…"));
      try {
        const stats = await this.app.source.stats(capture, range, threads, samples);
        if (asked !== this.asked) return;
        this.stats = samples ? numbered(stats, this.app.named[capture]) : stats;
        this.statsKey = key;
        this.flameRoot = null;
        this.sandwiched = -1;
      } catch (error) {
        if (asked === this.asked) this.body(h("p", { class: "problem" }, (error as Error).message));
        return;
      }
    }
    if (this.tab === "functions" && this.statsOf === BOTH) void this.showDifferences();
    else if (this.tab === "functions") this.drawFunctions();
    else if (this.tab === "flame") this.drawFlame();
  }

  private async showMemory(): Promise<void> {
    const { app } = this;
    const { capture, range } = this.asking();
    const asked = ++this.asked;
    const text = `${app.range ? "Selected" : "In sight"}: ${moment(range.from, 1000)} to ${moment(range.to, 1000)}, `;
    const head = h("div", { class: "stats-head" }, h("span", {}, text, h("strong", {}, duration(range.to - range.from))));
    if (app.captures.length > 1) head.prepend(this.captureChoice(app.captures.map((one) => one.file)));
    if (!app.range) head.append(h("button", { onclick: () => this.refresh() }, "Update"));
    try {
      const nodes = await showMemory(app, capture, range.from, range.to, head);
      if (asked === this.asked) this.body(...nodes);
    } catch (error) {
      if (asked === this.asked) this.body(h("p", { class: "problem" }, (error as Error).message));
    }
  }

  private captureChoice(files: string[]): HTMLElement {
    const choice = h("select", { "aria-label": "Capture" }, ...files.map((file, i) => h("option", { value: i, selected: i === this.statsOf }, file)));
    choice.addEventListener("change", () => {
      this.statsOf = Number(choice.value);
      this.refresh();
    });
    return choice;
  }

  /** The same stretch of both captures, as they lie on the screen. */
  private async showDifferences(): Promise<void> {
    const { app } = this;
    const asked = ++this.asked;
    const [first, second] = [this.asking(0), this.asking(1)];
    const stats = [await app.source.stats(0, first.range, first.threads, false), await app.source.stats(1, second.range, second.threads, false)] as [
      Stats,
      Stats,
    ];
    if (asked !== this.asked) return;
    const rows = differences(stats, [app.captures[0].names, app.captures[1].names]);
    const signed = (ns: number) => (ns > 0 ? "+" : "") + duration(ns);
    const columns: Column<Difference>[] = [
      { title: "Function", text: (row) => row.name[0], sort: (row) => row.name[0] },
      { title: "Change of self", right: true, text: (row) => signed(row.self[1] - row.self[0]), sort: (row) => row.self[1] - row.self[0] },
      { title: "Self, first", right: true, text: (row) => duration(row.self[0]), sort: (row) => row.self[0] },
      { title: "Self, second", right: true, text: (row) => duration(row.self[1]), sort: (row) => row.self[1] },
      { title: "Total, first", right: true, text: (row) => duration(row.total[0]), sort: (row) => row.total[0] },
      { title: "Total, second", right: true, text: (row) => duration(row.total[1]), sort: (row) => row.total[1] },
      { title: "Calls, first", right: true, text: (row) => grouped(row.calls[0]), sort: (row) => row.calls[0] },
      { title: "Calls, second", right: true, text: (row) => grouped(row.calls[1]), sort: (row) => row.calls[1] },
      { title: "File", text: (row) => (row.name[1] ? `${fileName(row.name[1])}${row.name[2] ? `:${row.name[2]}` : ""}` : ""), sort: (row) => row.name[1] },
    ];
    const go = (row: Difference) => {
      const side = row.numbers[1] >= 0 ? 1 : 0;
      this.choose(side, row.numbers[side]);
    };
    this.body(this.statsHead(), table(columns, rows, -1, go, "Differences of functions"));
  }

  private statsHead(): HTMLElement {
    const { app } = this;
    const stats = this.stats as Stats;
    const { capture, range: asked } = this.asking();
    // A page that was sent has the figures of all of it, whatever is selected.
    const range = app.source.live ? asked : stats;
    const head = h("div", { class: "stats-head" });
    if (app.captures.length > 1) {
      head.append(this.captureChoice([...app.captures.map((c) => c.file), "both: the difference"]));
    }
    const samples = this.ofSamples(capture);
    if (app.samples[capture]?.samples && this.statsOf !== BOTH) {
      const choice = h(
        "select",
        { "aria-label": "Calls or samples" },
        h("option", { value: "calls", selected: !samples }, "calls"),
        h("option", { value: "samples", selected: samples }, "samples"),
      );
      choice.addEventListener("change", () => {
        this.sampled = choice.value === "samples";
        this.refresh();
      });
      head.append(choice);
    }
    head.append(
      h(
        "span",
        {},
        `${!app.source.live ? "On this page" : app.range ? "Selected" : "In sight"}: ${moment(range.from, 1000)} to ${moment(range.to, 1000)}, `,
        h("strong", {}, duration(range.to - range.from)),
      ),
      samples
        ? h("span", {}, `${words(stats.calls, stats.busy)}, ${grouped(stats.functions_all)} functions`)
        : h("span", {}, `${grouped(stats.calls)} calls, ${grouped(stats.functions_all)} functions, ${duration(stats.busy)} busy on all threads`),
    );
    if (!app.range) head.append(h("button", { onclick: () => this.refresh() }, "Update"));
    const cut = app.source.cutAddress(capture, range);
    if (cut) head.append(h("a", { href: cut, download: `${app.captures[capture].file.replace(/\.kymo$/, "")}-cut.kymo`, class: "button" }, "Cut"));
    if (app.range) head.append(h("button", { onclick: () => app.setRange(null) }, "Clear"));
    return head;
  }

  private drawFunctions(): void {
    const stats = this.stats as Stats;
    const capture = this.asking().capture;
    const name = (row: FunctionCost) => this.app.name(capture, row.name);
    if (this.ofSamples(capture)) {
      const seek = (row: FunctionCost) => this.actions.seek(capture, row.name);
      this.body(this.statsHead(), table(sampleColumns(stats, name), stats.functions, 1, seek, "Functions by samples in the range"));
      return;
    }
    const time = (title: string, key: "self" | "total" | "mean" | "p50" | "p90" | "p99" | "max", hint: string): Column<FunctionCost> => ({
      title,
      hint,
      right: true,
      text: (row) => duration(row[key]),
      sort: (row) => row[key],
    });
    const columns: Column<FunctionCost>[] = [
      { title: "Function", text: (row) => name(row)[0], sort: (row) => name(row)[0] },
      time("Self", "self", "time in the function itself"),
      { title: "%", right: true, hint: "of the busy time", text: (row) => ((100 * row.self) / Math.max(1, stats.busy)).toFixed(1), sort: (row) => row.self },
      time("Total", "total", "time with what it called"),
      { title: "Calls", right: true, text: (row) => grouped(row.calls + row.resumes), sort: (row) => row.calls + row.resumes },
      time("Mean", "mean", "of a call"),
      time("p50", "p50", "half of the calls took no longer"),
      time("p90", "p90", "nine of ten calls took no longer"),
      time("p99", "p99", "99 of 100 calls took no longer"),
      time("Max", "max", "the longest call"),
      { title: "File", text: (row) => (name(row)[1] ? `${fileName(name(row)[1])}${name(row)[2] ? `:${name(row)[2]}` : ""}` : ""), sort: (row) => name(row)[1] },
    ];
    this.body(
      this.statsHead(),
      table(columns, stats.functions, 1, (row) => this.choose(capture, row.name), "Functions of the range"),
    );
  }

  private drawFlame(): void {
    const stats = this.stats as Stats;
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
          h("option", { value: `${f.name}<` }, `${text}: who calls it`),
        ];
      }),
    );
    choice.addEventListener("change", () => {
      const value = parseInt(choice.value, 10);
      const root = this.flameRoot as ReturnType<typeof treeOf>;
      this.flame.show(value < 0 ? root : sandwich(root, value, choice.value.endsWith("<")));
    });
    head.prepend(choice);
    this.body(head, this.flame.element);
    this.flame.show(this.flameRoot);
  }

  resized(): void {
    if (this.tab === "flame" && !byId("panel").hidden) this.flame.draw();
  }
}
