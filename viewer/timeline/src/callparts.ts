// Sections about a call: who called it, and the text around its line.

import type { App } from "./app";
import { h } from "./dom";
import { fileName } from "./format";
import type { Call, Place } from "./types";

/** The chain of callers of CALL, the nearest first; GO shows one of them. */
export function callersOf(app: App, call: Call, capture: number, go: (place: Place) => void): HTMLElement {
  const list = h("ol", { class: "callers" });
  for (const [name, start, depth] of [...call.callers].reverse()) {
    const known = app.name(capture, name);
    list.append(
      h(
        "li",
        {},
        h("button", { class: "link", title: known[1], onclick: () => go({ capture, thread: call.thread, start, depth }) }, known[0]),
        h("span", { class: "where" }, known[1] ? ` ${fileName(known[1])}${known[2] ? `:${known[2]}` : ""}` : ""),
      ),
    );
  }
  return h("section", {}, h("h3", {}, "Called by"), call.callers.length ? list : h("p", { class: "hint" }, "nobody: outermost"));
}

/** The lines of SOURCE, with LINE marked. */
export function sourceOf(source: { first: number; lines: string[] }, line: number): HTMLElement {
  const lines = source.lines.map((text, i) =>
    h("div", { class: source.first + i === line ? "here" : "" }, h("span", { class: "number" }, String(source.first + i)), text || " "),
  );
  return h("section", { class: "source" }, h("h3", {}, "Source"), h("pre", {}, ...lines));
}
