"""The processes of one run, which are recorded together.

The process that `kymograph run` starts records into NAME.kymo. Its child processes that are Python,
and theirs, record into files of their own in the folder NAME.kymo.d, so that one that is killed
costs only itself. What they have in common is here: a forked child finds it in its memory, a new
interpreter in the environment.

Import few modules here: a spawned child imports this before its program starts.
"""

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False  # avoids importing typing
if TYPE_CHECKING:
    from typing import Any

VARIABLE = "KYMOGRAPH_FAMILY"
HELPER = "resource_tracker import main"  # code of a process of multiprocessing's own, and loky's
_SHAPE = 2  # of marshal's data; every version of Python reads it
_MEMBER = ".kymo"
_SPARE = "0-0.spare"  # src/trace/spare.c
_HERE = os.path.dirname(os.path.abspath(__file__))


class Family:
    """What the processes of a run have in common.

    folder: where children record. id: tells the files of this run from those of an earlier one.
    settings: arguments of `kymograph.start`. crash: print stacks on a crash. costs: what recording
    a call costs, as `_callcost.told` returns it. clock_rate: as `_core.clock_rate` returns it.
    messages: the file in which this process and its children count messages, or "". path: a folder
    that new interpreters need in PYTHONPATH, or "". repeats: `_session.repeatable` of a session
    with `settings`; only forked children have it.
    """

    _told = ("clock_rate", "costs", "crash", "folder", "id", "messages", "path", "settings")
    __slots__ = (*_told, "repeats")

    def __init__(self, folder: str, settings: dict[str, Any], crash: bool) -> None:
        self.folder = folder
        self.id = os.urandom(8).hex()
        self.settings = settings
        self.repeats: tuple[tuple[Any, ...], dict[str, str]] | None = None
        self.crash = crash
        self.costs: list[Any] = []
        self.clock_rate: str | None = None
        self.messages = ""
        self.path = "" if _starts_by_itself() else os.path.join(_HERE, "_site")

    def text(self) -> str:
        """Return the value of the environment variable."""
        import marshal

        return marshal.dumps([getattr(self, name) for name in self._told], _SHAPE).hex()

    @classmethod
    def parse(cls, text: str) -> Family:
        """Return the family described by `text`. Raises ValueError, TypeError and EOFError."""
        import marshal

        family = cls.__new__(cls)
        for name, value in zip(cls._told, marshal.loads(bytes.fromhex(text)), strict=True):
            setattr(family, name, value)
        family.repeats = None
        return family

    def members(self) -> list[str]:
        """Return the names of the children's captures."""
        try:
            return [name for name in os.listdir(self.folder) if name.endswith(_MEMBER)]
        except OSError:
            return []

    def name(self) -> str:
        """Return a path for the capture of this process. Raises OSError.

        A process may record more than once, before and after os.exec, and a pid may be reused.
        """
        if not os.access(self.folder, os.F_OK):  # much cheaper than asking for it
            os.makedirs(self.folder, exist_ok=True)
        pid, number = os.getpid(), 1
        while os.access(
            path := f"{self.folder}/{pid}-{number}{_MEMBER}", os.F_OK, follow_symlinks=False
        ):
            number += 1
        return path


def _starts_by_itself() -> bool:
    """Does every interpreter of this environment read our kymograph.pth?"""
    site = sys.modules.get("site")
    above = os.path.dirname(_HERE)
    if site is None or not os.path.exists(os.path.join(above, "kymograph.pth")):
        return False
    folders = [*site.getsitepackages(), *([site.USER_SITE] if site.ENABLE_USER_SITE else [])]
    return os.path.realpath(above) in map(os.path.realpath, folders)


def tidy(folder: str) -> None:
    """The run ends: remove what no child needs any more."""
    try:
        os.unlink(f"{folder}/{_SPARE}")
    except OSError:
        pass


def clear(folder: str) -> None:
    """Remove the children's captures of an earlier run. Other files in `folder` stay.

    Calls no Python function of the standard library, because they may be recorded meanwhile.
    """
    try:
        names = os.listdir(folder)
    except OSError:
        return
    for name in names:
        pid, _, number = name.partition(".")[0].partition("-")
        if pid.isdecimal() and number.isdecimal():
            try:
                os.unlink(f"{folder}/{name}")
            except OSError:
                pass
    try:
        os.rmdir(folder)
    except OSError:
        pass  # something else is in it
