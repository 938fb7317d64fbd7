// Boxes on a canvas without WebGL: collected by colour, so that a frame sets few styles.

import { SHADES, type Shades } from "./shades";

export class FlatBoxes {
  private lists: Float32Array[];
  private counts: Int32Array;

  constructor(private shades: Shades) {
    const count = (SHADES + 1) * shades.width;
    this.lists = Array.from({ length: count }, () => new Float32Array(256));
    this.counts = new Int32Array(count);
  }

  add(shade: number, colour: number, x: number, y: number, w: number, h: number): void {
    const list = shade * this.shades.width + colour;
    let at = this.counts[list];
    if (at + 4 > this.lists[list].length) {
      const larger = new Float32Array(this.lists[list].length * 2);
      larger.set(this.lists[list]);
      this.lists[list] = larger;
    }
    const values = this.lists[list];
    values[at++] = x;
    values[at++] = y;
    values[at++] = w;
    values[at++] = h;
    this.counts[list] = at;
  }

  flush(context: CanvasRenderingContext2D): void {
    for (let list = 0; list < this.lists.length; list++) {
      const end = this.counts[list];
      if (!end) continue;
      context.fillStyle = this.shades.css[Math.floor(list / this.shades.width)][list % this.shades.width];
      const values = this.lists[list];
      for (let i = 0; i < end; i += 4) context.fillRect(values[i], values[i + 1], values[i + 2], values[i + 3]);
      this.counts[list] = 0;
    }
  }
}
