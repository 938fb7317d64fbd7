"""Hooks into torch if the program has imported it. This module never imports torch.

During a recording, calls of modules are named after the module. If operators are not recorded,
torch's own annotations, including those of optimizers and data loaders, are recorded as spans.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from kymograph import _core
from kymograph.profiler import _fast

if TYPE_CHECKING:
    from types import CodeType

# The class whose methods are replaced, and what they were.
_patched: list[tuple[Any, Any, Any]] = []
_recordings = 0  # that have begun and not ended


def _patch(annotations: Any) -> None:
    enter, leave = annotations.__enter__, annotations.__exit__

    def both_enter(self: Any) -> Any:
        # Call torch's too, so that an annotation that ends after the recording ends correctly.
        result = enter(self)
        args = getattr(self, "args", None)
        self._kymo_span = _core.record_function(
            str(self.name), args if isinstance(args, str) else None
        )
        self._kymo_span.__enter__()
        return result

    def both_leave(self: Any, *exception: Any) -> Any:
        span = self.__dict__.pop("_kymo_span", None)
        if span is not None:
            span.__exit__(None, None, None)
        return leave(self, *exception)

    _patched.append((annotations, enter, leave))
    annotations.__enter__, annotations.__exit__ = both_enter, both_leave


def module_call() -> CodeType | None:
    """The code whose calls are named after the module they are made on, if torch is there."""
    module = getattr(sys.modules.get("torch.nn"), "Module", None)
    return getattr(vars(module).get("__call__"), "__code__", None) if module else None


def optimizer_step() -> CodeType | None:
    """The code that torch's optimizers call at the end of a step, for profilers to look at them."""
    optimizer = getattr(sys.modules.get("torch.optim"), "Optimizer", None)
    step = vars(optimizer).get("_optimizer_step_code") if optimizer else None
    return getattr(step, "__code__", None)


def before_start(ops: str = "") -> None:
    """A recording is about to begin, with the operators of torch in the mode `ops`, or without."""
    global _recordings
    _recordings += 1
    if ops and _core.torch_found():
        _fast.begin(ops)
        return  # its annotations come as operators do
    annotations = getattr(sys.modules.get("torch.autograd.profiler"), "record_function", None)
    if isinstance(annotations, type) and not _patched:
        _patch(annotations)


def after_stop() -> None:
    """A recording has ended, or could not begin."""
    global _recordings
    _recordings -= 1
    if not _recordings:
        _fast.end()
    while _patched and not _recordings:
        annotations, enter, leave = _patched.pop()
        annotations.__enter__, annotations.__exit__ = enter, leave


def count_steps(what: str) -> None:
    """Tell torch's tracker of steps, which it shares with optimizers, that the profiler does
    `what`."""
    tracker = getattr(sys.modules.get("torch.autograd.profiler"), "KinetoStepTracker", None)
    function = getattr(tracker, what, None)
    if function is not None:
        function("ProfilerStep")
