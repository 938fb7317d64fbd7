"""Measures what a recorded call costs, once per process and kind of session.

The results go into the capture, for `report`, and into the overhead budget.
"""

from __future__ import annotations

import os
import time

from kymograph import _core
from kymograph._callcost import Costs, known

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


def _measure(c_calls: bool, with_budget: bool) -> Costs:
    nothing, python, c = (_usual(loop) for loop in (_no_calls, _python_calls, _c_calls))
    path = _temporary()
    # The budget is never reached; it only selects the hooks of a session with a budget.
    budget = 1e9 if with_budget else 0.0
    events = (1.0, 1.0, 0.0, 0.0, 0.0)
    options = (c_calls, False, 0, (), (), False, budget, events, None, None, "", False)
    try:
        traced_python, traced_c = _core.trial(path, options, _usual_calls)
        lengths = _lengths(path)
    finally:
        _remove(path)
    costs = Costs()
    costs.own_ticks = _core.trace_own_ticks() if with_budget else 0.0
    costs.python = max(traced_python - python, 1.0)
    costs.c = max(traced_c - c, 1.0) if c_calls else 0.0
    # An empty function itself takes almost no time; `len` takes as long as the loop around it.
    costs.python_inside = _between(0.0, lengths["_nothing"], costs.python)
    costs.c_inside = _between(0.0, lengths.get("len", 0.0) - (c - nothing), costs.c)
    return costs


def costs(c_calls: bool, with_budget: bool) -> Costs:
    """Measure the cost of a call in a session with or without C calls and an overhead budget.

    Raises OSError when no temporary file can be created.
    """
    kind = c_calls, with_budget
    if kind not in known:
        known[kind] = _measure(*kind)
    return known[kind]
