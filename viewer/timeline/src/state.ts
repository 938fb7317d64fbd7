// The place on the timeline, in the address: so that it can be sent, and survives a reload.

import type { App } from "./app";

export interface State {
  view?: [number, number];
  selected?: [number, number, number, number];
  range?: [number, number];
  search?: string;
  filter?: string;
  folded?: string[];
  pinned?: string[];
  tab?: string;
}

function numbers(text: string | null, count: number): number[] | undefined {
  const list = (text ?? "").split(",").map(Number);
  return list.length === count && list.every(Number.isFinite) ? list : undefined;
}

export function readState(hash: string): State {
  const values = new URLSearchParams(hash.replace(/^#/, ""));
  return {
    view: numbers(values.get("v"), 2) as [number, number] | undefined,
    selected: numbers(values.get("s"), 4) as [number, number, number, number] | undefined,
    range: numbers(values.get("r"), 2) as [number, number] | undefined,
    search: values.get("q") ?? undefined,
    filter: values.get("t") ?? undefined,
    folded: values.get("f")?.split(" ").filter(Boolean),
    pinned: values.get("p")?.split(" ").filter(Boolean),
    tab: values.get("tab") ?? undefined,
  };
}

/** Is the page inside of another, the flame graph, which looks at the same address? */
export function isInside(hash: string): boolean {
  return new URLSearchParams(hash.replace(/^#/, "")).get("view") === "timeline";
}

export function writeState(app: App, search: string, tab: string | null, inside: boolean): string {
  const values = new URLSearchParams();
  if (inside) values.set("view", "timeline");
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
