// The colours of boxes in a theme: each in several shades, by how much of a box was busy.

import { palette } from "./colours";

export const SHADES = 4;
/** The shade of what a search did not find. */
export const DIM = SHADES;
/** The row of `picture` with the colours of bars. */
export const BAR_ROW = SHADES + 1;

/** Lines and backgrounds below the boxes. */
export type Bar = "line" | "group";
const BARS: Bar[] = ["line", "group"];

export class Shades {
  /** By shade and colour. */
  readonly css: string[][] = [];
  readonly bars: Record<Bar, string>;

  constructor(dark: boolean, line: string, group: string) {
    for (let i = 0; i < SHADES; i++) this.css.push(palette(dark, (i / SHADES) * 0.85));
    this.css.push(palette(dark, 0.78));
    this.bars = { line, group };
  }

  get width(): number {
    return this.css[0].length;
  }

  /** How full a box of several calls looks. */
  static of(busy: number, length: number): number {
    const full = Math.min(1, busy / Math.max(1, length));
    return Math.min(SHADES - 1, Math.floor((1 - full) * SHADES));
  }

  static barColumn(bar: Bar): number {
    return BARS.indexOf(bar);
  }

  /** All of them as pixels: a row for each shade, and one for bars. */
  picture(): HTMLCanvasElement {
    const canvas = document.createElement("canvas");
    canvas.width = this.width;
    canvas.height = BAR_ROW + 1;
    const context = canvas.getContext("2d");
    [...this.css, BARS.map((bar) => this.bars[bar])].forEach((row, y) =>
      row.forEach((colour, x) => {
        if (!context) return;
        context.fillStyle = colour;
        context.fillRect(x, y, 1, 1);
      }),
    );
    return canvas;
  }
}
