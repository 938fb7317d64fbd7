"""`events()`: every recorded call as an object, made when it is looked at."""

from __future__ import annotations

import os
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple, overload

from kymograph import _core
from kymograph.profiler._names import display, is_annotation
from kymograph.profiler._table import Rows, table
from kymograph.profiler._times import Times

if TYPE_CHECKING:
    from kymograph.profiler._averages import FunctionEventAvg
    from kymograph.profiler._recording import Recording
    from kymograph.profiler._results import Results


class Interval(NamedTuple):
    """Microseconds after the beginning of the trace."""

    start: float
    end: float

    def elapsed_us(self) -> float:
        return self.end - self.start


class FunctionEvent(Times):
    """One call of a function, or one pass through an annotation."""

    __slots__ = ("_part", "id")

    count = 1
    kernels: tuple[()] = ()
    input_shapes: tuple[()] = ()
    concrete_inputs: tuple[()] = ()
    kwinputs: dict[str, object] = {}  # noqa: RUF012
    sequence_nr = -1
    device_index = 0
    fwd_thread: int | None = None

    def __init__(self, part: Part, number: int) -> None:
        self._part = part
        self.id = number

    @property
    def name(self) -> str:
        return display(self._part.timeline[self.id][0])

    @property
    def key(self) -> str:
        return self.name

    @property
    def trace_name(self) -> str:
        return self.name

    @property
    def time_range(self) -> Interval:
        _, start, end, *_ = self._part.timeline[self.id]
        first = self._part.first
        return Interval((start - first) / 1000, (end - first) / 1000)

    @property
    def cpu_time_total(self) -> float:  # type: ignore[override]
        _, start, end, *_ = self._part.timeline[self.id]
        return (end - start) / 1000

    @property
    def self_cpu_time_total(self) -> float:  # type: ignore[override]
        return self._part.timeline[self.id][3] / 1000

    @property
    def thread(self) -> int:
        """The system's id of the thread."""
        return self._part.tids[self._part.timeline[self.id][5]]

    @property
    def is_user_annotation(self) -> bool:
        return is_annotation(self._part.timeline[self.id][0])

    @property
    def is_python_function(self) -> bool:
        return not self.is_user_annotation

    @property
    def activity_type(self) -> str:
        return "user_annotation" if self.is_user_annotation else "python_function"

    @property
    def finished(self) -> bool:
        """False when it had not ended by the end of the recording."""
        return not self._part.timeline[self.id][9] & 2

    @property
    def cpu_parent(self) -> FunctionEvent | None:
        parent = self._part.timeline[self.id][4]
        return None if parent < 0 else FunctionEvent(self._part, parent)

    @property
    def cpu_children(self) -> list[FunctionEvent]:
        return [FunctionEvent(self._part, child) for child in self._part.children(self.id)]

    @property
    def stack(self) -> list[str]:
        """The functions it was called by, the nearest first."""
        callers = []
        at = self._part.timeline[self.id][4]
        while at >= 0:
            callee, _, _, _, above, *_ = self._part.timeline[at]
            if not is_annotation(callee):
                callers.append(display(callee))
            at = above
        return callers

    @property
    def outermost(self) -> bool:
        """Is it outside every annotation?"""
        at = self._part.timeline[self.id][4]
        while at >= 0:
            callee, _, _, _, above, *_ = self._part.timeline[at]
            if is_annotation(callee):
                return False
            at = above
        return True

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, FunctionEvent):
            return NotImplemented
        return self._part is other._part and self.id == other.id

    def __hash__(self) -> int:
        return hash((id(self._part), self.id))

    def __repr__(self) -> str:
        return (
            f"<FunctionEvent id={self.id} name={self.name} thread={self.thread} "
            f"cpu_time={self.cpu_time_str} cpu_start_us={self.time_range.start:.3f}>"
        )


class Part:
    """The calls of one recording."""

    def __init__(self, recording: Recording, functions: bool) -> None:
        capture = recording.capture
        self.timeline = _core.timeline(capture, recording.start, recording.end, functions)
        self.first = recording.first
        self.tids = [thread.tid for thread in capture.threads]
        self._children: dict[int, list[int]] | None = None

    def children(self, number: int) -> list[int]:
        if self._children is None:
            self._children = {}
            for i in range(len(self.timeline)):
                self._children.setdefault(self.timeline[i][4], []).append(i)
        return self._children.get(number, [])


class EventList(Sequence[FunctionEvent]):
    """Every recorded call, in the order in which they began."""

    def __init__(self, results: Results, parts: list[Part]) -> None:
        self._results = results
        self._parts = parts
        self._starts = [0]
        for part in parts:
            self._starts.append(self._starts[-1] + len(part.timeline))

    def __len__(self) -> int:
        return self._starts[-1]

    @overload
    def __getitem__(self, index: int) -> FunctionEvent: ...
    @overload
    def __getitem__(self, index: slice) -> list[FunctionEvent]: ...

    def __getitem__(self, index: int | slice) -> FunctionEvent | list[FunctionEvent]:
        if isinstance(index, slice):
            return [self[i] for i in range(*index.indices(len(self)))]
        number = index + len(self) if index < 0 else index
        if not 0 <= number < len(self):
            raise IndexError(f"there is no event {index}")
        at = bisect_right(self._starts, number) - 1
        return FunctionEvent(self._parts[at], number - self._starts[at])

    def __iter__(self) -> Iterator[FunctionEvent]:
        for part in self._parts:
            for number in range(len(part.timeline)):
                yield FunctionEvent(part, number)

    def __repr__(self) -> str:
        return f"<EventList of {len(self)} events>"

    def __str__(self) -> str:
        return self.table()

    def key_averages(
        self,
        group_by_input_shapes: bool = False,
        group_by_stack_n: int = 0,
        group_by_overload_name: bool = False,
        include_python_functions: bool | None = None,
    ) -> Rows:
        """As `profile.key_averages`."""
        return self._results.key_averages(group_by_stack_n, include_python_functions)

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
        """One row for each event; see `key_averages().table`."""
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
        )

    @property
    def self_cpu_time_total(self) -> float:
        """Microseconds spent in all of them."""
        return sum(event.self_cpu_time_total for event in self)

    def total_average(self) -> FunctionEventAvg:
        """All events added up."""
        return self._results.key_averages(0, True).total_average()

    def export_chrome_trace(self, path: str | os.PathLike[str]) -> None:
        """As `profile.export_chrome_trace`."""
        self._results.export_chrome_trace(path, {})

    def export_stacks(self, path: str | os.PathLike[str], metric: str) -> None:
        """As `profile.export_stacks`."""
        self._results.export_stacks(path, metric)
