"""What is kept of `events()` when they are pickled: the calls themselves, without the capture.

So they can be read in any process, whether the recording is still there or not.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from kymograph.profiler._averages import FunctionEventAvg, Merged, in_order
from kymograph.profiler._events import Entry, Grouping, Options
from kymograph.profiler._names import NAME, OPERATOR, display, is_marked, key_of, trim
from kymograph.profiler._table import Rows

if TYPE_CHECKING:
    from kymograph import _core
    from kymograph.profiler._events import Part
    from kymograph.profiler._results import Results


class KeptTimeline:
    """The calls of a part, and what is known about its operators: as `_core.Timeline` has them."""

    def __init__(self, timeline: _core.Timeline | KeptTimeline) -> None:
        # Names of files are shown relative to where modules are in this process.
        entries = [timeline[number] for number in range(len(timeline))]
        callees = {entry[0]: entry[0] for entry in entries}
        for callee in callees:
            name, file, line, kind = callee
            callees[callee] = (name, trim(file), line, kind)
        self._entries: list[Entry] = [(callees[entry[0]], *entry[1:13]) for entry in entries]
        self._operators = {
            number: timeline.operator(number)
            for number, entry in enumerate(self._entries)
            if entry[0][3] == OPERATOR
        }
        self.is_cut: bool = timeline.is_cut

    def __len__(self) -> int:
        return len(self._entries)

    def __getitem__(self, number: int) -> Entry:
        return self._entries[number]

    def operator(self, number: int) -> dict[str, Any] | None:
        return self._operators.get(number)


class KeptResults:
    """What an unpickled list of events asks instead of `Results`: the events that it has."""

    def __init__(self, results: Results | KeptResults, parts: Sequence[Part]) -> None:
        self.options: Options = results.options
        self.with_stack: bool = results.with_stack
        self._parts = list(parts)
        # Without any call, the rows are those of the samples.
        self._sampled = None if any(part.calls for part in parts) else results.key_averages()

    def key_averages(
        self, stack: int = 0, functions: bool | None = None, grouping: Grouping | None = None
    ) -> Rows:
        if self._sampled is not None and functions is None:
            return self._sampled
        include = self.with_stack if functions is None else functions
        return _rows_of(self._parts, stack, include, grouping or Grouping(), self.options)

    def export_chrome_trace(self, path: object, metadata: object) -> None:
        raise RuntimeError("events that were pickled cannot be exported; export them before")

    def export_stacks(self, path: object, metric: str) -> None:
        raise RuntimeError("events that were pickled cannot be exported; export them before")


def _rows_of(
    parts: Sequence[Part], stack: int, functions: bool, grouping: Grouping, options: Options
) -> Rows:
    """Return the averages over `parts`, as `_averages.rows_of` does for recordings."""
    merged: Merged = {}
    for part in parts:
        _add_calls(merged, part, stack, functions, grouping)
        for number, block in enumerate(part.usages.outside if part.usages else ()):
            row = merged.setdefault((block.name, False), FunctionEventAvg(block.name))
            row.count += 1
            row.add_memory(part, -1 - number)
    return in_order(merged, grouping, options)


def _callers(part: Part, number: int, functions: bool) -> list[int]:
    """Return the calls around a call, the nearest first."""
    found = []
    while (number := part.timeline[number][4]) >= 0:
        if functions or is_marked(part.timeline[number][0]):
            found.append(number)
    return found


def _row_for(
    merged: Merged, part: Part, number: int, stack: Sequence[str], grouping: Grouping
) -> FunctionEventAvg:
    """Return the row of a call, made if there is none yet."""
    callee = part.timeline[number][0]
    op = part.operator(number)
    shapes: Any = op.shapes if op and grouping.shapes else ""
    overload = op.overload if op and grouping.overloads else ""
    key: tuple[Any, ...] = (key_of(callee), part.is_annotation(number))
    row = merged.get(key := (*key, str(shapes), overload, *stack))
    if row is None:
        row = merged[key] = FunctionEventAvg(key[0], stack)
        row.is_user_annotation = key[1]
        row.is_python_function = not is_marked(callee)
        row.input_shapes, row.overload_name = shapes, overload
        row.scope = op.scope if op else 0
        row.is_async = op.is_async if op else False
    return row


def _add_calls(merged: Merged, part: Part, stack: int, functions: bool, grouping: Grouping) -> None:
    rows: dict[int, FunctionEventAvg] = {}  # by number of the call
    for number in part.calls:
        callee, start, end, self_ns, *_ = part.timeline[number]
        around = _callers(part, number, functions)
        if not functions and not is_marked(callee):
            # Its own time counts for the annotation or operator around it.
            if around and around[0] in rows:
                rows[around[0]].self_cpu_time_total += self_ns / 1000
            continue
        shown = [display(part.timeline[each][0]) for each in around]
        row = _row_for(merged, part, number, shown if stack < 0 else shown[:stack], grouping)
        rows[number] = row
        # In a call of itself, the time is counted once.
        inside = any(rows.get(each) is row for each in around)
        if not inside:
            row.cpu_time_total += (end - start) / 1000
        row.add_memory(part, number, total=not inside)
        row.count += 1
        row.self_cpu_time_total += self_ns / 1000
        op = part.operator(number) if part.options.flops else None
        row.flops += op.flops if op else 0
        outer = {OPERATOR} if callee[3] == OPERATOR else {OPERATOR, NAME}
        row.outermost |= not any(part.timeline[each][0][3] in outer for each in around)
