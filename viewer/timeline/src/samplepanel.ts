// One sample in the panel: when, of what, and its stack.

import type { App } from "./app";
import { familyColour, familyOf } from "./colours";
import { h } from "./dom";
import { duration, fileName } from "./format";
import { SAMPLES, threadOf, type Sample } from "./samples";
import type { Place } from "./types";

export class SamplePanel {
  private asked = 0;

  constructor(
    private app: App,
    private show: (...children: (Node | string)[]) => void,
    private seek: (capture: number, name: number) => void,
  ) {}

  /** Show the first sample from PLACE on, or the last one before it. */
  async open(place: Place, back = false): Promise<void> {
    const asked = ++this.asked;
    const { app } = this;
    try {
      const sample = await app.source.sample(place.capture, threadOf(place.thread), place.start, back);
      if (asked !== this.asked) return;
      app.selected = { ...place, start: sample.time, depth: 0 };
      this.reveal(sample.time + app.offset[place.capture]);
      this.draw(place.capture, sample);
      app.emit("draw");
    } catch (error) {
      if (asked === this.asked) this.show(h("p", { class: "problem" }, (error as Error).message));
    }
  }

  /** Something else is shown: what was asked for is not wanted any more. */
  forget(): void {
    this.asked++;
  }

  private reveal(time: number): void {
    const { view } = this.app;
    const half = (view.to - view.from) / 2;
    if (time < view.from || time > view.to) view.glide(time - half, time + half);
  }

  private draw(capture: number, sample: Sample): void {
    const { app } = this;
    const first = app.named[capture];
    const fact = (title: string, text: string) => h("div", {}, h("dt", {}, title), h("dd", {}, text));
    const name = app.name(capture, sample.name + first);
    const swatch = h("i", { class: "swatch" });
    swatch.style.background = familyColour(familyOf(name), app.dark);
    const here = { capture, thread: sample.thread + SAMPLES, depth: 0 };
    const stack = sample.stack.map(([number, line]) => {
      const known = app.name(capture, number + first);
      return h(
        "li",
        {},
        h("button", { class: "link", title: known[1], onclick: () => this.seek(capture, number + first) }, known[0]),
        h("span", { class: "where" }, known[1] ? ` ${fileName(known[1])}${line ? `:${line}` : ""}` : ""),
      );
    });
    this.show(
      h(
        "div",
        { class: "call-head" },
        swatch,
        h("h2", {}, name[0]),
        h("span", { class: "where" }, "sample"),
        h("button", { onclick: () => void this.open({ ...here, start: sample.time }, true) }, "Previous sample"),
        h("button", { onclick: () => void this.open({ ...here, start: sample.time + 1 }) }, "Next sample"),
      ),
      h(
        "div",
        { class: "columns" },
        h(
          "section",
          { class: "when" },
          h(
            "dl",
            { class: "facts" },
            fact("time", `${(sample.time / 1e6).toFixed(6)} ms`),
            fact(
              "stands for",
              sample.weight ? `${duration(sample.weight)} of ${sample.clock === "wall" ? "elapsed" : "CPU"} time` : `${sample.periods} periods`,
            ),
            fact("thread", app.tracks.find(capture, sample.thread + SAMPLES)?.thread.name || String(sample.thread)),
            fact("stack", String(sample.number)),
          ),
        ),
        h("section", {}, h("h3", {}, "Stack"), h("ol", { class: "callers" }, ...stack)),
      ),
    );
  }
}
