"""One recording of a profiler: a capture in a temporary directory, and its life."""

from __future__ import annotations

import os
import shutil
import tempfile
import time
import weakref

import kymograph
from kymograph import _core


def _remove(directory: str, owner: int) -> None:
    # A forked child has a copy of everything, but the files are its parent's.
    if os.getpid() == owner:
        shutil.rmtree(directory, ignore_errors=True)


class Recording:
    """Begins with `begin`; only what is between `open_window` and `close_window` is shown.

    The capture lasts as long as this object, and is removed at exit at the latest.
    """

    def __init__(self) -> None:
        self.owner = os.getpid()
        self.directory = tempfile.mkdtemp(prefix="kymograph-profile-")
        self.path = os.path.join(self.directory, "profile.kymo")
        self.start: int | None = None
        self.end: int | None = None
        self.stopped = False
        self._capture: _core.Capture | None = None
        self._remove = weakref.finalize(self, _remove, self.directory, self.owner)

    def begin(self, *, calls: bool, gc: bool, budget: int | str | None) -> None:
        """Start the session. Raises what `kymograph.start` raises."""
        try:
            if calls or not gc:
                kymograph.start(self.path, calls=calls, gc=gc, budget=budget)
            else:  # the tracer, without any function
                kymograph.start(
                    self.path, gc=True, budget=budget, include=["kymograph: no function"]
                )
        except BaseException:
            self.remove()
            raise

    def running(self) -> bool:
        """True while the session that `begin` started runs: not in a forked child, and not
        when somebody has stopped it."""
        return not self.stopped and os.getpid() == self.owner and kymograph.running()

    def open_window(self) -> None:
        """What was recorded so far was warm-up."""
        self.start = time.monotonic_ns()

    def stop(self) -> None:
        """End the session."""
        if self.running():
            self.stopped = True
            _core.stop()

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
