"""What torch.profiler.itt offers: ranges that kymograph records when it records. If the program has
imported a torch that knows ITT, collectors of ITT get them from it as well."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from kymograph.profiler import _ranges

__all__ = ["is_available", "mark", "range", "range_pop", "range_push"]


def _torchs() -> Any:
    """Return torch's functions for ITT; None without torch, or if it was built without them."""
    found = getattr(sys.modules.get("torch._C"), "_itt", None)
    return found if found is not None and found.is_available() else None


def is_available() -> bool:
    """Can a collector of ITT get these ranges? Kymograph gets them in any case."""
    return _torchs() is not None


def mark(msg: str) -> None:
    """Mark this moment."""
    _ranges.mark(msg)
    if (torchs := _torchs()) is not None:
        torchs.mark(msg)


def range_push(msg: str) -> int:
    """Open a range inside those that are open on this thread. Returns how many were."""
    if (torchs := _torchs()) is not None:
        torchs.rangePush(msg)
    return _ranges.range_push(msg)


def range_pop() -> int:
    """Close the range opened last on this thread. Returns how many were open inside which
    it was, or -2 when none was open."""
    left = _ranges.range_pop()
    if (torchs := _torchs()) is not None:
        torchs.rangePop()
    return left


@contextmanager
def range(msg: str, *args: object, **kwargs: object) -> Iterator[None]:
    """A range for a block; `msg` is formatted with what follows it."""
    range_push(msg.format(*args, **kwargs) if args or kwargs else msg)
    try:
        yield
    finally:
        range_pop()
