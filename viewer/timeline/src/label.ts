// Text in boxes: cut to what fits, measured once for each text.

const widths = new Map<string, number>();

/** As much of TEXT as fits in WIDTH with the font of CONTEXT; "" if that is hardly anything. */
export function fitted(context: CanvasRenderingContext2D, text: string, width: number): string {
  let all = widths.get(text);
  if (all === undefined) {
    if (widths.size > 20000) widths.clear();
    all = context.measureText(text).width;
    widths.set(text, all);
  }
  if (all <= width) return text;
  const count = Math.floor(((width - 9) / all) * text.length);
  return count < 2 ? "" : `${text.slice(0, count)}…`;
}
