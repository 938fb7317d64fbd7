"""`post_processing_timeout_s`: results are read until a time, and are what was read by then."""

from __future__ import annotations

import logging
import time
from collections.abc import Iterable, Iterator
from typing import TypeVar

T = TypeVar("T")

# torch's: programs that listen to it hear the same from here.
_log = logging.getLogger("torch.autograd.profiler")

_NEVER = (1 << 63) - 1  # nanoseconds of the monotonic clock
_EVERY = 256  # items between looks at the clock


class Deadline:
    """`seconds` from now; None or infinity: never."""

    def __init__(self, seconds: float | None = None) -> None:
        self._seconds = seconds
        self._whole = self  # what this is an early part of
        self._missed = False
        self._until = 0
        if seconds is not None and seconds < _NEVER / 1e9 / 2:
            self._until = time.monotonic_ns() + int(seconds * 1e9)

    def early(self, share: float) -> Deadline:
        """Return one that comes when `share` of the time that is left has passed."""
        part = Deadline()
        part._whole = self._whole
        if self._until:
            now = time.monotonic_ns()
            part._until = now + int(max(0, self._until - now) * share)
        return part

    @property
    def until(self) -> int:
        """The time of the monotonic clock, in nanoseconds; 0: never."""
        return self._until

    @property
    def missed(self) -> bool:
        """Was anything left out?"""
        return self._missed

    def miss(self) -> None:
        """Note that something was left out."""
        self._missed = self._whole._missed = True

    def within(self, items: Iterable[T]) -> Iterator[T]:
        """Return those of `items` that there is time for."""
        return self._timed(items) if self._until else iter(items)

    def _timed(self, items: Iterable[T]) -> Iterator[T]:
        for number, item in enumerate(items):
            if number % _EVERY == 0 and time.monotonic_ns() >= self._until:
                self.miss()
                return
            yield item

    def warn(self, events: int) -> None:
        """Log a warning if anything was left out, of results that have `events`."""
        if self.missed:
            _log.warning(
                "reading the profile timed out after %g seconds; "
                "these are partial results, of %d events",
                self._seconds,
                events,
            )
