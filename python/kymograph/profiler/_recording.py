"""One recording of a profiler: a capture in a temporary directory, and its life."""

from __future__ import annotations

import os
import shutil
import tempfile
import time
import weakref
from functools import partial

import kymograph
from kymograph import _core, _session
from kymograph.profiler import _memory, _torch


def _remove(directory: str, owner: int) -> None:
    # A forked child has a copy of everything, but the files are its parent's.
    if directory and os.getpid() == owner:
        shutil.rmtree(directory, ignore_errors=True)


class Recording:
    """Begins with `begin`; only what is between `open_window` and `close_window` is shown.

    The capture lasts as long as this object, and is removed at exit at the latest. While another
    session records, its capture is used, and stays.
    """

    def __init__(self) -> None:
        self.owner = os.getpid()
        outer = _session.path_of_outermost()
        self.directory = "" if outer else tempfile.mkdtemp(prefix="kymograph-profile-")
        self.path = os.fsdecode(outer or os.path.join(self.directory, "profile.kymo"))
        self._session: _session.Session | None = None
        self.start: int | None = None
        self.end: int | None = None
        self.stopped = False
        self._memory = False
        self._capture: _core.Capture | None = None
        self._remove = weakref.finalize(self, _remove, self.directory, self.owner)

    def begin(
        self,
        *,
        calls: bool,
        gc: bool,
        budget: int | str | None,
        samples: bool = False,
        ops: str = "",
        memory: bool = False,
    ) -> None:
        """Start the session, with operators in the mode `ops`, if any, and what torch allocates if
        `memory` is set. Raises what `kymograph.start` raises."""
        # To record only collections, run the tracer without any functions.
        include = ["kymograph: no function"] if gc and not calls else []
        sample = 1000 if samples and not calls else None
        start = partial(
            kymograph._start_named,
            self.path,
            _torch.module_call() if calls else None,
            calls=calls or gc,
            gc=gc,
            include=include,
            budget=budget,
            ops=ops or False,
        )
        try:
            try:
                session = start(sample=sample)
            except kymograph.SessionError:
                if sample is None:
                    raise
                session = start()  # no timers available here
            self._session = _session.apart(session)
            if session.nested:
                self.start = time.monotonic_ns()
        except BaseException:
            self.remove()
            raise
        if memory:
            _memory.begin()
            self._memory = True

    def running(self) -> bool:
        """True while the session that `begin` started runs: not in a forked child, and not when
        something else has stopped it."""
        return not self.stopped and self._session is not None and self._session.running

    def open_window(self) -> None:
        """What was recorded so far was warm-up."""
        self.start = time.monotonic_ns()

    def stop(self) -> None:
        """End the session."""
        if self._memory:
            self._memory = False
            _memory.end()
        if self.running() and self._session is not None:
            self.stopped = True
            self._session.stop()

    def close_window(self) -> None:
        """What is recorded from now on is never shown."""
        self.end = time.monotonic_ns()

    def shut_window(self) -> None:
        """Show nothing at all."""
        self.start = self.end = 1

    def keep(self) -> None:
        """Do not remove the capture."""
        self._remove.detach()

    def remove(self) -> None:
        """Remove the capture now."""
        if self._capture is not None:
            self._capture.close()
        self._remove()

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
