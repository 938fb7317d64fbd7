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
    from typing import ParamSpec

    Path = str | bytes | os.PathLike[str] | os.PathLike[bytes]
    Options = ParamSpec("Options")

_lock = RLock()  # guards the variables below; reentrant, for signal handlers
_outermost: Session | None = None  # the session that records, if Python started it
_started: list[Session] = []  # sessions begun by `start` and not ended yet
_count = 0  # number of ranges; gives their ids
nested = 0  # sessions that became ranges in the running one


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
        return _outermost is (self._outer if self.nested else self)

    def stop(self) -> None:
        """End this session and no other; does nothing if it has already ended.

        Raises OSError when a write failed; the capture has everything written before that.
        """
        global _outermost
        with _lock:
            running = self.running
            number, self._id = self._id, 0
            if self in _started:
                _started.remove(self)
            if running and not self.nested:
                _outermost = None
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
        global _outermost, _count, nested
        path: Path = args[0] if args else options["path"]  # type: ignore[assignment]
        with _lock:
            inside = _core.running()
            if not inside:
                record(*args, **options)
                nested = 0
                _started.clear()
            _count += 1
            nested += inside
            session = Session(path, _outermost, inside, _count)
            if not inside:
                _outermost = session
            _started.append(session)
        if inside:
            _core.async_begin(session.name, session._id)
        return session

    # Not with functools: a program's own import of it would be missing from its recording.
    start.__doc__, start.__qualname__ = record.__doc__, record.__qualname__
    start.__module__, start.__annotations__ = record.__module__, record.__annotations__
    start.__wrapped__ = record  # type: ignore[attr-defined]
    return start


def apart(session: Session) -> Session:
    """Keep `kymograph.stop` from ending `session`; its owner ends it."""
    with _lock:
        if session in _started:
            _started.remove(session)
    return session


def outermost_path() -> Path | None:
    """Return the capture that is being written, if Python started it."""
    with _lock:
        return _outermost.path if _outermost is not None else None


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
    if not _core.running() or (_outermost is None):
        _core.stop()


def path_of_outermost() -> Path | None:
    """Return where the running session records; None when Python did not start it."""
    return _outermost.path if _outermost is not None and _core.running() else None


def after_fork() -> None:
    """In a forked child no session runs, and the thread that held the lock does not exist."""
    global _lock, _outermost
    _lock = RLock()
    _outermost = None
    _started.clear()
