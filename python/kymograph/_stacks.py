"""Where all threads are: when asked, and on a crash."""

from __future__ import annotations

import sys

from kymograph import _core

TYPE_CHECKING = False  # typing is not imported for it
if TYPE_CHECKING:
    from typing import Protocol

    class Writable(Protocol):
        """Anything that takes text."""

        def write(self, text: str, /) -> object: ...


def _titles() -> list[tuple[int, str]]:
    """The names that Python's threads have, by their system ids."""
    threading = sys.modules.get("threading")
    if threading is None:
        return []
    try:
        # Not enumerate(): it takes a lock, which a thread that is stuck may hold.
        threads = list(threading._active.items())
    except (AttributeError, RuntimeError):
        return []
    # Of the calling one it is asked for: in a forked child it is another one than before.
    titles = {thread.native_id: str(thread.name) for _, thread in threads}
    name = dict(threads).get(threading.get_ident())
    if name is not None:
        titles[threading.get_native_id()] = str(name.name)
    return [(tid, title) for tid, title in titles.items() if tid]


def dump_stacks(file: Writable | None = None) -> None:
    """Print the stacks of all threads to `file`, sys.stderr when None: Python and native calls.

    The most recent call is last, as in a traceback; the thread that asks comes first. Every
    thread is interrupted for a moment, wherever it is: in Python, in C, waiting for the GIL, in
    a system call, which goes on. Threads that block signals are named, and it is told what the
    system knows of them. Raises OSError when the stacks cannot be captured.
    """
    text = _core.stacks_text(_titles(), False)
    target = sys.stderr if file is None else file
    if target is None:
        return  # a program without standard streams
    target.write(text)
    flush = getattr(target, "flush", None)
    if flush is not None:
        flush()


def crash_stacks(on: bool = True) -> None:
    """Print the stacks of all threads to stderr when a signal ends the process.

    The signals are SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGSYS and SIGTRAP. What they would
    have done they still do: handlers that were there before are called, and the process ends by
    that signal. The overflow of a thread's stack can be told for threads that are there now and
    those that record. False switches it off.
    """
    from kymograph.verbs.native import find

    program = find() if on else None
    _core.crash_stacks(on, "" if program is None else str(program))
