"""What is done about torch when the program has it. Nothing of torch is imported here.

While a recording lasts, torch's own annotations, those of optimizers and data loaders among
them, are spans of kymograph too, and calls of modules are named after the module.
"""

from __future__ import annotations

import sys
from typing import Any

from kymograph import _core

# The class whose methods are replaced, and what they were.
_patched: list[tuple[Any, Any, Any]] = []


def _patch(annotations: Any) -> None:
    enter, leave = annotations.__enter__, annotations.__exit__

    def both_enter(self: Any) -> Any:
        # torch's too, so that one which ends after the recording ends as it should.
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


def before_start(calls: bool) -> None:
    """A recording is about to begin; `calls` when functions are recorded."""
    module = getattr(sys.modules.get("torch.nn"), "Module", None)
    code = getattr(vars(module).get("__call__"), "__code__", None) if module else None
    _core.trace_named(code if calls else None, "nn.Module: ")
    annotations = getattr(sys.modules.get("torch.autograd.profiler"), "record_function", None)
    if isinstance(annotations, type) and not _patched:
        _patch(annotations)


def after_stop() -> None:
    """A recording has ended, or could not begin."""
    while _patched:
        annotations, enter, leave = _patched.pop()
        annotations.__enter__, annotations.__exit__ = enter, leave
