"""Ranges that are pushed and popped, as spans: what `itt` and `nvtx` share."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from kymograph import _core


class _Ranges(threading.local):
    """The ranges that are open on a thread."""

    def __init__(self) -> None:
        self.open: list[_core.Span] = []


_ranges = _Ranges()


def mark(msg: str) -> None:
    """Mark this moment."""
    _core.instant(msg)


def range_push(msg: str) -> int:
    """Open a range inside those that are open on this thread. Returns how many were."""
    span = _core.span(msg)
    span.__enter__()
    _ranges.open.append(span)
    return len(_ranges.open) - 1


def range_pop() -> int:
    """Close the range opened last on this thread. Returns how many were open inside which
    it was, or -2 when none was open."""
    if not _ranges.open:
        return -2
    _ranges.open.pop().__exit__(None, None, None)
    return len(_ranges.open)


@contextmanager
def range(msg: str, *args: object, **kwargs: object) -> Iterator[None]:
    """A range for a block; `msg` is formatted with what follows it."""
    range_push(msg.format(*args, **kwargs) if args or kwargs else msg)
    try:
        yield
    finally:
        range_pop()
