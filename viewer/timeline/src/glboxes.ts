// Boxes drawn by the graphics card. The parts of a tile are sent to it once; panning and zooming
// only changes uniforms. Names have their colours in a texture, so a search sends only that.

import type { Piece } from "./parts";
import { BARS, COVER, PARTS } from "./shaders";
import { Shades, type Bar } from "./shades";
import { CALL, type Tile } from "./tile";

const BYTES_MOST = 64 << 20; // on the card
const NAMES_ROW = 1024;
const UNFOUND = 128;

interface Kept {
  parts: WebGLBuffer;
  high: WebGLBuffer | null;
  bytes: number;
  used: number;
}

interface Program {
  program: WebGLProgram;
  at: (name: string) => WebGLUniformLocation | null;
}

interface Names {
  texture: WebGLTexture;
  colours: Uint8Array;
  found: Set<number> | null;
}

/** Where the rows of a track are, in CSS pixels, and which of them are in sight. */
export interface Rows {
  top: number;
  step: number;
  height: number;
  first: number;
  last: number;
  moment: number; // least width of what took no time
}

/** Where time is on the screen, on the capture's own clock. */
export interface Scale {
  from: number;
  nsPerPixel: number;
}

function compile(gl: WebGL2RenderingContext, vertex: string, fragment: string): Program {
  const program = gl.createProgram();
  for (const [kind, text] of [
    [gl.VERTEX_SHADER, vertex],
    [gl.FRAGMENT_SHADER, fragment],
  ] as const) {
    const shader = gl.createShader(kind);
    if (!shader) throw new Error("no shader");
    gl.shaderSource(shader, text);
    gl.compileShader(shader);
    gl.attachShader(program, shader);
    gl.deleteShader(shader);
  }
  gl.linkProgram(program);
  if (!gl.getProgramParameter(program, gl.LINK_STATUS)) throw new Error(gl.getProgramInfoLog(program) ?? "not linked");
  const known = new Map<string, WebGLUniformLocation | null>();
  return {
    program,
    at: (name) => {
      if (!known.has(name)) known.set(name, gl.getUniformLocation(program, name));
      return known.get(name) ?? null;
    },
  };
}

/** A tile as the card wants it: four words for each part, and the upper halves of times if there are any. */
export function packParts(tile: Tile): { words: Uint32Array; high: Uint32Array | null } {
  const words = new Uint32Array(tile.count * 4);
  const high = tile.start instanceof Float64Array ? new Uint32Array(tile.count * 2) : null;
  for (let depth = 0; depth + 1 < tile.rows.length; depth++) {
    for (let i = tile.rows[depth]; i < tile.rows[depth + 1]; i++) {
      const start = Math.max(0, tile.start[i]);
      const flags = tile.flags[i];
      const shade = flags & CALL ? 0 : Shades.of(tile.busy[i], tile.span[i]);
      words[i * 4] = start % 2 ** 32;
      words[i * 4 + 1] = tile.span[i] % 2 ** 32;
      words[i * 4 + 2] = tile.name[i];
      words[i * 4 + 3] = depth | (shade << 16) | (flags << 24);
      if (!high) continue;
      high[i * 2] = start / 2 ** 32;
      high[i * 2 + 1] = tile.span[i] / 2 ** 32;
    }
  }
  return { words, high };
}

export class GlBoxes {
  private parts: Program;
  private bars: Program;
  private palette: WebGLTexture;
  private barBuffer: WebGLBuffer;
  private names: Names[] = [];
  private kept = new Map<Tile, Kept>();
  private waiting: [number, number, number, number, number][] = [];
  private bytes = 0;
  private frame = 0;
  private width = 0;
  /** For tests: how often parts were sent to the card. */
  uploads = 0;

  constructor(private gl: WebGL2RenderingContext) {
    this.parts = compile(gl, PARTS, COVER);
    this.bars = compile(gl, BARS, COVER);
    this.palette = gl.createTexture();
    this.barBuffer = gl.createBuffer();
    gl.enable(gl.BLEND);
    gl.blendFunc(gl.ONE_MINUS_DST_ALPHA, gl.ONE);
    gl.pixelStorei(gl.UNPACK_ALIGNMENT, 1);
    gl.clearColor(0, 0, 0, 0);
  }

  private plainTexture(texture: WebGLTexture, unit: number): void {
    const { gl } = this;
    gl.activeTexture(gl.TEXTURE0 + unit);
    gl.bindTexture(gl.TEXTURE_2D, texture);
    gl.texParameteri(gl.TEXTURE_2D, gl.TEXTURE_MIN_FILTER, gl.NEAREST);
    gl.texParameteri(gl.TEXTURE_2D, gl.TEXTURE_MAG_FILTER, gl.NEAREST);
  }

  retune(shades: Shades): void {
    const { gl } = this;
    this.plainTexture(this.palette, 0);
    gl.texImage2D(gl.TEXTURE_2D, 0, gl.RGBA8, gl.RGBA, gl.UNSIGNED_BYTE, shades.picture());
  }

  /** Begin a frame of WIDTH x HEIGHT CSS pixels. */
  begin(width: number, height: number, ratio: number): void {
    const { gl } = this;
    const canvas = gl.canvas as HTMLCanvasElement;
    const w = Math.max(1, Math.round(width * ratio));
    const h = Math.max(1, Math.round(height * ratio));
    if (canvas.width !== w || canvas.height !== h) {
      canvas.width = w;
      canvas.height = h;
      canvas.style.width = `${width}px`;
      canvas.style.height = `${height}px`;
    }
    this.width = width;
    this.frame++;
    gl.viewport(0, 0, w, h);
    gl.clear(gl.COLOR_BUFFER_BIT);
    for (const { program, at } of [this.bars, this.parts]) {
      gl.useProgram(program);
      gl.uniform2f(at("size"), w, h);
      gl.uniform1f(at("ratio"), ratio);
      gl.uniform1i(at("palette"), 0);
    }
    gl.uniform1i(this.parts.at("names"), 1);
    gl.activeTexture(gl.TEXTURE0);
    gl.bindTexture(gl.TEXTURE_2D, this.palette);
    this.waiting = [];
  }

  /** Use the names of capture WHICH from now on: their COLOURS, and those that were FOUND. */
  useNames(which: number, colours: Uint8Array, found: Set<number> | null): void {
    const { gl } = this;
    const known = this.names[which];
    const texture = known?.texture ?? gl.createTexture();
    gl.activeTexture(gl.TEXTURE1);
    gl.bindTexture(gl.TEXTURE_2D, texture);
    if (known?.colours === colours && known.found === found) return;
    const height = Math.max(1, Math.ceil(colours.length / NAMES_ROW));
    const data = new Uint8Array(height * NAMES_ROW);
    data.set(colours);
    if (found) for (let i = 0; i < colours.length; i++) if (!found.has(i)) data[i] |= UNFOUND;
    this.plainTexture(texture, 1);
    gl.texImage2D(gl.TEXTURE_2D, 0, gl.R8UI, NAMES_ROW, height, 0, gl.RED_INTEGER, gl.UNSIGNED_BYTE, data);
    this.names[which] = { texture, colours, found };
  }

  private upload(data: Uint32Array): WebGLBuffer {
    const { gl } = this;
    const buffer = gl.createBuffer();
    gl.bindBuffer(gl.ARRAY_BUFFER, buffer);
    gl.bufferData(gl.ARRAY_BUFFER, data, gl.STATIC_DRAW);
    return buffer;
  }

  private keep(tile: Tile): Kept {
    const found = this.kept.get(tile);
    if (found) {
      found.used = this.frame;
      return found;
    }
    const { words, high } = packParts(tile);
    const bytes = words.byteLength + (high?.byteLength ?? 0);
    const made = { parts: this.upload(words), high: high && this.upload(high), bytes, used: this.frame };
    this.kept.set(tile, made);
    this.uploads++;
    this.bytes += bytes;
    if (this.bytes > BYTES_MOST) this.tidy();
    return made;
  }

  private tidy(): void {
    const old = [...this.kept].filter(([, one]) => one.used < this.frame - 1).sort(([, a], [, b]) => a.used - b.used);
    for (const [tile, { parts, high, bytes }] of old) {
      if (this.bytes < BYTES_MOST * 0.7) break;
      this.gl.deleteBuffer(parts);
      this.gl.deleteBuffer(high);
      this.kept.delete(tile);
      this.bytes -= bytes;
    }
  }

  /** Draw the ROWS of PIECES. */
  draw(pieces: Piece[], scale: Scale, rows: Rows): void {
    const { gl } = this;
    const { program, at } = this.parts;
    gl.useProgram(program);
    gl.uniform4f(at("rows"), rows.top, rows.step, rows.height, rows.moment);
    for (const { tile, from, to, cut } of pieces) {
      const depths = tile.rows.length - 1;
      const begin = tile.rows[Math.min(depths, rows.first)];
      const count = tile.rows[Math.min(depths, rows.last)] - begin;
      if (count <= 0) continue;
      const kept = this.keep(tile);
      const left = (scale.from - tile.from) / tile.unit;
      const whole = Math.floor(left);
      const perUnit = tile.unit / scale.nsPerPixel;
      gl.uniform2ui(at("origin"), Math.abs(whole) % 2 ** 32, Math.abs(whole) / 2 ** 32);
      gl.uniform1i(at("early"), whole < 0 ? 1 : 0);
      gl.uniform1f(at("scale"), perUnit);
      gl.uniform1f(at("rest"), (left - whole) * perUnit);
      const x = (time: number) => (time - scale.from) / scale.nsPerPixel;
      gl.uniform3f(at("window"), cut ? Math.max(-4, x(from)) : -4, cut ? Math.min(this.width + 4, x(to)) : this.width + 4, this.width);
      gl.bindBuffer(gl.ARRAY_BUFFER, kept.parts);
      gl.enableVertexAttribArray(0);
      gl.vertexAttribIPointer(0, 4, gl.UNSIGNED_INT, 16, begin * 16);
      gl.vertexAttribDivisor(0, 1);
      if (kept.high) {
        gl.bindBuffer(gl.ARRAY_BUFFER, kept.high);
        gl.enableVertexAttribArray(1);
        gl.vertexAttribIPointer(1, 2, gl.UNSIGNED_INT, 8, begin * 8);
        gl.vertexAttribDivisor(1, 1);
      } else {
        gl.disableVertexAttribArray(1);
        gl.vertexAttribI4ui(1, 0, 0, 0, 0);
      }
      gl.drawArraysInstanced(gl.TRIANGLE_STRIP, 0, 4, count);
    }
  }

  /** A bar below the boxes, above the bars before it. */
  addBar(bar: Bar, x: number, y: number, w: number, h: number): void {
    this.waiting.push([x, y, x + w, y + h, Shades.barColumn(bar)]);
  }

  /** End a frame: what lies below everything else is drawn last. */
  end(): void {
    const { gl, waiting } = this;
    if (!waiting.length) return;
    const data = new ArrayBuffer(waiting.length * 20);
    const [edges, column] = [new Float32Array(data), new Uint32Array(data)];
    waiting.reverse().forEach((bar, i) => {
      edges.set(bar.slice(0, 4), i * 5);
      column[i * 5 + 4] = bar[4];
    });
    gl.useProgram(this.bars.program);
    gl.bindBuffer(gl.ARRAY_BUFFER, this.barBuffer);
    gl.bufferData(gl.ARRAY_BUFFER, data, gl.STREAM_DRAW);
    gl.enableVertexAttribArray(0);
    gl.vertexAttribPointer(0, 4, gl.FLOAT, false, 20, 0);
    gl.vertexAttribDivisor(0, 1);
    gl.enableVertexAttribArray(1);
    gl.vertexAttribIPointer(1, 1, gl.UNSIGNED_INT, 20, 16);
    gl.vertexAttribDivisor(1, 1);
    gl.drawArraysInstanced(gl.TRIANGLE_STRIP, 0, 4, waiting.length);
  }
}
