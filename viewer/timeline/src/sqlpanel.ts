// A box for SQL, and its rows, which lead to their calls.

import type { App } from "./app";
import { h } from "./dom";
import { grouped } from "./format";
import { table, type Column } from "./table";
import type { Place, Row } from "./types";

const EXAMPLE = "SELECT id, name, dur_ns, start_ns, thread, depth FROM slices ORDER BY dur_ns DESC LIMIT 20";

export class SqlPanel {
  private box = h("textarea", { id: "sql", rows: 3, spellcheck: "false", "aria-label": "SQL", placeholder: EXAMPLE });
  private result = h("div", { class: "sql-result" });
  private asked = 0;
  readonly elements: HTMLElement[];

  constructor(
    private app: App,
    private go: (place: Place, length: number) => void,
  ) {
    this.box.value = EXAMPLE;
    this.box.addEventListener("keydown", (event) => {
      if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) void this.run();
      event.stopPropagation();
    });
    this.elements = [h("div", { class: "sql" }, this.box, h("button", { onclick: () => void this.run() }, "Run (Ctrl-Enter)")), this.result];
  }

  private async run(): Promise<void> {
    const asked = ++this.asked;
    this.result.replaceChildren(h("p", { class: "hint" }, "Running…"));
    try {
      const rows = await this.app.source.query(0, this.box.value);
      if (asked === this.asked) this.show(rows);
    } catch (error) {
      this.result.replaceChildren(h("p", { class: "problem" }, (error as Error).message));
    }
  }

  private show(rows: Row[]): void {
    const most = 2000;
    const keys = Object.keys(rows[0] ?? {});
    const leads = keys.includes("start_ns") && keys.includes("thread") && keys.includes("depth");
    const columns = keys.map<Column<Row>>((key) => ({
      title: key,
      right: typeof rows[0][key] === "number",
      text: (row) => (row[key] === null ? "–" : String(row[key])),
      sort: (row) => row[key] ?? "",
    }));
    const words = rows.length === 0 ? "No rows." : `${grouped(rows.length)} rows${rows.length > most ? `, the first ${most} shown` : ""}.`;
    const hint = leads ? " Click a row to go to its call." : " Select start_ns, thread and depth of slices, and rows lead to their calls.";
    const goTo = (row: Row) => {
      if (!leads) return;
      const place = { capture: 0, thread: Number(row.thread), start: Number(row.start_ns), depth: Number(row.depth) };
      this.go(place, Number(row.dur_ns ?? 0));
    };
    this.result.replaceChildren(
      h("p", { class: "hint" }, words + (rows.length ? hint : "")),
      rows.length ? table(columns, rows.slice(0, most), -1, goTo, "Rows") : "",
    );
  }
}
