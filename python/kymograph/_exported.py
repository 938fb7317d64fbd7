"""A file that `kymograph run` makes of its capture when the program has ended.

Some programs end in a state in which nothing can be imported: after chroot, or out of memory. So
everything needed then is imported or found by `check`, at the start.
"""

from __future__ import annotations

import os

from kymograph import _core, _summary
from kymograph._program import Refused

_NOTHING = 1  # what `kymograph export` returns if the capture has nothing for the format


def remove(path: str) -> None:
    try:
        os.unlink(path)
    except OSError:
        pass  # already gone, or cannot be removed


def _is_ours(path: str) -> bool:
    """May an export replace the file at `path`? Only one of our exports, unchanged."""
    try:
        _core.export_check(path)
    except OSError:
        return False
    return True


class Export:
    """The capture in another format.

    shown: the file as the user named it. format: for `kymograph export --to`. forced: whatever file
    is there may be replaced.
    """

    def __init__(self, shown: str, format: str, forced: bool) -> None:
        self.shown = shown
        self.format = format
        self.forced = forced
        self.output = os.path.abspath(shown)
        self.native = ""

    def _may_write(self) -> bool:
        return self.forced or not os.path.lexists(self.output) or _is_ours(self.output)

    def check(self) -> None:
        """Raise Refused if it could not be written at the end."""
        from kymograph.verbs.native import find

        program = find()
        if program is None:
            raise Refused(
                "the program 'kymograph', needed for exports, is missing; reinstall kymograph"
            )
        self.native = str(program)
        if os.path.isdir(self.output):
            raise Refused(f"{self.shown}: this is a directory; name a file in it")
        if not self._may_write():
            raise Refused(
                f"{self.shown} exists and was not written by kymograph; name another file, or "
                "add --force to overwrite it"
            )
        folder = os.path.dirname(self.output)
        if not os.access(self.output if os.path.exists(self.output) else folder, os.W_OK):
            why = "Permission denied" if os.path.isdir(folder) else "there is no such directory"
            raise Refused(f"cannot write {self.shown}: {why}")

    def write(self, capture: str, shown_capture: str) -> bool:
        """Make it of `capture`; on failure print one line and return False."""
        import _signal  # type: ignore[import-not-found]

        if not self._may_write():
            return self._not_written(
                "a file of that name was created in the meantime", shown_capture
            )
        remove(self.output)
        arguments = ["export", capture, "--to", self.format, "-q", "-o", self.output]
        try:
            # Without subprocess: avoid its threads and imports at exit.
            _signal.signal(_signal.SIGCHLD, _signal.SIG_DFL)  # a program may ignore its children
            child = os.posix_spawn(self.native, [self.native, *arguments], os.environ)
            code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        except OSError as error:
            return self._not_written(str(error.strerror), shown_capture)
        if code == _NOTHING:
            _summary.say(f"{self.shown} was not written; the capture {shown_capture} is kept")
            return False
        return code == 0 or self._not_written("", shown_capture)

    def _not_written(self, why: str, shown_capture: str) -> bool:
        _summary.say(
            f"{self.shown} was not written{': ' + why if why else ''}; the capture is kept, try "
            f"again with: {self.command(shown_capture)}"
        )
        return False

    def command(self, shown_capture: str) -> str:
        """Return the command that makes it."""
        return f"kymograph export {shown_capture} --to {self.format} -o {self.shown}"
