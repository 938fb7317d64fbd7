// A table that can be sorted by its columns.

import { h } from "./dom";

export interface Column<T> {
  title: string;
  text: (row: T) => string;
  sort: (row: T) => number | string;
  right?: boolean;
  hint?: string;
}

export function table<T>(columns: Column<T>[], all: T[], by: number, chosen: (row: T) => void, label: string): HTMLTableElement {
  const body = h("tbody");
  let rows = all;
  let sorted = by;
  let down = true;
  const heads = columns.map((column, i) =>
    h("th", { scope: "col", class: column.right ? "right" : "", title: column.hint ?? "" }, h("button", { onclick: () => order(i) }, column.title)),
  );
  const fill = () => {
    body.replaceChildren(
      ...rows.map((row) =>
        h(
          "tr",
          {
            tabindex: 0,
            onclick: () => chosen(row),
            onkeydown: (event: KeyboardEvent) => {
              if (event.key === "Enter") chosen(row);
            },
          },
          ...columns.map((column) => h("td", { class: column.right ? "right" : "", title: column.text(row) }, column.text(row))),
        ),
      ),
    );
    for (const [i, head] of heads.entries()) head.setAttribute("aria-sort", i === sorted ? (down ? "descending" : "ascending") : "none");
  };
  const order = (column: number) => {
    down = column === sorted ? !down : Boolean(columns[column].right);
    sorted = column;
    const key = columns[column].sort;
    rows = [...rows].sort((a, b) => {
      const x = key(a);
      const y = key(b);
      const less = x < y ? -1 : x > y ? 1 : 0;
      return down ? -less : less;
    });
    fill();
  };
  fill();
  return h("table", { "aria-label": label }, h("thead", {}, h("tr", {}, ...heads)), body);
}
