// Search: names by text or regular expression, then call after call.

import type { App } from "./app";
import { byId } from "./dom";
import { grouped } from "./format";
import type { Name, Place } from "./types";

/** The test that TEXT stands for: a part of a name, /a regular expression/, or =a whole name. */
export function matcher(text: string): (name: Name) => boolean {
  const expression = /^\/(.*)\/(i?)$/.exec(text);
  if (expression) {
    const pattern = new RegExp(expression[1], expression[2]);
    return (name) => pattern.test(name[0]);
  }
  if (text.startsWith("=")) return (name) => name[0] === text.slice(1);
  const part = text.toLowerCase();
  return (name) => name[0].toLowerCase().includes(part) || name[1].toLowerCase().includes(part);
}

export class Search {
  private box = byId<HTMLInputElement>("search");
  private hits = byId("hits");
  private counts: Map<number, number>[] = [];
  private running = 0;
  private timer = 0;

  constructor(
    private app: App,
    private go: (place: Place) => void,
  ) {
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

  get text(): string {
    return this.box.value;
  }

  focus(): void {
    this.box.focus();
    this.box.select();
  }

  set(text: string): void {
    this.box.value = text;
    this.apply();
  }

  apply(): void {
    const text = this.box.value.trim();
    this.box.classList.remove("bad");
    if (!text) {
      this.hits.textContent = "";
      this.app.highlight([null, null]);
      return;
    }
    let matches: (name: Name) => boolean;
    try {
      matches = matcher(text);
    } catch {
      this.box.classList.add("bad");
      this.hits.textContent = "not a regular expression";
      return;
    }
    const sets = this.app.captures.map((capture) => {
      const set = new Set<number>();
      capture.names.forEach((name, i) => {
        if (matches(name)) set.add(i);
      });
      return set;
    });
    this.app.highlight([sets[0] ?? null, sets[1] ?? null]);
    this.report(sets);
    void this.count(sets);
  }

  private report(sets: Set<number>[]): void {
    const names = sets.reduce((sum, set) => sum + set.size, 0);
    let words = names === 1 ? "1 name" : `${grouped(names)} names`;
    if (names && sets.every((_, i) => this.counts[i])) {
      let calls = 0;
      sets.forEach((set, i) => {
        for (const name of set) calls += this.counts[i].get(name) ?? 0;
      });
      words += `, ${grouped(calls)} calls`;
    }
    this.hits.textContent = words;
  }

  /** How often each name was called, once: from the figures of everything. */
  private async count(sets: Set<number>[]): Promise<void> {
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

  /** Forget a search for the next call that is under way: the user has gone somewhere else. */
  stop(): void {
    this.running++;
    this.hits.textContent = (this.hits.textContent ?? "").replace(/ · .*/, "");
  }

  /** Go to the next call that was found, or to the previous one. */
  async next(back: boolean): Promise<void> {
    const { app } = this;
    const capture = app.selected?.capture ?? (app.highlighted[0]?.size ? 0 : 1);
    const names = [...(app.highlighted[capture] ?? [])].filter((name) => name < app.named[capture]);
    if (!names.length || !app.captures[capture]) return;
    const asked = ++this.running;
    let time = app.selected ? app.selected.start : back ? app.view.to - app.offset[capture] : app.view.from - app.offset[capture] - 1;
    time = Math.max(-1, time);
    const before = this.hits.textContent ?? "";
    for (;;) {
      const found = await app.source.find(capture, names, time, back);
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
      const share = (100 * found.time) / Math.max(1, app.captures[capture].duration);
      this.hits.textContent = `${before.replace(/ · .*/, "")} · searching, ${share.toFixed(0)} %`;
      time = found.time;
    }
  }
}
