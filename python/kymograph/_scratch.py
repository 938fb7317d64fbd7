"""A folder for temporary captures, one for each process that needs one.

It goes when the process ends. A process that is killed, or ends with os._exit, leaves it; the next
process that needs such a folder removes it. A folder is in use as long as its file `owner` is
locked, by the process that made it or a child, or the process whose id is in that file lives: it
may have closed the descriptor.
"""

from __future__ import annotations

import os

TYPE_CHECKING = False  # avoids importing typing
if TYPE_CHECKING:
    from collections.abc import Iterator

_PREFIX = "kymograph-memory-"
_OWNER = "owner"
_CAPTURE = "capture"  # how the names of our other files begin

_folder: tuple[str, int] | None = None  # and the process that made it
_count = 0


def new_path() -> str:
    """Return the name of a new temporary capture. Raises OSError."""
    global _folder, _count
    if _folder is None or _folder[1] != os.getpid() or not os.path.isdir(_folder[0]):
        import atexit

        _clear_left()
        _folder = _make_folder(), os.getpid()
        atexit.register(_remove_own, *_folder)
    _count += 1
    return os.path.join(_folder[0], f"{_CAPTURE}-{_count}.kymo")


def _make_folder() -> str:
    import fcntl
    import tempfile

    folder = tempfile.mkdtemp(prefix=_PREFIX)
    # Stays open.
    owner = os.open(os.path.join(folder, _OWNER), os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        fcntl.flock(owner, fcntl.LOCK_EX)  # waits for a process that looks at it
    except OSError:
        pass  # a file system without locks: the id has to do
    os.write(owner, str(os.getpid()).encode())
    return folder


def _remove_own(folder: str, process: int) -> None:
    if os.getpid() == process:  # not in a forked child
        _remove(folder)


def _remove(folder: str) -> None:
    """Remove `folder` and our files in it; one with other files stays."""
    try:
        # Last the owner: without it, nobody would remove the rest.
        names = sorted(os.listdir(folder), key=lambda name: name == _OWNER)
        if all(name == _OWNER or name.startswith(_CAPTURE) for name in names):
            for name in names:
                os.unlink(os.path.join(folder, name))
            os.rmdir(folder)
    except OSError:
        pass


def _lives(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except OSError:
        pass  # somebody else's
    return True


def _own_folders() -> Iterator[str]:
    """The folders of this user, in use or not."""
    import tempfile

    with os.scandir(tempfile.gettempdir()) as entries:
        for entry in entries:
            if entry.name.startswith(_PREFIX) and entry.is_dir(follow_symlinks=False):
                status = entry.stat(follow_symlinks=False)
                if status.st_uid == os.geteuid() and not status.st_mode & 0o077:
                    yield entry.path


def _clear_left() -> None:
    """Remove the folders that processes left."""
    import fcntl

    try:
        for folder in _own_folders():
            try:
                owner = os.open(os.path.join(folder, _OWNER), os.O_RDWR | os.O_NOFOLLOW)
            except OSError:
                continue  # it is being made or removed
            try:
                fcntl.flock(owner, fcntl.LOCK_EX | fcntl.LOCK_NB)
                process = os.read(owner, 20)
                if process.isdigit() and not _lives(int(process)):
                    _remove(folder)
            except OSError:
                pass  # in use
            finally:
                os.close(owner)
    except OSError:
        pass  # the directory cannot be read
