"""The C functions and methods that can be recorded the cheap way: see ext/thunks.h."""

from __future__ import annotations

import sys
from types import (
    BuiltinFunctionType,
    ClassMethodDescriptorType,
    MethodDescriptorType,
    ModuleType,
)

_METHODS = (MethodDescriptorType, ClassMethodDescriptorType)


def _types() -> list[type]:
    """Every type there is."""
    found: dict[int, type] = {}
    pending: list[type] = [object]
    while pending:
        cls = pending.pop()
        if id(cls) in found:
            continue
        found[id(cls)] = cls
        pending.extend(type.__subclasses__(cls))
    return list(found.values())


def native_callables() -> list[object]:
    """C functions of the imported modules, and C methods of all types; ours left out."""
    found: list[object] = []
    for name, module in list(sys.modules.items()):
        if not isinstance(module, ModuleType) or name.split(".")[0] == "kymograph":
            continue
        for value in list(ModuleType.__getattribute__(module, "__dict__").values()):
            if type(value) is BuiltinFunctionType:
                found.append(value)
    for cls in _types():
        for value in list(type.__dict__["__dict__"].__get__(cls).values()):
            if isinstance(value, staticmethod):
                value = value.__func__
            if type(value) is BuiltinFunctionType or isinstance(value, _METHODS):
                found.append(value)
    return [f for f in found if not str(getattr(f, "__module__", "")).startswith("kymograph")]
