"""Nested sessions.

A process records into one capture at a time. A session that starts while another runs becomes a
range in the other's capture, so that a library may record itself, and `kymograph run` works on
programs that do. Each session ends only itself.
"""

from __future__ import annotations

import os
from _thread import RLock

from kymograph import _core

TYPE_CHECKING = False  # avoids importing typing
if TYPE_CHECKING:
    from collections.abc import Callable
    from types import TracebackType
    from typing import Any, ParamSpec

    Path = str | bytes | os.PathLike[str] | os.PathLike[bytes]
    Options = ParamSpec("Options")

_lock = RLock()  # guards the variables below; reentrant, for signal handlers
_outermost: list[Session] = []  # the session that records, if Python started it
_started: list[Session] = []  # sessions begun by `start` and not ended yet
_count = 0  # number of ranges; gives their ids
nested = 0  # sessions that became ranges in the running one
# Of the last session, if it needs nothing else: arguments of `_core.start`, and its metadata.
repeatable: tuple[tuple[Any, ...], dict[str, str]] | None = None


def _outer() -> Session | None:
    try:
        return _outermost[0]
    except IndexError:
        return None


class Session:
    """A session started by `kymograph.start`: it records until `stop` or the end of its `with`
    block.

    path: the requested capture. nested: whether another session was already running. Then no
    capture is written to `path`; this session is the range "session PATH" in the other's capture,
    and its options have no effect.
    """

    __slots__ = ("_at_end", "_id", "_outer", "nested", "path")

    def __init__(self, path: Path, outer: Session | None, nested: bool, number: int) -> None:
        self.path = path
        self.nested = nested
        self._outer = outer
        self._id = number
        self._at_end: Callable[[], None] | None = None

    @property
    def name(self) -> str:
        """Return the name of a nested session's range."""
        return f"session {os.fsdecode(self.path)}"

    @property
    def running(self) -> bool:
        """False after `stop`, in a forked child, and when the outer session has ended."""
        if not self._id or not _core.running():
            return False
        return _outer() is (self._outer if self.nested else self)

    def stop(self) -> None:
        """End this session and no other; does nothing if it has already ended.

        Raises OSError when a write failed; the capture has everything written before that.
        """
        with _lock:
            running = self.running
            number, self._id = self._id, 0
            if self in _started:
                _started.remove(self)
            if running and not self.nested:
                _outermost.clear()
        if running and self._at_end is not None:
            self._at_end()
        if running and self.nested:
            _core.async_end(self.name, number)
        elif running:
            _core.stop()

    def __enter__(self) -> Session:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.stop()

    def __repr__(self) -> str:
        state = "running" if self.running else "ended"
        return f"<kymograph.Session {self.path!r}, {'nested, ' if self.nested else ''}{state}>"


def starts(record: Callable[Options, None]) -> Callable[Options, Session]:
    """Decorate `record`, which starts recording into its first argument.

    The result records only when no session runs, and returns the new session.
    """

    def start(*args: Options.args, **options: Options.kwargs) -> Session:
        global _count, nested
        path: Path = args[0] if args else options["path"]  # type: ignore[assignment]
        with _lock:
            inside = _core.running()
            if not inside:
                record(*args, **options)
                nested = 0
                _started.clear()
            _count += 1
            nested += inside
            session = Session(path, _outer(), inside, _count)
            if not inside:
                _outermost[:] = [session]
            _started.append(session)
        if inside:
            _core.async_begin(session.name, session._id)
        return session

    # Not with functools: a program's own import of it would be missing from its recording.
    start.__doc__, start.__qualname__ = record.__doc__, record.__qualname__
    start.__module__, start.__annotations__ = record.__module__, record.__annotations__
    start.__wrapped__ = record  # type: ignore[attr-defined]
    return start


@starts
def repeat(path: Path, as_before: tuple[tuple[Any, ...], dict[str, str]]) -> None:
    """Record into `path` as in the session of this process, or of the one that forked it, in which
    `repeatable` was `as_before`."""
    arguments, facts = as_before
    _core.start(path, *arguments)
    for key, value in facts.items():
        _core.metadata(key, value)


def apart(session: Session) -> Session:
    """Keep `kymograph.stop` from ending `session`; its owner ends it."""
    with _lock:
        if session in _started:
            _started.remove(session)
    return session


def outermost_path() -> Path | None:
    """Return the capture that is being written, if Python started it."""
    with _lock:
        outer = _outer()
        return outer.path if outer is not None else None


def stop() -> None:
    """End the session most recently started with `kymograph.start`, and no other.

    Does nothing while only other sessions run, such as that of `kymograph run` or of a `trace`
    block. Raises SessionError when none runs, and OSError when a write failed; the capture has
    everything written before that.
    """
    while _started:
        try:
            session = _started.pop()
        except IndexError:  # another thread was faster
            break
        if session.running:
            session.stop()
            return
    if not _core.running() or not _outermost:
        _core.stop()


def path_of_outermost() -> Path | None:
    """Return where the running session records; None when Python did not start it."""
    outer = _outer()
    return outer.path if outer is not None and _core.running() else None


# In a forked child no session runs, and the thread that held the lock does not exist. These are
# builtins, because Python code would make every child slower.
if hasattr(os, "register_at_fork"):
    for _reset in (_lock._at_fork_reinit, _outermost.clear, _started.clear):  # type: ignore[attr-defined]
        os.register_at_fork(after_in_child=_reset)
    del _reset
