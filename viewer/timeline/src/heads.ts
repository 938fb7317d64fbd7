// The names of the tracks, left of them.

import type { App } from "./app";
import { byId, h } from "./dom";
import { grouped } from "./format";
import type { Group, Track } from "./tracks";

function fold(item: Track | Group): void {
  item.folded = !item.folded;
}

function pin(track: Track): void {
  track.pinned = !track.pinned;
}

export class Heads {
  private element = byId("heads");
  private drawn = "";

  constructor(
    private app: App,
    private changed: () => void,
  ) {}

  private button(text: string, title: string, act: () => void, pressed = false): HTMLElement {
    return h(
      "button",
      {
        title,
        "aria-label": title,
        "aria-pressed": String(pressed),
        onclick: () => {
          act();
          this.changed();
        },
      },
      text,
    );
  }

  private groupHead(group: Group): HTMLElement {
    const { tracks } = this.app;
    return h(
      "div",
      { class: "head group", title: group.detail },
      this.button(group.folded ? "▸" : "▾", group.folded ? "Unfold" : "Fold", () => fold(tracks.groupNow(group))),
      h("span", { class: "title" }, group.title),
      h("span", { class: "detail" }, group.detail),
    );
  }

  private trackHead(track: Track): HTMLElement {
    const { tracks } = this.app;
    const lost = track.thread.lost ? `, ${grouped(track.thread.lost)} lost` : "";
    return h(
      "div",
      { class: `head${track.pinned ? " pinned" : ""}`, title: `${track.title}, ${track.detail}: ${grouped(track.thread.records)} records${lost}` },
      this.button(track.folded ? "▸" : "▾", track.folded ? "Unfold" : "Fold", () => fold(tracks.now(track))),
      h("span", { class: "title" }, track.title),
      h("span", { class: "detail" }, track.detail),
      h(
        "span",
        { class: "acts" },
        this.button("↑", "Move up", () => tracks.move(tracks.now(track), -1)),
        this.button("↓", "Move down", () => tracks.move(tracks.now(track), 1)),
        this.button("⚑", track.pinned ? "Unpin" : "Pin to the top", () => pin(tracks.now(track)), track.pinned),
      ),
    );
  }

  /** Draw what is in sight, if that has changed. */
  draw(scroll: number, height: number): void {
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
        }),
      );
    }
    this.element.style.transform = `translateY(${-scroll}px)`;
  }
}
