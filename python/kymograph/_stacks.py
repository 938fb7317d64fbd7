"""Prints the stacks of all threads, on request and on a crash."""

from __future__ import annotations

import sys

from kymograph import _core

TYPE_CHECKING = False  # avoids importing typing
if TYPE_CHECKING:
    from typing import Protocol

    class Writable(Protocol):
        """Anything that takes text."""

        def write(self, text: str, /) -> object: ...


def _titles() -> list[tuple[int, str]]:
    """Return the names of Python's threads by system thread id."""
    threading = sys.modules.get("threading")
    if threading is None:
        return []
    try:
        # Not enumerate(): it takes a lock that a stuck thread may hold.
        threads = list(threading._active.items())
    except (AttributeError, RuntimeError):
        return []
    # Ask for the calling thread's id: in a forked child it has changed.
    titles = {thread.native_id: str(thread.name) for _, thread in threads}
    name = dict(threads).get(threading.get_ident())
    if name is not None:
        titles[threading.get_native_id()] = str(name.name)
    return [(tid, title) for tid, title in titles.items() if tid]


def dump_stacks(file: Writable | None = None) -> None:
    """Print the stacks of all threads, Python and native calls, to `file` (default: sys.stderr).

    The most recent call is last, as in a traceback; the calling thread comes first. Every thread
    is briefly interrupted, wherever it is: in Python, in C, waiting for the GIL, or in a system
    call, which is restarted. Threads that block signals are listed with what the system reports
    about them. Raises OSError when the stacks cannot be captured.
    """
    text = _core.stacks_text(_titles(), False)
    target = sys.stderr if file is None else file
    if target is None:
        return  # the program has no standard streams
    target.write(text)
    flush = getattr(target, "flush", None)
    if flush is not None:
        flush()


def crash_stacks(on: bool = True) -> None:
    """Print the stacks of all threads to stderr when a signal kills the process.

    The signals are SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGSYS and SIGTRAP. Earlier handlers
    are still called, and the process still ends by that signal. Stack overflows are reported for
    threads that exist now and for those that record. False switches it off.
    """
    from kymograph.verbs.native import find

    program = find() if on else None
    _core.crash_stacks(on, "" if program is None else str(program))
