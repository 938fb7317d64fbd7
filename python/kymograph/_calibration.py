"""What one event costs here: measured once per process, before a session with a budget."""

from __future__ import annotations

import functools
import os
import tempfile
import time
from typing import TYPE_CHECKING

from kymograph import _core

if TYPE_CHECKING:
    from collections.abc import Callable

_CALLS = 3000

# In a program an event costs more than in a loop that has nothing else in the caches, and code
# with hooks in it runs slower between them: by so much, on the programs of the benchmark.
_AT_LARGE = 1.5


def _nothing() -> None:
    pass


def _python_calls(count: int) -> None:
    for _ in range(count):
        _nothing()


def _c_calls(count: int) -> None:
    for _ in range(count):
        len("")


def _least(loop: Callable[[int], None]) -> int:
    """The least nanoseconds that _CALLS calls take."""
    times = []
    for _ in range(5):
        before = time.thread_time_ns()
        loop(_CALLS)
        times.append(time.thread_time_ns() - before)
    return min(times)


def costs(c_calls: bool) -> tuple[float, float, float]:
    """Nanoseconds that recording an event costs: one of a Python call, one of a C call, and one of
    a Python call after C calls were switched off, where that happens to all of them together."""
    python, c = _costs(c_calls)
    all_together = c_calls and _core.trace_hook() != "sys.monitoring"
    return python, c, _costs(False)[0] if all_together else 0.0


@functools.cache
def _costs(c_calls: bool) -> tuple[float, float]:
    loops = (_python_calls, _c_calls)
    without = [_least(loop) for loop in loops]
    with tempfile.TemporaryDirectory(prefix="kymograph-") as directory:
        # A budget that is never reached: the hooks are those of a session with one.
        _core.trace_filter([], [])
        _core.trace(c_calls, False, 0, 1e9, 1.0, 1.0)
        _core.start(os.path.join(directory, "calibration.kymo"), 0, "help", 1)
        try:
            traced = [_least(loop) for loop in loops]
        finally:
            _core.stop()
    # A Python call is a start and a return; sys.monitoring reports the call, too, with C calls.
    events = (3 if c_calls and _core.trace_hook() == "sys.monitoring" else 2, 2)
    python, c = ((t - w) / _CALLS / n for t, w, n in zip(traced, without, events, strict=True))
    return max(python * _AT_LARGE, 1.0), max(c * _AT_LARGE, 1.0)
