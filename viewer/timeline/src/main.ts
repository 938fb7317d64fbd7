// The page: puts its parts together and draws a frame when something has changed.

import { App } from "./app";
import { drawAxis } from "./axis";
import { FAMILIES, familyColour } from "./colours";
import { byId, h, prepared } from "./dom";
import { Painter, type Hit } from "./draw";
import { duration, grouped } from "./format";
import { Heads } from "./heads";
import { arrowsOf, extrasOf } from "./marks";
import { Minimap } from "./minimap";
import { Mouse } from "./mouse";
import { Panel } from "./panel";
import { Search } from "./search";
import { PageSource, type PageData } from "./pagesource";
import { ServerSource, type Source } from "./source";
import { isInside, readState, writeState } from "./state";
import { CALL } from "./tile";
import { ROW, type Track } from "./tracks";
import type { Place } from "./types";

class Page {
  private app: App;
  private painter: Painter;
  private heads: Heads;
  private minimap: Minimap;
  private mouse: Mouse;
  private panel: Panel;
  private search: Search;
  private canvas = byId<HTMLCanvasElement>("tracks");
  private scroller = byId("scroll");
  private asked = false;
  private saved = 0;
  private loaded = false;
  private marksAsked = 0;
  private samplesAsked = 0;
  private memoryAsked = 0;
  private going = 0;
  private inside: boolean;
  /** What the address said in the beginning. */
  private state = readState(location.hash);
  /** For tests: how often and for how long a frame was drawn. */
  readonly frames: number[] = [];

  constructor(source: Source) {
    this.app = new App(source);
    this.inside = !source.live && isInside(location.hash);
    byId("outside").hidden = !this.inside;
    this.painter = new Painter(this.app, this.state.draw);
    this.heads = new Heads(this.app, () => this.draw());
    this.minimap = new Minimap(this.app, byId<HTMLCanvasElement>("minimap"));
    this.mouse = new Mouse(this.app, this.painter, this.canvas, this.scroller, (hit, zoom) => this.choose(hit, zoom));
    this.panel = new Panel(this.app, {
      go: (place, length) => {
        this.search.stop();
        void this.go(place, length);
      },
      seek: (capture, name) => {
        this.search.set(`=${this.app.name(capture, name)[0]}`);
        if (name < this.app.named[capture]) void this.search.next(false);
      },
    });
    this.search = new Search(this.app, (place) => void this.go(place, 0));
    for (const event of ["draw", "highlight", "moved"] as const) this.app.on(event, () => this.draw());
    this.scroller.addEventListener("scroll", () => this.draw());
    new ResizeObserver(() => this.draw()).observe(this.scroller);
    byId<HTMLInputElement>("filter").addEventListener("input", (event) => {
      this.app.tracks.filter = (event.target as HTMLInputElement).value;
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

  private preferred(): boolean {
    let kept: string | null = null;
    try {
      kept = localStorage.getItem("kymograph-theme");
    } catch {
      // No storage here: the system's choice.
    }
    return kept ? kept === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  }

  private setTheme(dark: boolean, keep: boolean): void {
    this.app.dark = dark;
    document.documentElement.dataset.theme = dark ? "dark" : "light";
    try {
      if (keep) localStorage.setItem("kymograph-theme", dark ? "dark" : "light");
    } catch {
      // Then it lasts as long as the page.
    }
    this.painter.retune();
    byId("legend").replaceChildren(
      ...Object.entries(FAMILIES).map(([key, family]) => {
        const swatch = h("i", { class: "swatch" });
        swatch.style.background = familyColour(key, dark);
        return h("li", {}, swatch, family.word);
      }),
    );
    this.draw();
  }

  async load(): Promise<void> {
    const before = this.loaded;
    this.app.take(await this.app.source.overview());
    this.layOut();
    this.title();
    if (!before) {
      this.loaded = true;
      this.app.view.width = Math.max(1, this.scroller.clientWidth);
      this.app.view.set(0, this.app.view.whole);
      this.restore();
      this.app.source.listen(
        () => void this.load(),
        (gone) => (byId("gone").hidden = !gone),
      );
    }
    this.draw();
    void this.loadSamples();
    void this.loadMemory();
    void this.loadMarks();
  }

  private async loadSamples(): Promise<void> {
    const { app } = this;
    const asked = ++this.samplesAsked;
    for (let i = 0; i < app.captures.length; i++) {
      try {
        const info = await app.source.samples(i);
        if (asked !== this.samplesAsked || (!info.samples && !app.samples[i])) continue;
        app.takeSamples(i, info);
        app.tracks.load(app.captures);
        if (this.search.text) this.search.apply();
        this.draw();
      } catch {
        return; // The server has gone; the page says so elsewhere.
      }
    }
  }

  /** Live memory over time comes later, too: all allocations have to be replayed for it. */
  private async loadMemory(): Promise<void> {
    const { app } = this;
    const asked = ++this.memoryAsked;
    for (let i = 0; i < app.captures.length; i++) {
      try {
        const memory = await app.source.memory(i, null);
        if (asked !== this.memoryAsked || !memory.series?.length) continue;
        app.takeMemory(i, memory);
        app.tracks.load(app.captures);
        byId("tab-memory").hidden = false;
        this.draw();
      } catch {
        return; // The server has gone; the page says so elsewhere.
      }
    }
  }

  /** What is no call comes after the first picture: all of the capture has to be read for it. */
  private async loadMarks(): Promise<void> {
    const { app } = this;
    const asked = ++this.marksAsked;
    await new Promise(requestAnimationFrame);
    await app.store.idle();
    if (asked !== this.marksAsked) return;
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
    const known = new Set(app.tracks.all().map((track) => track.key));
    app.tracks.load(app.captures);
    this.restoreTracks(app.tracks.all().filter((track) => !known.has(track.key)));
    this.layOut(); // a click may come before the next frame
    this.draw();
  }

  private title(): void {
    const { captures } = this.app;
    const names = captures.map((capture) => capture.file).join(" · ");
    document.title = `${names} – kymograph`;
    byId("file").textContent = names;
    byId("summary").textContent = captures
      .map((c) => `${duration(c.duration)}, ${grouped(c.records)} records, ${grouped(c.threads_all)} ${c.threads_all === 1 ? "thread" : "threads"}`)
      .join(" · ");
    const notes: string[] = [];
    for (const c of captures) {
      const file = captures.length > 1 ? `${c.file}: ` : "";
      if (c.ending === "running") notes.push(`${file}still being recorded`);
      if (c.ending === "killed") notes.push(`${file}the program was killed; everything until then is here`);
      if (c.ending === "failed") notes.push(`${file}writing failed; everything until then is here`);
      if (c.lost) notes.push(`${file}${grouped(c.lost)} records were lost; hatched`);
      if (c.unknown) notes.push(`${file}written by a newer kymograph: parts of it are not shown`);
      if (c.damaged) notes.push(`${file}${grouped(c.damaged)} damaged blocks`);
      if (c.threads_all > c.threads.length) notes.push(`${file}the ${grouped(c.threads.length)} busiest threads are shown`);
    }
    if (this.app.source.leftOut) notes.push(this.app.source.leftOut);
    byId("notes").textContent = notes.join(" · ");
    byId("notes").hidden = !notes.length;
  }

  private restoreTracks(tracks: Track[]): void {
    for (const track of tracks) {
      track.folded = this.state.folded?.includes(track.key) ?? track.folded;
      track.pinned = this.state.pinned?.includes(track.key) ?? track.pinned;
    }
  }

  private restore(): void {
    const { state } = this;
    const { app } = this;
    this.restoreTracks(app.tracks.all());
    if (state.view) app.view.set(state.view[0], state.view[1]);
    if (state.filter) byId<HTMLInputElement>("filter").value = app.tracks.filter = state.filter;
    if (state.search) this.search.set(state.search);
    if (state.range) app.setRange({ from: state.range[0], to: state.range[1] });
    if (state.selected) {
      const [capture, thread, start, depth] = state.selected;
      app.select({ capture, thread, start, depth });
    } else if (state.tab) {
      this.panel.open(state.tab as "call");
    }
  }

  private save(): void {
    clearTimeout(this.saved);
    this.saved = window.setTimeout(() => {
      const hash = writeState(this.app, this.search.text, this.panel.openTab, this.inside, this.state.draw);
      if (this.loaded && hash !== location.hash) history.replaceState(null, "", hash);
    }, 300);
  }

  /** Ask for a frame. */
  draw(): void {
    if (this.asked) return;
    this.asked = true;
    requestAnimationFrame(() => {
      this.asked = false;
      this.frame();
    });
  }

  private layOut(): void {
    const { store, tracks } = this.app;
    tracks.layOut((track) => store.depths.get(`${track.capture} ${track.thread.thread}`) ?? 0);
  }

  private frame(): void {
    const began = performance.now();
    const { app } = this;
    const width = this.scroller.clientWidth;
    const height = this.scroller.clientHeight;
    if (!this.loaded || width < 10) return;
    app.view.width = width;
    app.store.beginFrame();
    app.memory.beginFrame();
    if (app.view.step(app.still)) this.draw();
    this.layOut();
    byId("space").style.height = `${Math.max(app.tracks.height, height)}px`;
    const scroll = this.scroller.scrollTop;
    const step = drawAxis(app, byId<HTMLCanvasElement>("axis"));
    const context = prepared(this.canvas, width, height);
    const call = this.panel.call;
    const end = call && app.selected ? call.start + call.duration : (app.selected?.start ?? 0);
    this.painter.draw(context, width, height, scroll, step, end);
    const style = getComputedStyle(document.documentElement);
    this.minimap.draw(style.getPropertyValue("--line"), style.getPropertyValue("--select"), style.getPropertyValue("--veil"));
    this.heads.draw(scroll, height);
    app.store.endFrame();
    app.memory.endFrame();
    this.panel.resized();
    byId("busy").hidden = !app.store.busy && !app.memory.busy;
    this.save();
    if (this.frames.push(performance.now() - began) > 2000) this.frames.splice(0, 1000);
  }

  private choose(hit: Hit, zoom: boolean): void {
    const { app } = this;
    const shift = app.offset[hit.track.capture];
    const place = { capture: hit.track.capture, thread: hit.track.thread.thread, start: hit.start, depth: hit.depth };
    const span = hit.track.spans?.[hit.number - 1];
    if (span) {
      app.selected = null;
      if (zoom) app.view.glide(span.start + shift - 1000, span.end + shift + 1000);
      this.panel.showSpan(span, place.capture);
      this.draw();
      return;
    }
    // Several calls together: show them apart.
    const around = hit.end - hit.start;
    if (zoom) app.view.glide(hit.start + shift - around * 0.05, hit.end + shift + around * 0.05);
    else if (!(hit.flags & CALL)) place.start = Math.floor(hit.track.samples ? hit.from : (hit.start + hit.end) / 2);
    app.select(place);
  }

  private async go(place: Place, length: number): Promise<void> {
    const { app } = this;
    const track = app.tracks.find(place.capture, place.thread);
    if (!track) return;
    if (track.folded) track.folded = false;
    track.group.folded = false;
    const shift = app.offset[place.capture];
    const going = ++this.going;
    let span = length;
    if (!span) {
      try {
        span = (await app.source.call(place.capture, place.thread, place.start, place.depth)).duration;
      } catch {
        span = 0;
      }
      if (going !== this.going) return; // somewhere else in the meantime
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

  private showAll(): void {
    this.app.view.showAll();
    this.draw();
  }

  private help(): void {
    byId("keys").hidden = !byId("keys").hidden;
  }

  /** Zoom to the selected call, else to the range. */
  private fit(): void {
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
  private mark(): void {
    const { app } = this;
    const call = this.panel.call;
    if (!app.selected || !call) return;
    const start = call.start + app.offset[app.selected.capture];
    app.setRange({ from: start, to: start + call.duration });
  }

  /** Let the selected call of the second capture begin where the range, or what is in sight, does. */
  private align(): void {
    const { app } = this;
    if (app.captures.length < 2 || app.selected?.capture !== 1) return;
    app.offset[1] = (app.range?.from ?? app.view.from + (app.view.to - app.view.from) / 4) - app.selected.start;
    app.measure();
    this.draw();
  }

  private escape(): void {
    if (!byId("keys").hidden) this.help();
    else if (this.search.text) this.search.set("");
    else if (this.app.range) this.app.setRange(null);
    else this.app.select(null);
  }

  private key(event: KeyboardEvent): void {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const target = event.target as HTMLElement;
    if (/^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName)) return;
    const { view } = this.app;
    const far = view.width * 0.18;
    const acts: Record<string, () => void> = {
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
      Escape: () => this.escape(),
    };
    const act = acts[event.key] ?? acts[event.key.toLowerCase()];
    if (!act) return;
    event.preventDefault();
    act();
    this.draw();
  }
}

const data = JSON.parse(byId("data").textContent || "{}") as PageData & { server?: boolean };
if (data.server || data.overview) {
  const page = new Page(data.server ? new ServerSource() : new PageSource(data));
  (window as unknown as { kymograph: Page }).kymograph = page;
  page.load().catch((error: unknown) => {
    byId("notes").hidden = false;
    byId("notes").textContent = `This page could not be filled: ${(error as Error).message}`;
  });
}
