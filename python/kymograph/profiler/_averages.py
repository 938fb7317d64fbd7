"""Rows of `key_averages`: calls grouped and summed by the library."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import kymograph
from kymograph import _core
from kymograph.profiler._deadline import Deadline
from kymograph.profiler._events import Grouping, Options, Part, has_operators
from kymograph.profiler._names import FUNCTION, NAME, OPERATOR, Callee, display, is_marked, key_of
from kymograph.profiler._table import Rows
from kymograph.profiler._times import Times

if TYPE_CHECKING:
    from kymograph.profiler._recording import Recording

# Callee, callers, calls, resumes, own and total nanoseconds, and whether it is outside all
# annotations.
Average = tuple[Callee, list[Callee], int, int, int, int, bool]

# Group by all callers of a call.
ALL_CALLERS = -1


class FunctionEventAvg(Times):
    """All calls of one function or annotation. Times are in microseconds."""

    cpu_parent: FunctionEventAvg | None = None
    cpu_children: Sequence[FunctionEventAvg] = ()
    input_shapes: Any = ""
    overload_name: str = ""
    scope: int = 0

    def __init__(self, key: str = "Total", stack: Iterable[str] = ()) -> None:
        self.key = key
        self.stack = list(stack)
        self.count = 0
        self.cpu_time_total = 0.0
        self.self_cpu_time_total = 0.0
        self.is_user_annotation = False
        self.is_python_function = False
        self.outermost = False

    @property
    def name(self) -> str:
        return self.key

    def add(self, other: Times) -> None:
        """Add `other`, a row or an event."""
        self.count += other.count
        self.cpu_time_total += other.cpu_time_total
        self.self_cpu_time_total += other.self_cpu_time_total
        self.flops += other.flops
        self.cpu_memory_usage += other.cpu_memory_usage
        self.self_cpu_memory_usage += other.self_cpu_memory_usage
        self.device_memory_usage += other.device_memory_usage
        self.self_device_memory_usage += other.self_device_memory_usage
        self.outermost |= getattr(other, "outermost", False)

    def add_memory(self, part: Part, number: int, total: bool = True) -> None:
        """Add what call `number` allocated; its `total` only outside other calls of this row."""
        if part.usages is None:
            return
        usage = part.own_usage(number)
        self.self_cpu_memory_usage += usage.cpu
        self.self_device_memory_usage += usage.device
        if total:
            usage = part.usage(number)
            self.cpu_memory_usage += usage.cpu
            self.device_memory_usage += usage.device

    def __iadd__(self, other: Times) -> FunctionEventAvg:
        self.add(other)
        return self

    def __repr__(self) -> str:
        return (
            f"<FunctionEventAvg key={self.key} self_cpu_time={self.self_cpu_time_total_str} "
            f"cpu_time={self.cpu_time_str} count={self.count}>"
        )


# Shares of the time that is left: for functions and annotations, which the library adds up, with
# and without operators after them; and to read operators and memory, before they are added up.
_FOR_FUNCTIONS, _FOR_FUNCTIONS_ALONE, _FOR_CALLS, _FOR_MEMORY_TOO = 0.25, 0.75, 0.5, 0.75

Merged = dict[tuple[Any, ...], FunctionEventAvg]


def _add_operators(
    merged: Merged, part: Part, stack: int, grouping: Grouping, deadline: Deadline
) -> None:
    """Add the operators of `part` to the rows in `merged`, as many as there is time for."""
    timeline = part.timeline
    open_now: dict[int, list[tuple[int, FunctionEventAvg]]] = {}
    for number in deadline.within(part.calls):
        callee, start, end, self_ns, parent, thread, *_ = timeline[number]
        if callee[3] != OPERATOR:
            continue
        key: tuple[Any, ...] = (key_of(callee), part.is_annotation(number))
        op = None
        if grouping.shapes or grouping.overloads or part.options.flops:
            op = part.operator(number)
        shapes = op.shapes if op and grouping.shapes else ""
        overload = op.overload if op and grouping.overloads else ""
        callers: list[str] = []
        while parent >= 0 and (stack < 0 or len(callers) < stack):
            callers.append(display(timeline[parent][0]))
            parent = timeline[parent][4]
        row = merged.get(key := (*key, str(shapes), overload, *callers))
        if row is None:
            row = merged[key] = FunctionEventAvg(key[0], callers)
            row.is_user_annotation = key[1]
            row.input_shapes, row.overload_name = shapes, overload
            known = op or part.operator(number)
            row.scope = known.scope if known else 0
            row.is_async = known.is_async if known else False
        # In an operator that calls itself, the time is counted once.
        around = open_now.setdefault(thread, [])
        while around and around[-1][0] <= start:
            around.pop()
        inside = any(each is row for _, each in around)
        if not inside:
            row.cpu_time_total += (end - start) / 1000
        row.add_memory(part, number, total=not inside)
        row.count += 1
        row.self_cpu_time_total += self_ns / 1000
        row.flops += op.flops if op and part.options.flops else 0
        row.outermost |= not around
        around.append((end, row))


def _add_memory(merged: Merged, part: Part, stack: int) -> None:
    """Add the memory of functions and annotations to their rows, and that outside all calls."""
    assert part.usages is not None
    for number in part.usages.total:
        callee, _, _, _, parent, *_ = part.timeline[number]
        if callee[3] == OPERATOR:
            continue
        callers: list[str] = []
        inside = False
        while parent >= 0:
            above = part.timeline[parent][0]
            inside = inside or above == callee
            if stack < 0 or len(callers) < stack:
                callers.append(display(above))
            parent = part.timeline[parent][4]
        row = merged.get((key_of(callee), callee[3] == NAME, *callers))
        if row is not None:
            row.add_memory(part, number, total=not inside)
    for i, block in enumerate(part.usages.outside):
        row = merged.setdefault((block.name, False), FunctionEventAvg(block.name))
        row.count += 1
        row.add_memory(part, -1 - i)


def averages_of(
    recording: Recording, stack: int, functions: bool, deadline: Deadline
) -> list[Average]:
    """Return the totals of the functions, annotations and operators of `recording`."""
    found, cut = _core.averages(
        recording.capture, recording.start, recording.end, stack, functions, deadline.until
    )
    if cut:
        deadline.miss()
    return found


def in_order(merged: Merged, grouping: Grouping, options: Options) -> Rows:
    """Return the rows of `merged`, the largest self time first."""
    if grouping.shapes:
        for row in merged.values():
            row.input_shapes = row.input_shapes or []
    rows = Rows(sorted(merged.values(), key=lambda row: -row.self_cpu_time_total))
    rows.memory = options.memory
    return rows


def rows_of(
    recordings: Sequence[Recording],
    stack: int,
    functions: bool,
    grouping: Grouping,
    options: Options,
    deadline: Deadline,
) -> Rows:
    """Return the averages over `recordings`, grouped by `stack` callers, of what there is time to
    read."""
    merged: Merged = {}
    for number, recording in enumerate(recordings):
        in_time = deadline.early(1 / (len(recordings) - number))
        listed = options.memory or has_operators(recording)
        share = _FOR_FUNCTIONS if listed else _FOR_FUNCTIONS_ALONE
        found = averages_of(recording, stack, functions, in_time.early(share))
        for callee, callers, calls, resumes, self_ns, total_ns, outermost in found:
            if callee[3] == OPERATOR:
                continue
            shown = [display(caller) for caller in callers]
            name = key_of(callee)
            key = (name, callee[3] == NAME, *shown)
            row = merged.get(key)
            if row is None:
                row = merged[key] = FunctionEventAvg(name, shown)
                row.is_user_annotation = callee[3] == NAME
                row.is_python_function = not is_marked(callee)
            row.count += calls or (1 if resumes else 0)
            row.self_cpu_time_total += self_ns / 1000
            row.cpu_time_total += total_ns / 1000
            row.outermost |= outermost
        if listed:
            share = _FOR_MEMORY_TOO if options.memory else _FOR_CALLS
            part = Part(
                recording, functions, options, deadline=in_time.early(share), first_lines=True
            )
            _add_operators(merged, part, stack, grouping, in_time)
            if options.memory:
                _add_memory(merged, part, stack)
    return in_order(merged, grouping, options)


_PACKAGE = os.path.dirname(kymograph.__file__ or "") + os.sep


def sampled_rows(recordings: Iterable[Recording]) -> Rows:
    """Return the time in functions by the samples of `recordings`; counts are samples."""
    merged: dict[str, FunctionEventAvg] = {}
    for recording in recordings:
        capture = recording.capture
        period = int(capture.metadata.get("sample.period_ns", 0)) / 1000
        stacks: dict[int, list[str]] = {
            number: [
                display((frame.name, frame.file, frame.first_line, FUNCTION))
                for frame in frames
                if frame.kind == "python" and not frame.file.startswith(_PACKAGE)
            ]
            for number, frames in capture.stacks(symbols=False).items()
        }
        samples = capture.samples(start=recording.start, end=recording.end)
        for stack, periods in zip(samples["stack"], samples["periods"], strict=True):
            names = stacks.get(stack, [])
            for name in dict.fromkeys(names):
                row = merged.setdefault(name, FunctionEventAvg(name))
                row.is_python_function = True
                row.count += periods
                row.cpu_time_total += periods * period
                row.self_cpu_time_total += periods * period * (name == names[0])
                row.outermost |= name == names[-1]
    return Rows(sorted(merged.values(), key=lambda row: -row.self_cpu_time_total))
