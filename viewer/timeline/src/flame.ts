// Where the time of a range went, as a graph: callers above, what they called below.

import type { App } from "./app";
import { palette } from "./colours";
import { h, prepared } from "./dom";
import { duration, grouped } from "./format";
import { fitted } from "./label";
import type { Stats } from "./types";

const ROW = 18;

interface Node {
  name: number;
  parent: Node | null;
  calls: number;
  self: number;
  total: number;
  children: Node[];
}

/** The tree of STATS; its root stands for the range. */
export function treeOf(stats: Stats): Node {
  const root: Node = { name: -1, parent: null, calls: 0, self: 0, total: 0, children: [] };
  const nodes: Node[] = [];
  for (const [name, parent, calls, self, total] of stats.tree) {
    const above = parent < 0 ? root : nodes[parent];
    const node: Node = { name, parent: above, calls, self, total, children: [] };
    nodes.push(node);
    above.children.push(node);
    if (above === root) root.total += total;
  }
  return root;
}

/** What calls NAME, or what it calls, over all places in the tree: a tree with NAME at its root. */
export function sandwich(root: Node, name: number, callers: boolean): Node {
  const top: Node = { name, parent: null, calls: 0, self: 0, total: 0, children: [] };
  const into = (target: Node, key: number, from: Node, time: number): Node => {
    let child = target.children.find((node) => node.name === key);
    if (!child) {
      child = { name: key, parent: target, calls: 0, self: 0, total: 0, children: [] };
      target.children.push(child);
    }
    child.calls += from.calls;
    child.self += from.self;
    child.total += time;
    return child;
  };
  const copy = (source: Node, target: Node) => {
    for (const child of source.children) copy(child, into(target, child.name, child, child.total));
  };
  const walk = (node: Node, inside: boolean) => {
    const here = node.name === name;
    if (here && (callers || !inside)) {
      if (!inside) top.total += node.total;
      top.calls += node.calls;
      top.self += node.self;
      if (callers) {
        let target = top;
        const time = inside ? node.self : node.total;
        for (let above = node.parent; above && above.name >= 0; above = above.parent) {
          target = into(target, above.name, node, time);
        }
      } else {
        copy(node, top);
      }
    }
    for (const child of node.children) walk(child, inside || here);
  };
  walk(root, false);
  const order = (node: Node) => {
    node.children.sort((a, b) => b.total - a.total);
    node.children.forEach(order);
  };
  order(top);
  return top;
}

export class Flame {
  readonly element: HTMLElement;
  private canvas = h("canvas", { tabindex: 0, role: "img", "aria-label": "Flame graph; the table of functions has the same figures" });
  private tip = h("output", { class: "flame-tip" });
  private root: Node | null = null;
  private zoomed: Node | null = null;
  private drawn: { node: Node; x: number; y: number; w: number }[] = [];

  constructor(
    private app: App,
    private capture: () => number,
    private chosen: (name: number) => void,
  ) {
    this.element = h("div", { class: "flame" }, this.tip, this.canvas);
    this.canvas.addEventListener("pointermove", (event) => this.explain(event));
    this.canvas.addEventListener("click", (event) => {
      const node = this.at(event);
      this.zoomed = node === this.zoomed ? this.root : (node ?? this.root);
      this.draw();
    });
    this.canvas.addEventListener("dblclick", (event) => {
      const node = this.at(event);
      if (node && node.name >= 0) this.chosen(node.name);
    });
  }

  show(root: Node): void {
    this.root = this.zoomed = root;
    this.draw();
  }

  private at(event: MouseEvent): Node | null {
    const hit = this.drawn.find((d) => event.offsetX >= d.x && event.offsetX < d.x + d.w && event.offsetY >= d.y && event.offsetY < d.y + ROW);
    return hit?.node ?? null;
  }

  private words(node: Node): string {
    if (node.name < 0) return `everything: ${duration(node.total)}`;
    const share = this.root?.total ? ((100 * node.total) / this.root.total).toFixed(1) : "0";
    return `${this.app.name(this.capture(), node.name)[0]}: ${duration(node.total)} (${share} %), self ${duration(node.self)}, ${grouped(node.calls)} calls`;
  }

  private explain(event: MouseEvent): void {
    const node = this.at(event);
    this.tip.textContent = node ? this.words(node) : "Click a call to zoom; double-click to find it on the timeline.";
  }

  draw(): void {
    if (!this.root || !this.zoomed || !this.element.clientWidth) return;
    const width = this.element.clientWidth - 16;
    let deepest = 0;
    this.drawn = [];
    const place = (node: Node, x: number, w: number, depth: number) => {
      if (w < 0.6) return;
      deepest = Math.max(deepest, depth);
      this.drawn.push({ node, x, y: depth * ROW, w });
      let at = x;
      for (const child of node.children) {
        const part = node.total ? (w * child.total) / node.total : 0;
        place(child, at, part, depth + 1);
        at += part;
      }
    };
    const above: Node[] = [];
    for (let node = this.zoomed.parent; node; node = node.parent) above.unshift(node);
    for (const [i, node] of above.entries()) this.drawn.push({ node, x: 0, y: i * ROW, w: width });
    place(this.zoomed, 0, width, above.length);
    const height = (deepest + 1) * ROW + 4;
    const context = prepared(this.canvas, width, height);
    const colours = palette(this.app.dark, 0);
    const style = getComputedStyle(document.documentElement);
    context.clearRect(0, 0, width, height);
    context.font = "11px system-ui, sans-serif";
    context.textBaseline = "middle";
    for (const { node, x, y, w } of this.drawn) {
      const known = node.name >= 0;
      context.globalAlpha = above.includes(node) ? 0.5 : 1;
      context.fillStyle = known ? colours[this.app.colours[this.capture()][node.name] ?? 0] : style.getPropertyValue("--group");
      context.fillRect(x, y, Math.max(0.5, w - 0.75), ROW - 1);
      if (w < 24) continue;
      context.fillStyle = style.getPropertyValue(known ? "--slice-text" : "--text");
      const text = known ? this.app.name(this.capture(), node.name)[0] : `everything, ${duration(node.total)}`;
      context.fillText(fitted(context, text, w - 7), x + 4, y + ROW / 2);
    }
    context.globalAlpha = 1;
    if (!this.tip.textContent) this.tip.textContent = this.words(this.root);
  }
}
