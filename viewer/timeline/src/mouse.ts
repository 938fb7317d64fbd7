// Mouse and trackpad on the tracks: pan, zoom, select.

import type { App } from "./app";
import type { Hit, Painter } from "./draw";
import { byId, h } from "./dom";

const STILL = 4; // pixels that a click may move

export class Mouse {
  private tip = byId("tip");
  x = 0; // where the mouse is, for the keys

  constructor(
    private app: App,
    private painter: Painter,
    private canvas: HTMLCanvasElement,
    private scroller: HTMLElement,
    private chosen: (hit: Hit, zoom: boolean) => void,
  ) {
    this.x = 400;
    canvas.addEventListener("pointerdown", (event) => this.press(event, event.shiftKey));
    byId("axis").addEventListener("pointerdown", (event) => this.press(event, true));
    canvas.addEventListener("pointermove", (event) => this.hover(event));
    canvas.addEventListener("pointerleave", () => (this.tip.hidden = true));
    canvas.addEventListener("dblclick", (event) => {
      const hit = this.at(event);
      if (hit) this.chosen(hit, true);
    });
    for (const element of [canvas, byId("axis"), byId("minimap")]) {
      element.addEventListener("wheel", (event) => this.wheel(event), { passive: false });
    }
  }

  private at(event: MouseEvent): Hit | null {
    return this.painter.hit(event.offsetX, event.offsetY, this.scroller.scrollTop);
  }

  private press(event: PointerEvent, selecting: boolean): void {
    if (event.button !== 0) return;
    const target = event.currentTarget as HTMLElement;
    const left = target.getBoundingClientRect().left;
    const { view } = this.app;
    const began = event.clientX - left;
    const from = view.time(began);
    let last = event.clientX;
    let lastY = event.clientY;
    let moved = false;
    target.setPointerCapture(event.pointerId);
    const move = (e: PointerEvent) => {
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
    const end = (e: PointerEvent) => {
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

  private hover(event: PointerEvent): void {
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

  private wheel(event: WheelEvent): void {
    const { view } = this.app;
    const lines = event.deltaMode === 1 ? 16 : 1;
    if (event.ctrlKey || event.metaKey || event.currentTarget !== this.canvas) {
      event.preventDefault();
      view.zoom(Math.exp(-event.deltaY * lines * (event.ctrlKey ? 0.006 : 0.003)), event.offsetX);
    } else if (event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY)) {
      event.preventDefault();
      view.pan((event.deltaX || event.deltaY) * lines);
    } else {
      return; // scrolls
    }
    this.tip.hidden = true;
    this.app.emit("draw");
  }
}
