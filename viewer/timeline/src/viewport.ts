// Which part of time is in sight.

const LEAST = 20; // ns in sight, at least
const PRECISION = 2 ** -40; // the least share of the whole: numbers have 53 bits, and pixels need some of them

export class Viewport {
  from = 0;
  to = 1;
  width = 1; // CSS pixels
  whole = 1; // the end of time
  private goal: { from: number; to: number } | null = null;

  get nsPerPixel(): number {
    return (this.to - this.from) / this.width;
  }

  x(time: number): number {
    return (time - this.from) / this.nsPerPixel;
  }

  time(x: number): number {
    return this.from + x * this.nsPerPixel;
  }

  private limited(from: number, to: number): { from: number; to: number } {
    const margin = this.whole * 0.02;
    const most = this.whole + 2 * margin;
    const length = Math.max(LEAST, this.whole * PRECISION, Math.min(most, to - from));
    const middle = (from + to) / 2;
    let start = middle - length / 2;
    start = Math.max(-margin, Math.min(this.whole + margin - length, start));
    return { from: start, to: start + length };
  }

  set(from: number, to: number): void {
    this.goal = null;
    Object.assign(this, this.limited(from, to));
  }

  /** Move there within a few frames. */
  glide(from: number, to: number): void {
    this.goal = this.limited(from, to);
  }

  showAll(): void {
    this.glide(0, this.whole);
  }

  pan(pixels: number): void {
    const by = pixels * this.nsPerPixel;
    const base = this.goal ?? this;
    this.set(base.from + by, base.to + by);
  }

  /** Make everything FACTOR times as long on the screen, with the time at X staying where it is. */
  zoom(factor: number, x: number): void {
    const at = this.time(x);
    this.set(at - (at - this.from) / factor, at + (this.to - at) / factor);
  }

  /** Bring TIME into sight without changing the scale, if it is not. */
  reveal(from: number, to: number): void {
    const length = this.to - this.from;
    const span = to - from;
    if (span > length || span < length / 400) {
      const around = Math.max(span * 4, 200);
      this.glide(from - around, to + around);
    } else if (from < this.from || to > this.to) {
      const middle = (from + to) / 2;
      this.glide(middle - length / 2, middle + length / 2);
    }
  }

  /** Is it moving? What is in sight will not be for long. */
  get gliding(): boolean {
    return this.goal !== null;
  }

  /** One step of a glide. Returns whether there is another. */
  step(still: boolean): boolean {
    if (!this.goal) return false;
    const near = (this.to - this.from) / this.width;
    const left = Math.abs(this.goal.from - this.from) + Math.abs(this.goal.to - this.to);
    if (still || left < near) {
      this.from = this.goal.from;
      this.to = this.goal.to;
      this.goal = null;
      return true;
    }
    this.from += (this.goal.from - this.from) * 0.35;
    this.to += (this.goal.to - this.to) * 0.35;
    return true;
  }
}
