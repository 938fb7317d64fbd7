"""What a recorded call costs: the figures, which processes of a run share. They are measured by
_calibration.py. A new interpreter that is recorded imports this before its program starts."""

from __future__ import annotations

from kymograph import _core


class Costs:
    """The cost of recording one call, in nanoseconds, measured in a loop of such calls.

    Part of it falls between the call's recorded start and end and looks like the function's own
    time (`inside`); the rest looks like its caller's.
    """

    __slots__ = ("c", "c_inside", "own_ticks", "python", "python_inside")

    c: float
    c_inside: float
    own_ticks: float
    python: float
    python_inside: float

    def of_events(self, c_calls: bool) -> tuple[float, float, float, float]:
        """Return the costs that the overhead budget uses: nanoseconds per event of a Python call
        and of a C call; of a Python call after C calls were switched off, where that switches all
        of them; and the ticks spent in our own callback."""
        monitoring = _core.trace_hook() == "sys.monitoring"
        # A Python call is a start and a return; with C calls, sys.monitoring also reports the
        # call.
        python = self.python / (3 if c_calls and monitoring else 2)
        alone = 0.0
        if c_calls and not monitoring:
            from kymograph import _calibration

            alone = _calibration.costs(False, True).python / 2
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


known: dict[tuple[bool, bool], Costs] = {}  # by whether with C calls, and with an overhead budget


def told() -> list[tuple[bool, bool, list[float]]]:
    """Return what is known, as plain values for another process."""
    return [
        (*kind, [getattr(costs, name) for name in Costs.__slots__]) for kind, costs in known.items()
    ]


def learn(measured: list[tuple[bool, bool, list[float]]]) -> None:
    """Use what another process of this program has measured."""
    for c_calls, with_budget, values in measured:
        costs = Costs()
        for name, value in zip(Costs.__slots__, values, strict=True):
            setattr(costs, name, value)
        known[c_calls, with_budget] = costs
