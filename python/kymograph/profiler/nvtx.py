"""What torch.cuda.nvtx offers, recorded by kymograph when it records, and nothing otherwise."""

from __future__ import annotations

from itertools import count

from kymograph import _core
from kymograph.profiler._ranges import mark, range, range_pop, range_push

__all__ = ["mark", "range", "range_end", "range_pop", "range_push", "range_start"]

_numbers = count(1)
_started: dict[int, str] = {}


def range_start(msg: str) -> int:
    """Begin a range that may end on another thread. Returns what `range_end` takes."""
    number = next(_numbers)
    _started[number] = msg
    _core.async_begin(msg, number)
    return number


def range_end(range_id: int) -> None:
    """End the range that `range_start` began."""
    msg = _started.pop(range_id, None)
    if msg is not None:
        _core.async_end(msg, range_id)
