"""Measures what a recorded call costs, once per process and kind of session.

The results go into the capture, for `report`, and into the overhead budget.
"""

from __future__ import annotations

import os
import time

from kymograph import _core

TYPE_CHECKING = False  # avoids importing typing
if TYPE_CHECKING:
    from collections.abc import Callable

_CALLS = 500
_ROUNDS = 7


def _nothing() -> None:
    pass


def _no_calls(count: int) -> None:
    for _ in range(count):
        pass


def _python_calls(count: int) -> None:
    for _ in range(count):
        _nothing()


def _c_calls(count: int) -> None:
    for _ in range(count):
        len("")


def _usual(loop: Callable[[int], None]) -> float:
    """Return the typical nanoseconds per call in LOOP."""
    times = []
    for _ in range(_ROUNDS):
        before = time.perf_counter_ns()
        loop(_CALLS)
        times.append(time.perf_counter_ns() - before)
    return sorted(times)[_ROUNDS // 2] / _CALLS


def _usual_calls() -> tuple[float, float]:
    return _usual(_python_calls), _usual(_c_calls)


class Costs:
    """The cost of recording one call, in nanoseconds, measured in a loop of such calls.

    Part of it falls between the call's recorded start and end and looks like the function's own
    time (`inside`); the rest looks like its caller's.
    """

    __slots__ = ("c", "c_inside", "own_ticks", "python", "python_inside")

    def __init__(self, c_calls: bool, with_budget: bool) -> None:
        nothing, python, c = (_usual(loop) for loop in (_no_calls, _python_calls, _c_calls))
        path = _temporary()
        # The budget is never reached; it only selects the hooks of a session with a budget.
        budget = 1e9 if with_budget else 0.0
        costs = (1.0, 1.0, 0.0, 0.0, 0.0)
        options = (c_calls, False, 0, (), (), False, budget, costs, None, "")
        try:
            traced_python, traced_c = _core.trial(path, options, _usual_calls)
            lengths = _lengths(path)
        finally:
            _remove(path)
        self.own_ticks = _core.trace_own_ticks() if with_budget else 0.0
        self.python = max(traced_python - python, 1.0)
        self.c = max(traced_c - c, 1.0) if c_calls else 0.0
        # An empty function itself takes almost no time; `len` takes as long as the loop around it.
        self.python_inside = _between(0.0, lengths["_nothing"], self.python)
        self.c_inside = _between(0.0, lengths.get("len", 0.0) - (c - nothing), self.c)

    def of_events(self, c_calls: bool) -> tuple[float, float, float, float]:
        """Return the costs that the overhead budget uses: nanoseconds per event of a Python call
        and of a C call; of a Python call after C calls were switched off, where that switches all
        of them; and the ticks spent in our own callback."""
        monitoring = _core.trace_hook() == "sys.monitoring"
        # A Python call is a start and a return; with C calls, sys.monitoring also reports the
        # call.
        python = self.python / (3 if c_calls and monitoring else 2)
        alone = costs(False, True).python / 2 if c_calls and not monitoring else 0.0
        return python, self.c / 2, alone, self.own_ticks

    def metadata(self) -> dict[str, str]:
        """Return the form stored in a capture."""
        found = {
            "trace.python_call_ns": self.python,
            "trace.python_call_inside_ns": self.python_inside,
        }
        if self.c:
            found |= {"trace.c_call_ns": self.c, "trace.c_call_inside_ns": self.c_inside}
        return {key: f"{value:.1f}" for key, value in found.items()}


def _between(least: float, value: float, most: float) -> float:
    return max(least, min(value, most))


def _temporary() -> str:
    """Return a new name for a capture. A file that exists there is not replaced unless it is a
    capture. Importing tempfile would take longer than everything else here, and os.urandom gives
    up the GIL."""
    directory = os.environ.get("TMPDIR") or "/tmp"
    unique = f"{os.getpid():x}-{time.perf_counter_ns():x}"
    return os.path.join(directory, f"kymograph-{unique}.kymo")


def _remove(path: str) -> None:
    """Remove the capture at PATH. A start that fails may have created it, or not."""
    try:
        os.unlink(path)
    except FileNotFoundError:
        pass


def _lengths(path: str) -> dict[str, float]:
    """Return the median time of a call, by function."""
    with _core.open(path) as capture:
        functions, _ = _core.figures(capture, -1, 0, (1 << 63) - 1, 0)
    return dict(zip(functions["name"], memoryview(functions["p50_ns"]).cast("q"), strict=True))


_known: dict[tuple[bool, bool], Costs] = {}


def costs(c_calls: bool, with_budget: bool) -> Costs:
    """Measure the cost of a call in a session with or without C calls and an overhead budget.

    Raises OSError when no temporary file can be created.
    """
    kind = c_calls, with_budget
    if kind not in _known:
        _known[kind] = Costs(c_calls, with_budget)
    return _known[kind]


def known() -> list[tuple[bool, bool, list[float]]]:
    """Return what has been measured, as plain values for another process."""
    return [
        (*kind, [getattr(costs, name) for name in Costs.__slots__])
        for kind, costs in _known.items()
    ]


def know(measured: list[tuple[bool, bool, list[float]]]) -> None:
    """Use what another process of this program has measured."""
    for c_calls, with_budget, values in measured:
        costs = Costs.__new__(Costs)
        for name, value in zip(Costs.__slots__, values, strict=True):
            setattr(costs, name, value)
        _known[c_calls, with_budget] = costs
