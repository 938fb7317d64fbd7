"""Rows of `key_averages`: all calls that are alike, added up by the library."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from kymograph import _core
from kymograph.profiler._names import Callee, display, is_annotation, is_step
from kymograph.profiler._table import Rows
from kymograph.profiler._times import Times

if TYPE_CHECKING:
    from kymograph.profiler._recording import Recording

# What callers are looked at for every call.
ALL_CALLERS = -1


class FunctionEventAvg(Times):
    """All calls of one function or annotation. Times are in microseconds."""

    cpu_parent: FunctionEventAvg | None = None
    input_shapes: str = ""
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
        """Count `other` in, a row or an event."""
        self.count += other.count
        self.cpu_time_total += other.cpu_time_total
        self.self_cpu_time_total += other.self_cpu_time_total
        self.outermost |= getattr(other, "outermost", False)

    def __iadd__(self, other: Times) -> FunctionEventAvg:
        self.add(other)
        return self

    def __repr__(self) -> str:
        return (
            f"<FunctionEventAvg key={self.key} self_cpu_time={self.self_cpu_time_total_str} "
            f"cpu_time={self.cpu_time_str} count={self.count}>"
        )


def _key(callee: Callee) -> str:
    return "ProfilerStep*" if is_step(callee) else display(callee)


def rows_of(recordings: Iterable[Recording], stack: int, functions: bool) -> Rows:
    """The averages over `recordings`, taken apart by `stack` callers."""
    merged: dict[tuple[str, tuple[str, ...]], FunctionEventAvg] = {}
    for recording in recordings:
        found = _core.averages(recording.capture, recording.start, recording.end, stack, functions)
        for callee, callers, calls, resumes, self_ns, total_ns, outermost in found:
            annotation = is_annotation(callee)
            shown = [display(caller) for caller in callers]
            key = _key(callee)
            row = merged.get((key, tuple(shown)))
            if row is None:
                row = merged[key, tuple(shown)] = FunctionEventAvg(key, shown)
                row.is_user_annotation = annotation
                row.is_python_function = not annotation
            row.count += calls or (1 if resumes else 0)
            row.self_cpu_time_total += self_ns / 1000
            row.cpu_time_total += total_ns / 1000
            row.outermost |= outermost
    return Rows(sorted(merged.values(), key=lambda row: -row.self_cpu_time_total))
