"""Arrows from where a process sends a message of multiprocessing to where another receives it.

Everything that multiprocessing and concurrent.futures send goes through Connection, whose functions
have os.write and os.read as defaults of an argument. Builtins of ours take their place there, which
count what passes: see ext/messages. What is sent does not change.
"""

from __future__ import annotations

import os
import sys

from kymograph import _core, _imports

TYPE_CHECKING = False  # avoids importing typing
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from kymograph._family import Family

_MODULE = "multiprocessing.connection"
_FILE = "-0.messages"  # after the pid of the process that made it
_offers: list[Callable[[Family], None]] = []
_owner = 0  # pid of the process that makes the file, if it is known here


def watch(family: Family, offer: Callable[[Family], None]) -> None:
    """Watch the messages of this process as soon as the program imports multiprocessing; `offer`
    lets new interpreters know of `family` when that has changed."""

    def imported() -> None:
        try:
            _replace(family, offer)
        except Exception:
            pass  # the program comes first

    _offers.append(offer)
    if _MODULE in sys.modules:
        imported()
    else:
        _imports.after_import(imported, _MODULE)


def _replace(family: Family, offer: Callable[[Family], None]) -> None:
    global _owner
    import _socket  # which multiprocessing imports, too

    connection: Any = sys.modules[_MODULE].Connection
    send, receive = connection._send, connection._recv
    if (send.__defaults__, receive.__defaults__) != ((os.write,), (os.read,)):
        return  # another version, or somebody else replaced them
    owned = not family.messages
    if owned:
        _owner = os.getpid()
        family.messages = f"{family.folder}/{_owner}{_FILE}"
        offer(family)
    write, read, pair = _core.messages_watch(
        family.messages, owned, os.write, os.read, _socket.socketpair
    )
    send.__defaults__ = (write,)
    receive.__defaults__ = (read,)
    _socket.socketpair = pair


def end(family: Family) -> None:
    """This process ends, or becomes another program."""
    if _owner == os.getpid():
        _core.messages_end()
        family.messages = ""
        for offer in _offers:
            offer(family)


def clear(folder: str) -> None:
    """The run ends: remove files of processes that were killed, and `folder` if it is empty."""
    try:
        for name in os.listdir(folder):
            if name.endswith(_FILE):
                os.unlink(f"{folder}/{name}")
        os.rmdir(folder)
    except OSError:
        pass
