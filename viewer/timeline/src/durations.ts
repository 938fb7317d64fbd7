// The durations of a function's calls: a histogram whose bars lead to the calls in them.

import type { App } from "./app";
import { h } from "./dom";
import { duration, grouped, moment } from "./format";
import type { CallDurations, DurationBar, Place, Range } from "./types";

/** More bars would be too narrow to click; with fewer, a bar would look like a wall. */
const BARS_MOST = 32;
const BARS_LEAST = 9;

export interface Question {
  capture: number;
  name: number;
  range: Range | null;
  threads: number[] | null;
}

/** The shortest duration in bar BAR of the server: up to 3 ns one by one, then four bars for every power of two. */
export function barStart(bar: number): number {
  return bar < 4 ? bar : (4 + (bar % 4)) * 2 ** (Math.floor(bar / 4) - 1);
}

/** All bars from the shortest to the longest duration, also empty ones, in groups so that there are LEAST to MOST. */
export function groupBars(bars: DurationBar[], least: number, most: number): DurationBar[] {
  if (!bars.length) return [];
  let first = bars[0].bar;
  let last = bars[bars.length - 1].bar;
  while (last - first + 1 < least) {
    if (first > 0) first--;
    last++;
  }
  let size = 1;
  while (Math.floor(last / size) - Math.floor(first / size) + 1 > most) size *= 2;
  const groups: DurationBar[] = [];
  for (let group = Math.floor(first / size); group <= Math.floor(last / size); group++) {
    groups.push({ bar: group * size, from: barStart(group * size), to: barStart((group + 1) * size), calls: 0, longest: [] });
  }
  for (const bar of bars) {
    const group = groups[Math.floor(bar.bar / size) - Math.floor(first / size)];
    group.calls += bar.calls;
    // Later bars have longer calls; each has its longest first. What a bar left out is shorter than what it has.
    group.longest = bar.longest.length < bar.calls ? [...bar.longest] : [...bar.longest, ...group.longest];
  }
  return groups;
}

export class Durations {
  readonly element = h("section", { class: "durations" });
  private key = "";
  private question: Question | null = null;
  private events = 0;
  private asking = false;
  private answer: CallDurations | null = null;
  private groups: DurationBar[] = [];
  private buttons: HTMLButtonElement[] = [];
  private note = h("p", { class: "hint", role: "status" });
  private bar = -1;
  private at = -1;

  constructor(
    private app: App,
    private go: (place: Place, length: number) => void,
  ) {}

  /** Show the answer to QUESTION, and where a call that took LENGTH belongs. */
  show(question: Question, length: number | null): void {
    const key = JSON.stringify(question);
    if (key !== this.key) {
      this.key = key;
      this.question = question;
      this.events = 0;
      this.answer = null;
      this.ask();
    }
    this.mark(length);
  }

  private fill(...children: (Node | string)[]): void {
    this.element.replaceChildren(h("h3", {}, "Durations of its calls"), ...children);
  }

  private ask(): void {
    this.bar = this.at = -1;
    this.buttons = [];
    if (!this.app.source.live) {
      this.fill(h("p", { class: "hint" }, "The durations of all its calls need kymograph view and the capture."));
      return;
    }
    this.fill(h("p", { class: "hint" }, "Reading…"));
    if (!this.asking) void this.run();
  }

  /** One question at a time; those that came in between are forgotten except for the last. */
  private async run(): Promise<void> {
    this.asking = true;
    for (let done = false; !done;) {
      const { capture, name, range, threads } = this.question as Question;
      const [key, events] = [this.key, this.events];
      const current = () => key === this.key && events === this.events;
      try {
        const answer = await this.app.source.durations(capture, name, range, threads, events);
        if ((done = current())) this.draw(answer);
      } catch (error) {
        if ((done = current())) this.fill(h("p", { class: "problem" }, (error as Error).message));
      }
    }
    this.asking = false;
  }

  private readOn(): void {
    this.events = (this.answer as CallDurations).events * 10;
    this.ask();
  }

  private draw(answer: CallDurations): void {
    const question = this.question as Question;
    this.answer = answer;
    this.groups = groupBars(answer.bars, BARS_LEAST, BARS_MOST);
    const highest = Math.max(1, ...this.groups.map((group) => group.calls));
    this.buttons = this.groups.map((group, i) => {
      const words = `${grouped(group.calls)} ${group.calls === 1 ? "call" : "calls"} of ${duration(group.from)} to ${duration(group.to)}`;
      const fill = h("i", {});
      fill.style.height = group.calls ? `max(3px, ${(100 * group.calls) / highest}%)` : "0";
      return h("button", { title: words, "aria-label": words, disabled: !group.calls, onclick: () => this.next(i) }, fill);
    });
    const ends = this.groups.length ? [this.groups[0].from, this.groups[this.groups.length - 1].to] : [];
    const where = `${question.range ? "began in the range" : "in all of the capture"}${question.threads ? ", in the tracks shown" : ""}`;
    const parts: (Node | string)[] = [
      h("p", { class: "figures" }, h("strong", {}, `${grouped(answer.calls)} ${answer.calls === 1 ? "call" : "calls"}`), ` ${where}`),
    ];
    if (answer.calls) {
      parts.push(
        h("p", { class: "figures" }, `median ${duration(answer.median)} · p99 ${duration(answer.p99)} · longest ${duration(answer.longest)}`),
        h("div", { class: "bars", role: "group", "aria-label": "Calls by duration, logarithmic" }, ...this.buttons),
        h("div", { class: "ends" }, h("span", {}, duration(ends[0])), h("span", {}, "logarithmic"), h("span", {}, duration(ends[1]))),
      );
    }
    if (answer.open) parts.push(h("p", { class: "hint" }, `${grouped(answer.open)} more did not end in what was read.`));
    if (!answer.complete) {
      parts.push(
        h(
          "p",
          { class: "hint", role: "alert" },
          `Stopped early: only calls that began before ${moment(answer.until ?? 0, 1000)} are all counted. `,
          h("button", { onclick: () => this.readOn() }, "Read on"),
        ),
      );
    }
    this.note.textContent = answer.calls ? "Click a bar to go to its longest call." : "";
    this.fill(...parts, this.note);
    this.mark(this.length);
  }

  private length: number | null = null;

  private mark(length: number | null): void {
    this.length = length;
    this.groups.forEach((group, i) => this.buttons[i]?.classList.toggle("here", length !== null && length >= group.from && length < group.to));
  }

  /** Go to the longest call of bar BAR or, if that was the last one clicked, to the next one. */
  private next(bar: number): void {
    const { capture } = this.question as Question;
    const group = this.groups[bar];
    this.at = bar === this.bar ? (this.at + 1) % group.longest.length : 0;
    this.bar = bar;
    const [thread, start, depth, length] = group.longest[this.at];
    const all = group.calls > group.longest.length ? `the ${group.longest.length} longest of ${grouped(group.calls)}` : grouped(group.calls);
    this.note.textContent = `${this.at + 1} of ${all} in this bar${group.longest.length > 1 ? "; click it again for the next" : ""}`;
    this.go({ capture, thread, start, depth }, Math.max(1, length));
  }
}
