// table.js — functions as a table. Rows are made as they are wanted.
//
// A column has a title, figure(row) to sort by, show(row, table), which returns what its cell
// holds, and perhaps text: true, kind, the cell's class, hint(row), and first: true for the one
// that rows are sorted by at first.

const STEP = 250;

// A name that leads to the function where it is drawn, and where it is written.
const nameColumns = (functions) => [
  {
    title: "Function", text: true, kind: "name", figure: (row) => functions[row.fn].name,
    show: (row, table) => {
      const swatch = document.createElement("span"), button = document.createElement("button");
      swatch.className = "swatch";
      swatch.style.background = table.colours.ofFunction(row.fn);
      button.append(swatch, functions[row.fn].name.slice(0, 400));
      button.title = "Show it in the flame graph";
      button.addEventListener("click", () => table.choose(row.fn));
      return [button];
    },
  },
  {
    title: "Where", text: true, kind: "where", figure: (row) => functions[row.fn].place,
    hint: (row) => functions[row.fn].place.slice(0, 400),
    show: (row) => {
      const place = document.createElement("bdi");
      place.textContent = functions[row.fn].place;
      return [place];
    },
  },
];

// TEXT before a bar, PART of the widest one's length.
function withBar(text, part, kind) {
  const bar = document.createElement("i"), number = document.createElement("b");
  bar.className = kind || "";
  bar.style.width = 94 * part + "%";
  number.textContent = text;
  return [bar, number];
}

class Table {
  constructor(columns, heads, rows, more, choose) {
    Object.assign(this, { columns, heads, rows, more, choose });
    this.sort = columns.find((column) => column.first) || null; // null: the order in which rows are given
    this.down = true;
    this.limit = STEP;
    heads.closest("table").classList.toggle("wide", columns.length > 9);
    for (const column of columns) {
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
    this.down = this.sort === column ? !this.down : !column.text;
    this.sort = column;
    this.show();
  }

  // Show COSTS: objects with a function's number, fn, and whatever the columns want.
  fill(costs) {
    this.costs = costs;
    this.limit = STEP;
    this.show();
  }

  show() {
    if (this.sort) {
      const { figure } = this.sort, sign = this.down ? -1 : 1;
      this.costs.sort((a, b) => {
        const x = figure(a), y = figure(b);
        return (x < y ? -sign : x > y ? sign : 0) || a.fn - b.fn;
      });
    }
    [...this.heads.children].forEach((head, i) => {
      if (this.columns[i] === this.sort) head.setAttribute("aria-sort", this.down ? "descending" : "ascending");
      else head.removeAttribute("aria-sort");
    });
    this.rows.replaceChildren(...this.costs.slice(0, this.limit).map((cost) => this.row(cost)));
    const left = this.costs.length - this.limit;
    this.more.hidden = left <= 0;
    this.more.textContent = `${formatCount(Math.max(left, 0))} more`;
  }

  row(cost) {
    const row = document.createElement("tr");
    for (const column of this.columns) {
      const td = document.createElement("td");
      td.className = [column.text ? "text" : "", column.kind || ""].join(" ").trim();
      td.append(...[column.show(cost, this)].flat());
      if (column.hint) td.title = column.hint(cost);
      row.append(td);
    }
    return row;
  }
}
