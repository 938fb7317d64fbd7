"""One recording of a profiler: a part of a capture in a temporary directory, and its life."""

from __future__ import annotations

import os
import shutil
import tempfile
import threading
import time
import weakref
from functools import partial

import kymograph
import kymograph._torch
from kymograph import _core, _session
from kymograph.profiler import _holders, _memory, _torch


def _remove(directory: str, owner: int) -> None:
    # A forked child has a copy of everything, but the files are its parent's.
    if directory and os.getpid() == owner:
        shutil.rmtree(directory, ignore_errors=True)


class Home:
    """A capture, and the session that writes it.

    Profilers that record at the same time share one, and the last of them to stop ends the session.
    The capture lasts as long as this object, and is removed at exit at the latest. While a session
    that is not a profiler's records, its capture is used, and stays.
    """

    def __init__(self) -> None:
        self.owner = os.getpid()
        outer = _session.path_of_outermost()
        self.directory = "" if outer else tempfile.mkdtemp(prefix="kymograph-profile-")
        self.path = os.fsdecode(outer or os.path.join(self.directory, "profile.kymo"))
        self.session: _session.Session | None = None
        self.users = 0
        self.remove = weakref.finalize(self, _remove, self.directory, self.owner)

    def running(self) -> bool:
        """False in a forked child, and when something else has stopped the session."""
        return self.session is not None and self.session.running


_lock = threading.RLock()  # guards the variable below, and the users of all homes
_home: Home | None = None  # where profilers record now


def _after_fork() -> None:
    global _lock, _home
    _lock = threading.RLock()
    _home = None


os.register_at_fork(after_in_child=_after_fork)


class Recording:
    """Begins with `begin`; only what is between `open_window` and `close_window` is shown."""

    def __init__(self) -> None:
        self.owner = os.getpid()
        self.start: int | None = None
        self.end: int | None = None
        self.stopped = False
        self._home: Home | None = None
        self._memory = False
        self._blocks = False
        self.lines_known = False  # where functions were when the window began
        self._nested = False
        self._raised = ""  # the mode of operators that it asked the session for
        self._capture: _core.Capture | None = None

    @property
    def path(self) -> str:
        return self._home.path if self._home else ""

    def begin(
        self,
        *,
        calls: bool,
        gc: bool,
        budget: int | str | None,
        samples: bool = False,
        ops: str = "",
        memory: bool = False,
        blocks: bool = False,
    ) -> None:
        """Start a session, with operators in the mode `ops`, if any, what torch allocates if
        `memory` is set, and which tensors have that memory if `blocks` is set too. If one runs
        already, use that. Raises what `kymograph.start` raises."""
        global _home
        with _lock:
            home = _home
            if home is None or not home.running():
                home = Home()
                home.session = self._start(home, calls, gc, budget, samples, ops)
                nested = home.session.nested
                _home = home
            else:
                nested = True
            home.users += 1
            self._home = home
            self._nested = nested
        if nested:
            self.start = time.monotonic_ns()
        if nested and ops:
            kymograph._torch.raise_mode(ops)
            self._raised = ops
        if memory:
            _memory.begin()
            self._memory = True
        if blocks:
            self._blocks = _holders.begin()

    def _start(
        self,
        home: Home,
        calls: bool,
        gc: bool,
        budget: int | str | None,
        samples: bool,
        ops: str,
    ) -> _session.Session:
        # To record only collections, run the tracer without any functions.
        include = ["kymograph: no function"] if gc and not calls else []
        sample = 1000 if samples and not calls else None
        start = partial(
            kymograph._start_named,
            home.path,
            _torch.module_call() if calls else None,
            watched=_torch.optimizer_step() if calls else None,
            lines=calls,
            calls=calls or gc,
            gc=gc,
            include=include,
            budget=budget,
            ops=ops or False,
            brief=True,
        )
        try:
            try:
                session = start(sample=sample)
            except kymograph.SessionError:
                if sample is None:
                    raise
                session = start()  # no timers available here
            return _session.apart(session)
        except BaseException:
            home.remove()
            raise

    def running(self) -> bool:
        """True while the session that `begin` started or found runs: not in a forked child, and not
        when something else has stopped it."""
        return not self.stopped and self._home is not None and self._home.running()

    def open_window(self) -> None:
        """What was recorded so far was warm-up."""
        with _lock:
            self.lines_known = self._home is not None and self._home.users == 1 and not self._nested
            if self.lines_known:
                _core.trace_renew()
        self.start = time.monotonic_ns()
        if self._blocks:
            _holders.note_known()

    def stop(self) -> None:
        """End the session, unless other profilers still record."""
        global _home
        if self._blocks:
            self._blocks = False
            _holders.end()
        if self._memory:
            self._memory = False
            _memory.end()
        if self._raised:
            raised, self._raised = self._raised, ""
            kymograph._torch.lower_mode(raised)
        home = self._home
        with _lock:
            if home is None or not self.running():
                return
            self.stopped = True
            home.users -= 1
            if home.users:
                return
            _home = None
        assert home.session is not None
        home.session.stop()

    def close_window(self) -> None:
        """What is recorded from now on is never shown."""
        self.end = time.monotonic_ns()

    def shut_window(self) -> None:
        """Show nothing at all."""
        self.start = self.end = 1

    def keep(self) -> None:
        """Do not remove the capture."""
        if self._home is not None:
            self._home.remove.detach()

    @property
    def capture(self) -> _core.Capture:
        """The capture, opened."""
        if self._capture is None:
            self._capture = _core.open(self.path)
        return self._capture

    @property
    def first(self) -> int:
        """When what is shown begins, in nanoseconds of the monotonic clock."""
        start: int = self.capture.info.start
        return start if self.start is None else max(start, self.start)
