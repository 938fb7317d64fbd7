// table.js — the functions of the part in view as a table. Rows are made as they are wanted.

const STEP = 250;
const COLUMNS = [
  { key: "self", title: "Self" },
  { key: "share", title: "Self %" },
  { key: "total", title: "Total" },
  { key: "calls", title: "Calls" },
  { key: "mean", title: "Total per call" },
  { key: "name", title: "Function", text: true },
  { key: "place", title: "Where", text: true },
];

class Table {
  constructor(model, heads, rows, more, choose) {
    Object.assign(this, { model, heads, rows, more, choose });
    this.sort = "self";
    this.down = true;
    this.limit = STEP;
    for (const column of COLUMNS) {
      const head = document.createElement("th"), button = document.createElement("button");
      head.scope = "col";
      if (column.text) head.className = "text";
      button.textContent = column.title;
      button.addEventListener("click", () => this.sortBy(column));
      head.append(button);
      heads.append(head);
    }
    more.addEventListener("click", () => {
      this.limit *= 4;
      this.show();
    });
  }

  sortBy(column) {
    this.down = this.sort === column.key ? !this.down : !column.text;
    this.sort = column.key;
    this.show();
  }

  // Show the functions below NODE, of those FOUND when that is not null.
  fill(node, found) {
    this.node = node;
    this.costs = costsBelow(this.model, node).filter((cost) => (!found || found[cost.fn]) && cost.calls + cost.resumes);
    this.limit = STEP;
    this.show();
  }

  show() {
    const { functions } = this.model.data, whole = this.model.total[this.node];
    const figure = {
      self: (cost) => cost.self, share: (cost) => cost.self, total: (cost) => cost.total,
      calls: (cost) => cost.calls, mean: (cost) => cost.total / (cost.calls || 1),
      name: (cost) => functions[cost.fn].name, place: (cost) => functions[cost.fn].place,
    }[this.sort];
    const sign = this.down ? -1 : 1;
    this.costs.sort((a, b) => {
      const x = figure(a), y = figure(b);
      return (x < y ? -sign : x > y ? sign : 0) || a.fn - b.fn;
    });
    [...this.heads.children].forEach((head, i) => {
      if (COLUMNS[i].key === this.sort) head.setAttribute("aria-sort", this.down ? "descending" : "ascending");
      else head.removeAttribute("aria-sort");
    });
    const most = this.costs.reduce((m, cost) => Math.max(m, cost.self), 1);
    this.rows.replaceChildren(...this.costs.slice(0, this.limit).map((cost) => this.row(cost, whole, most)));
    const left = this.costs.length - this.limit;
    this.more.hidden = left <= 0;
    this.more.textContent = `${formatCount(Math.max(left, 0))} more`;
  }

  row(cost, whole, most) {
    const f = this.model.data.functions[cost.fn], row = document.createElement("tr");
    const cell = (text, kind) => {
      const td = document.createElement("td");
      if (kind) td.className = kind;
      td.append(text);
      row.append(td);
      return td;
    };
    cell(formatTime(cost.self));
    const share = cell("", "share"), bar = document.createElement("i"), number = document.createElement("b");
    bar.style.width = 94 * cost.self / most + "%";
    number.textContent = formatShare(cost.self, whole);
    share.append(bar, number);
    cell(formatTime(cost.total));
    cell(formatCount(cost.calls)).title = cost.resumes ? `and resumed ${formatCount(cost.resumes)} times` : "";
    cell(cost.calls ? formatTime(Math.round(cost.total / cost.calls)) : "");
    const swatch = document.createElement("span"), button = document.createElement("button");
    swatch.className = "swatch";
    swatch.style.background = this.colours.of[cost.fn];
    button.append(swatch, f.name.slice(0, 400));
    button.title = "Show it in the flame graph";
    button.addEventListener("click", () => this.choose(cost.fn));
    cell(button, "text name");
    const place = document.createElement("bdi");
    place.textContent = f.place;
    cell(place, "text where").title = f.place.slice(0, 400);
    return row;
  }
}
