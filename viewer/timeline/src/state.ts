// The place on the timeline, in the address: so that it can be sent, and survives a reload.

import type { App } from "./app";
import type { Wanted } from "./renderer";

export interface State {
  view?: [number, number];
  selected?: [number, number, number, number];
  range?: [number, number];
  search?: string;
  filter?: string;
  folded?: string[];
  pinned?: string[];
  tab?: string;
  /** Who draws, if the page is not to decide. */
  draw?: Wanted;
}

function numbers(text: string | null, count: number): number[] | undefined {
  const list = (text ?? "").split(",").map(Number);
  return list.length === count && list.every(Number.isFinite) ? list : undefined;
}

/** Keys of tracks. A title may be in one, and there may be spaces in it. */
function keys(text: string | null): string[] | undefined {
  try {
    return text?.split(" ").filter(Boolean).map(decodeURIComponent);
  } catch {
    return undefined;
  }
}

function wanted(text: string | null): Wanted {
  return text === "webgl" || text === "canvas" ? text : undefined;
}

export function readState(hash: string): State {
  const values = new URLSearchParams(hash.replace(/^#/, ""));
  return {
    view: numbers(values.get("v"), 2) as [number, number] | undefined,
    selected: numbers(values.get("s"), 4) as [number, number, number, number] | undefined,
    range: numbers(values.get("r"), 2) as [number, number] | undefined,
    search: values.get("q") ?? undefined,
    filter: values.get("t") ?? undefined,
    folded: keys(values.get("f")),
    pinned: keys(values.get("p")),
    tab: values.get("tab") ?? undefined,
    draw: wanted(values.get("draw")),
  };
}

/** Is the page inside of another, the flame graph, which looks at the same address? */
export function isInside(hash: string): boolean {
  return new URLSearchParams(hash.replace(/^#/, "")).get("view") === "timeline";
}

export function writeState(app: App, search: string, tab: string | null, inside: boolean, draw: Wanted): string {
  const values = new URLSearchParams();
  if (inside) values.set("view", "timeline");
  values.set("v", `${Math.round(app.view.from)},${Math.round(app.view.to)}`);
  const { selected, range } = app;
  if (selected) values.set("s", [selected.capture, selected.thread, selected.start, selected.depth].join(","));
  if (range) values.set("r", `${Math.round(range.from)},${Math.round(range.to)}`);
  if (search) values.set("q", search);
  if (app.tracks.filter) values.set("t", app.tracks.filter);
  const all = app.tracks.all();
  const folded = all.filter((track) => track.folded).map((track) => encodeURIComponent(track.key));
  const pinned = all.filter((track) => track.pinned).map((track) => encodeURIComponent(track.key));
  if (folded.length && folded.length < 100) values.set("f", folded.join(" "));
  if (pinned.length && pinned.length < 100) values.set("p", pinned.join(" "));
  if (tab) values.set("tab", tab);
  if (draw) values.set("draw", draw);
  return `#${values}`;
}
