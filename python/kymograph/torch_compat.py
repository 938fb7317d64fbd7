"""torch.profiler's names, for a textual replacement::

    import kymograph.torch_compat as profiler          # instead of: from torch import profiler
    from kymograph.torch_compat import profile, record_function, schedule

For code that cannot be edited, before it is imported::

    import kymograph.torch_compat; kymograph.torch_compat.install()
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

from kymograph import profiler as _profiler
from kymograph.profiler import *  # noqa: F403
from kymograph.profiler import __all__ as _names
from kymograph.profiler._base import is_recording as _is_recording

__all__ = [*_names, "install", "uninstall"]

# What install replaced, as (module, name, value).
_replaced: list[tuple[Any, str, Any]] = []


def _replace(module: Any, name: str, value: Any) -> None:
    _replaced.append((module, name, getattr(module, name)))
    setattr(module, name, value)


def _type_with_ours(of_torch: Callable[[], Any], types: Any) -> Callable[[], Any]:
    """Return torch's question which profiler runs, with kymograph's as torch.profiler's."""

    def _profiler_type() -> Any:
        found = of_torch()
        return types.KINETO if found == types.NONE and _is_recording() else found

    return _profiler_type


def install() -> None:
    """Replace `torch.profiler` with kymograph's profiler in this process until `uninstall`.

    Names already imported from torch.profiler stay torch's, so call this first. Raises ImportError
    when torch is not installed.
    """
    if _replaced:
        return
    import torch.autograd.profiler  # type: ignore[import-not-found, unused-ignore]
    import torch.profiler  # type: ignore[import-not-found, unused-ignore]
    import torch.profiler.profiler  # type: ignore[import-not-found, unused-ignore]

    for module in (torch.profiler, torch.profiler.profiler):
        for name in _names:
            if not hasattr(module, name) or name in ("DeviceType", "kineto_available"):
                continue
            _replace(module, name, getattr(_profiler, name))
    of_torch = torch._C._autograd._profiler_type
    asks = _type_with_ours(of_torch, torch._C._profiler.ActiveProfilerType)
    for module in (torch._C._autograd, torch.autograd):
        if getattr(module, "_profiler_type", None) is of_torch:
            _replace(module, "_profiler_type", asks)


def uninstall() -> None:
    """Undo `install`."""
    while _replaced:
        module, name, value = _replaced.pop()
        setattr(module, name, value)


def installed() -> bool:
    """Is torch.profiler kymograph's now?"""
    return bool(_replaced) and "torch.profiler" in sys.modules
