// The memory of a range, as a table.

import type { App } from "./app";
import { h } from "./dom";
import { moment } from "./format";
import { bytes, TITLES, type Memory, type MemorySeries } from "./memory";
import { table, type Column } from "./table";

/** The rows of MEMORY; a click on one goes to its most. */
export function memoryTable(memory: Memory, go: (time: number) => void): HTMLElement {
  const signed = (value: number) => (value > 0 ? "+" : "") + bytes(value);
  const column = (title: string, hint: string, value: (row: MemorySeries) => number, text = bytes): Column<MemorySeries> => ({
    title,
    hint,
    right: true,
    text: (row) => text(value(row)),
    sort: value,
  });
  const columns: Column<MemorySeries>[] = [
    { title: "Memory", text: (row) => TITLES[row.name] ?? row.name, sort: (row) => row.series },
    column("At the start", "before the first change in the range", (row) => row.start),
    column("At the end", "after the last change in the range", (row) => row.end),
    column("Change", "from the start to the end", (row) => row.end - row.start, signed),
    column("Least", "in the range", (row) => row.least),
    column("Most", "in the range", (row) => row.most),
    { title: "Most at", right: true, hint: "click to go there", text: (row) => moment(row.most_at, 1000), sort: (row) => row.most_at },
  ];
  return table(columns, memory.series ?? [], -1, (row) => go(row.most_at), "Memory in the range");
}

/** Ask for the memory of what is in sight or selected, and show it. */
export async function showMemory(app: App, capture: number, from: number, to: number, head: HTMLElement): Promise<Node[]> {
  const memory = await app.source.memory(capture, { from, to });
  const shift = app.offset[capture];
  const about = memory.mode === "sampled" ? "Estimated from a sample of the allocations. " : "";
  const go = (time: number) => {
    const half = (app.view.to - app.view.from) / 2;
    app.view.glide(time + shift - half, time + shift + half);
    app.emit("draw");
  };
  return [head, h("p", { class: "hint" }, `${about}Bytes that are alive; resident memory is measured now and then.`), memoryTable(memory, go)];
}
