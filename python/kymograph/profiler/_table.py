"""The table of `key_averages().table()`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from kymograph.profiler._times import flops_unit, format_bytes, format_share, format_time

if TYPE_CHECKING:
    from kymograph.profiler._averages import FunctionEventAvg

_GAP = "  "
_WIDTH = 12

# Other names for the fields that rows may be sorted by.
_ALIASES = {"self_cpu_time": "self_cpu_time_total", "name": "key"}


def _cut(text: str, most: int | None) -> str:
    return text if most is None or len(text) <= most else text[: most - 3] + "..."


def _cut_front(text: str, most: int | None) -> str:
    """Keep the end of a path: it says more than the start."""
    return text if most is None or len(text) <= most else "..." + text[len(text) - most + 3 :]


def _name(row: Any, most: int | None) -> str:
    """Return the name of a row; cut functions at the start, since they end in their name."""
    cut = _cut_front if getattr(row, "is_python_function", False) else _cut
    return cut(row.key, most)


def _sorted(rows: Sequence[Any], sort_by: str | None) -> list[Any]:
    if sort_by is None:
        return list(rows)
    field = _ALIASES.get(sort_by, sort_by)
    if rows and not isinstance(getattr(rows[0], field, None), (int, float, str)):
        raise AttributeError(
            f"a table cannot be sorted by {sort_by!r}; use cpu_time_total, self_cpu_time_total, "
            "cpu_time, cpu_memory_usage, self_cpu_memory_usage or count"
        )
    # Largest first; names in alphabetical order.
    return sorted(rows, key=lambda row: getattr(row, field), reverse=field != "key")


class Column:
    """A heading, its width, and the cells below it."""

    def __init__(self, title: str, text: Callable[[Any], str], width: int = _WIDTH) -> None:
        self.title, self.text, self.width = title, text, max(width, len(title))

    def cell(self, text: str) -> str:
        return f"{text:>{self.width}}"


def table(
    rows: Sequence[Any],
    *,
    sort_by: str | None = None,
    row_limit: int = 100,
    max_src_column_width: int | None = 75,
    max_name_column_width: int | None = 55,
    max_shapes_column_width: int | None = 80,
    header: str | None = None,
    top_level_events_only: bool = False,
    time_unit: str | None = None,
    memory: bool = False,
) -> str:
    """`rows`, of averages or events, as text."""
    if not rows:
        return ""
    if time_unit is not None:
        format_time(0, time_unit)
    whole = sum(row.self_cpu_time_total for row in rows)
    shown = _sorted(rows, sort_by)
    if top_level_events_only:
        shown = [row for row in shown if row.outermost]
    more = 0 <= row_limit < len(shown)
    shown = shown[:row_limit] if row_limit >= 0 else shown

    for row in shown:
        row.self_cpu_percent = format_share(row.self_cpu_time_total, whole)
        row.total_cpu_percent = format_share(row.cpu_time_total, whole)
    names = [_name(row, max_name_column_width) for row in shown]
    columns = [
        Column(
            "Name",
            lambda row: _name(row, max_name_column_width),
            max((len(name) for name in names), default=0) + 4,
        ),
        Column("Self CPU %", lambda row: str(row.self_cpu_percent)),
        Column("Self CPU", lambda row: format_time(row.self_cpu_time_total, time_unit)),
        Column("CPU total %", lambda row: str(row.total_cpu_percent)),
        Column("CPU total", lambda row: format_time(row.cpu_time_total, time_unit)),
        Column("CPU time avg", lambda row: format_time(row.cpu_time, time_unit)),
    ]
    if memory:
        columns += [
            Column("CPU Mem", lambda row: format_bytes(row.cpu_memory_usage)),
            Column("Self CPU Mem", lambda row: format_bytes(row.self_cpu_memory_usage)),
        ]
    if memory and any(row.self_device_memory_usage > 0 for row in rows):
        columns += [
            Column("Device Mem", lambda row: format_bytes(row.device_memory_usage)),
            Column("Self Device Mem", lambda row: format_bytes(row.self_device_memory_usage)),
        ]
    columns.append(Column("# of Calls", lambda row: str(row.count)))
    if any(row.overload_name for row in shown):
        columns.insert(1, Column("Overload Name", lambda row: _cut(row.overload_name, 55)))
    shapes = [_cut(str(row.input_shapes or ""), max_shapes_column_width) for row in shown]
    if any(shapes):
        columns.append(
            Column(
                "Input Shapes",
                lambda row: _cut(str(row.input_shapes or "[]"), max_shapes_column_width),
                max(len(shape) for shape in shapes) + 4,
            )
        )
    counted = [row.flops for row in rows if row.flops > 0]
    if counted:
        scale, unit = flops_unit(min(counted))
        columns.append(
            Column(f"Total {unit}", lambda row: f"{row.flops / scale:.3f}" if row.flops else "--")
        )
    places = max(
        (len(_cut_front(s, max_src_column_width)) for r in shown for s in r.stack), default=0
    )
    if places:
        columns.append(Column("Source Location", lambda row: "", places))

    line = _GAP.join("-" * column.width for column in columns) + _GAP
    out = []
    if header is not None:
        out += ["=" * len(line), header]
    if top_level_events_only:
        out += ["=" * len(line), "This report only display top-level ops statistics"]
    out += [line, _GAP.join(column.cell(column.title) for column in columns) + _GAP, line]
    for row in shown:
        cells = [column.cell(column.text(row)) for column in columns]
        if places:
            sources = [_cut_front(source, max_src_column_width) for source in row.stack] or [""]
            cells[-1] = columns[-1].cell(sources[0])
            out.append(_GAP.join(cells) + _GAP)
            blank = [column.cell("") for column in columns[:-1]]
            for source in sources[1:]:
                out.append(_GAP.join([*blank, columns[-1].cell(source)]) + _GAP)
        else:
            out.append(_GAP.join(cells) + _GAP)
    out.append(line)
    out.append(f"Self CPU time total: {format_time(whole, time_unit)}")
    if more:
        hidden = len(rows) - len(shown)
        what = "row" if hidden == 1 else "rows"
        out.append(f"({hidden} more {what}; row_limit=-1 shows all)")
    return "\n".join(out) + "\n"


class Rows(list["FunctionEventAvg"]):
    """The rows of `key_averages`: a list with a table."""

    memory = False  # the table has columns for it

    def table(
        self,
        sort_by: str | None = None,
        row_limit: int = 100,
        max_src_column_width: int | None = 75,
        max_name_column_width: int | None = 55,
        max_shapes_column_width: int | None = 80,
        header: str | None = None,
        top_level_events_only: bool = False,
        time_unit: str | None = None,
    ) -> str:
        """The rows as a table.

        sort_by: a field such as "cpu_time_total", "self_cpu_time_total", "cpu_time" or
            "count", the largest first. None keeps their order.
        row_limit: how many rows at most; -1 for all.
        time_unit: "s", "ms" or "us" for every time; each its own when None.
        """
        return table(
            self,
            sort_by=sort_by,
            row_limit=row_limit,
            max_src_column_width=max_src_column_width,
            max_name_column_width=max_name_column_width,
            max_shapes_column_width=max_shapes_column_width,
            header=header,
            top_level_events_only=top_level_events_only,
            time_unit=time_unit,
            memory=self.memory,
        )

    def __str__(self) -> str:
        return self.table()

    @property
    def self_cpu_time_total(self) -> float:
        """Microseconds spent in all of them."""
        return sum(row.self_cpu_time_total for row in self)

    def total_average(self) -> FunctionEventAvg:
        """All rows added up."""
        from kymograph.profiler._averages import FunctionEventAvg

        total = FunctionEventAvg()
        for row in self:
            total.add(row)
        return total
