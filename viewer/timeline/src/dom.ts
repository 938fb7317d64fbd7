// A few lines instead of a framework. Text only ever becomes text: names in captures may hold markup.

type Child = Node | string | null | undefined;
type Values = Record<string, string | number | boolean | ((event: never) => void)>;

/** An element with attributes, `on…` listeners and children. */
export function h<K extends keyof HTMLElementTagNameMap>(tag: K, values: Values = {}, ...children: Child[]): HTMLElementTagNameMap[K] {
  const element = document.createElement(tag);
  for (const [key, value] of Object.entries(values)) {
    if (typeof value === "function") element.addEventListener(key.slice(2), value as EventListener);
    else if (typeof value === "boolean") element.toggleAttribute(key, value);
    else element.setAttribute(key, String(value));
  }
  element.append(...children.filter((child) => child !== null && child !== undefined));
  return element;
}

export function byId<T extends HTMLElement = HTMLElement>(id: string): T {
  const element = document.getElementById(id);
  if (!element) throw new Error(`no element ${id}`);
  return element as T;
}

/** Pixels of the screen in one of CSS; more than two cannot be seen. */
export function pixelRatio(): number {
  return Math.min(2, window.devicePixelRatio || 1);
}

/** Give CANVAS as many pixels as it has on the screen. Returns a context in CSS pixels. */
export function prepared(canvas: HTMLCanvasElement, width: number, height: number): CanvasRenderingContext2D {
  const ratio = pixelRatio();
  const w = Math.max(1, Math.round(width * ratio));
  const h2 = Math.max(1, Math.round(height * ratio));
  if (canvas.width !== w || canvas.height !== h2) {
    canvas.width = w;
    canvas.height = h2;
    canvas.style.width = `${width}px`;
    canvas.style.height = `${height}px`;
  }
  const context = canvas.getContext("2d", { alpha: true }) as CanvasRenderingContext2D;
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  return context;
}
