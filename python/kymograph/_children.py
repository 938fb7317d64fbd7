"""The CPU time of the program's child processes, and which of them are ours."""

from __future__ import annotations

import sys

TYPE_CHECKING = False  # avoids importing typing
if TYPE_CHECKING:
    from typing import Any

_ours: list[Any] = []  # usage of children that Kymograph itself forked and waited for


def forked_by_us(usage: Any) -> None:
    """A child of ours used this much: the program did not make it."""
    _ours.append(usage)


class Children:
    """Child processes that have ended and been waited for since this was made."""

    def __init__(self) -> None:
        known = "resource" in sys.modules
        import resource

        if not known:
            del sys.modules["resource"]  # so that the program's own import of it is recorded
        self._resource = resource
        self._before = self._usage()

    def _usage(self) -> tuple[int, float]:
        """Return page faults and seconds."""
        all_of_them = self._resource.getrusage(self._resource.RUSAGE_CHILDREN)
        faults, seconds = all_of_them.ru_minflt, all_of_them.ru_utime + all_of_them.ru_stime
        for usage in _ours:
            faults -= usage.ru_minflt
            seconds -= usage.ru_utime + usage.ru_stime
        return faults, seconds

    def seconds(self) -> float | None:
        """Return the CPU time; None when there were no such children."""
        faults, seconds = self._usage()
        if faults == self._before[0]:
            return None  # every real process uses at least a page
        return max(seconds - self._before[1], 0.0)
