"""torch's `_RecordFunctionFast`, and the flag that makes torch use it, during a recording.

torch's compiler annotates kernels and graphs only while its own profiler runs: it asks a flag, and
`_RecordFunctionFast` asks for the profiler's state, which only torch can have. So the flag is set,
and the class is replaced by one that records operators.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from typing import Any

from kymograph import _core
from kymograph.profiler._operators import USER_SCOPE

_theirs: Any = None  # torch's class while it is replaced
_flagged = False  # the flag was set by `begin`
_with_inputs = False
_for_traces = False  # execution traces have what is known about kernels as attributes


def _texts(values: object) -> bool:
    return isinstance(values, list) and all(isinstance(each, str) for each in values)


def _torch_listens() -> bool:
    enabled = getattr(
        getattr(sys.modules.get("torch"), "autograd", None), "_profiler_enabled", None
    )
    return bool(enabled and enabled())


class RecordFunctionFast:
    """An operator with the inputs and keywords that the program gives; an annotation if the keyword
    `scope` is "user_scope"."""

    __slots__ = ("_given", "_inputs", "_keywords", "_name", "_open", "_user")

    def __init__(
        self,
        name: str,
        input_values: Sequence[object] | None = None,
        keyword_values: Mapping[str, object] | None = None,
    ) -> None:
        # torch's own aborts the process if these are wrong.
        if not isinstance(name, str):
            raise TypeError(f"name must be a str, not {type(name).__name__}")
        if input_values is not None and not isinstance(input_values, (list, tuple)):
            raise TypeError(f"input_values must be a list or tuple, not {type(input_values)}")
        if keyword_values is not None and not isinstance(keyword_values, dict):
            raise TypeError(f"keyword_values must be a dict, not {type(keyword_values)}")
        self._given: dict[str, Any] = {}
        if input_values is not None:
            self._given["input_values"] = input_values
        if keyword_values is not None:
            self._given["keyword_values"] = keyword_values
        self._name = name
        self._inputs = tuple(input_values or ())
        self._keywords = {
            key: value
            for key, value in (keyword_values or {}).items()
            if isinstance(value, (bool, int, float, str)) or _texts(value)
        }
        self._user = self._keywords.get("scope") == "user_scope"
        self._open: list[Any] = []

    def __enter__(self) -> RecordFunctionFast:
        inner: Any
        if _theirs is not None and _torch_listens():
            # It comes to us as all of torch's operators do.
            inner = _theirs(self._name, **self._given)
        elif _for_traces and "kernel_backend" in self._keywords:
            inner = _core.op(self._name, self._inputs, attributes=self._keywords)
        elif _with_inputs:
            inner = _core.op(self._name, self._inputs, keywords=self._keywords)
        else:
            inner = _core.op(self._name)
        if self._user and isinstance(inner, _core.op):
            inner._scope = USER_SCOPE
        self._open.append(inner)
        inner.__enter__()
        return self

    def __exit__(self, *exception: object) -> None:
        if self._open:
            self._open.pop().__exit__(*exception)


def begin(mode: str) -> None:
    """Operators are recorded from now on, in `mode`."""
    global _theirs, _flagged, _with_inputs, _for_traces
    _with_inputs = _with_inputs or mode != "names"
    _for_traces = _for_traces or mode == "full"
    module: Any = sys.modules.get("torch._C._profiler")
    known = getattr(module, "_RecordFunctionFast", None)
    if known is not None and known is not RecordFunctionFast:
        _theirs = known
        module._RecordFunctionFast = RecordFunctionFast
    profiler: Any = sys.modules.get("torch.autograd.profiler")
    if getattr(profiler, "_is_profiler_enabled", None) is False:
        profiler._is_profiler_enabled = _flagged = True


def end() -> None:
    """They are not recorded any more."""
    global _theirs, _flagged, _with_inputs, _for_traces
    _with_inputs = _for_traces = False
    module: Any = sys.modules.get("torch._C._profiler")
    if _theirs is not None and getattr(module, "_RecordFunctionFast", None) is RecordFunctionFast:
        module._RecordFunctionFast = _theirs
    _theirs = None
    if _flagged and not _torch_listens():
        profiler: Any = sys.modules["torch.autograd.profiler"]
        profiler._is_profiler_enabled = False
    _flagged = False
