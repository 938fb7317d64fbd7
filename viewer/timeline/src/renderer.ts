// Who draws the boxes: the graphics card if there is one, else the canvas that has the text.

import { GlBoxes } from "./glboxes";
import type { Shades } from "./shades";

/** What the address asks for; otherwise it depends on the machine. */
export type Wanted = "webgl" | "canvas" | undefined;

const SOFTWARE = /swiftshader|llvmpipe|softpipe|software|basic render/i;

/** A context of WebGL 2 that is faster than a canvas, or any if that is WANTED. */
function openContext(canvas: HTMLCanvasElement, wanted: Wanted): WebGL2RenderingContext | null {
  if (wanted === "canvas") return null;
  const gl = canvas.getContext("webgl2", {
    alpha: true,
    antialias: false,
    depth: false,
    failIfMajorPerformanceCaveat: wanted !== "webgl",
  });
  if (!gl || wanted === "webgl") return gl;
  const info = gl.getExtension("WEBGL_debug_renderer_info");
  const name = String(gl.getParameter(info ? info.UNMASKED_RENDERER_WEBGL : gl.RENDERER));
  if (!SOFTWARE.test(name)) return gl;
  gl.getExtension("WEBGL_lose_context")?.loseContext();
  return null;
}

export class Renderer {
  /** Null if boxes are drawn on the canvas that has the text. */
  gl: GlBoxes | null = null;
  private shades: Shades | null = null;

  /** CHANGED is called when everything has to be drawn anew. */
  constructor(
    private canvas: HTMLCanvasElement,
    wanted: Wanted,
    changed: () => void,
  ) {
    const context = openContext(canvas, wanted);
    this.use(context);
    if (!context) return;
    canvas.addEventListener("webglcontextlost", (event) => {
      event.preventDefault(); // so that it may come back
      this.use(null);
      changed();
    });
    canvas.addEventListener("webglcontextrestored", () => {
      this.use(context);
      changed();
    });
  }

  private use(context: WebGL2RenderingContext | null): void {
    try {
      this.gl = context && new GlBoxes(context);
    } catch {
      this.gl = null; // a driver that does not compile our programs
    }
    this.canvas.hidden = !this.gl;
    if (this.shades) this.gl?.retune(this.shades);
  }

  retune(shades: Shades): void {
    this.shades = shades;
    this.gl?.retune(shades);
  }
}
