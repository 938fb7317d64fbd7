"""Starts programs with a library in LD_PRELOAD that sees what intercepting slots does not.

The library removes itself from the environment before the program begins; see src/preload.
"""

from __future__ import annotations

import os
import sys

from kymograph import _summary
from kymograph._program import Refused

TYPE_CHECKING = False  # avoids importing typing
if TYPE_CHECKING:
    from typing import Any, NoReturn

_HERE = os.path.dirname(os.path.abspath(__file__))
_LIBRARY = os.path.join(_HERE, "libkymo-preload.so")
_ELF_HEADER = 64
_INTERPRETER = 3  # PT_INTERP
_FOR_NATIVE = {
    *("memory", "memory-rate", "memory-domains", "memory-stacks", "memory-preload"),
    *("output", "quiet"),
}


def _environment() -> dict[str, str]:
    """Return the environment with which the library is loaded. Raises Refused."""
    before = os.environ.get("LD_PRELOAD", "")
    if not os.path.exists(_LIBRARY):
        raise Refused(f"{_LIBRARY} is missing; reinstall kymograph")
    environment = {"KYMO_PRELOAD_BEFORE": before}
    path = _LIBRARY
    if any(letter in path for letter in " :"):  # the loader takes them for separators
        file = os.open(path, os.O_RDONLY)
        os.set_inheritable(file, True)
        environment["KYMO_PRELOAD_FILE"] = str(file)
        path = f"/proc/self/fd/{file}"
    environment["LD_PRELOAD"] = f"{path} {before}".rstrip()
    return environment


def is_loaded() -> bool:
    """Is the library loaded in this process?"""
    with open("/proc/self/maps", "rb") as maps:
        return b"/libkymo-preload.so" in maps.read()


def again() -> NoReturn:
    """Start this Python again, with the same arguments and the library. Raises Refused."""
    if "KYMO_PRELOAD_BEFORE" in os.environ:  # the library would have removed it
        raise Refused("--memory-preload: the loader ignored LD_PRELOAD")
    environment = {**os.environ, **_environment()}
    try:
        os.execve(sys.executable, sys.orig_argv, environment)
    except OSError as error:
        raise Refused(f"cannot start {sys.executable}: {error.strerror}") from None


# ---- programs that are not Python


def _number(data: bytes, at: int, size: int) -> int:
    return int.from_bytes(data[at : at + size], "little")


def _why_not(path: str) -> str:
    """Return why nothing of the program at `path` can be recorded, or ""."""
    with open(path, "rb") as file, open(sys.executable, "rb") as python:
        header, ours = file.read(_ELF_HEADER), python.read(_ELF_HEADER)
        if header[4:6] != ours[4:6] or header[18:20] != ours[18:20]:
            return "is built for another kind of machine"
        file.seek(_number(header, 32, 8))
        size = _number(header, 54, 2)
        parts = file.read(size * _number(header, 56, 2))
        if os.fstat(file.fileno()).st_mode & 0o6000:
            return "runs with the rights of its owner"
    kinds = [_number(parts, at, 4) for at in range(0, len(parts), size or 1)]
    return "" if _INTERPRETER in kinds else "is statically linked"


def _settings(given: dict[str, Any], output: str) -> dict[str, str]:
    """Return what the library reads from the environment. Raises Refused."""
    from kymograph.memory import DOMAINS, MODES, STACKS, domains_from

    domains = (
        domains_from(given["memory-domains"])
        if "memory-domains" in given
        else sum(DOMAINS[name] for name in ("native", "mappings"))
    )
    numbers = (
        MODES.index(given["memory"]),
        given.get("memory-rate", 0),
        domains,
        STACKS[given.get("memory-stacks", "native")],
    )
    return {
        **_environment(),
        "KYMO_PRELOAD_LIBRARY": os.path.join(_HERE, "libkymo.so.0"),
        "KYMO_PRELOAD_OUTPUT": os.path.abspath(output),
        "KYMO_PRELOAD_OPTIONS": " ".join(map(str, numbers)),
    }


def execute(argv: list[str], path: str, stem: str, given: dict[str, Any]) -> NoReturn:
    """Become the native program at `path`, with its memory recorded if possible. Raises Refused."""
    import _signal  # type: ignore[import-not-found]

    for name, value in given.items():
        if name not in _FOR_NATIVE and (name, value) != ("calls", False):
            raise Refused(f"--{name} works only with Python programs; {path} is native")
    output = given.get("output", stem + ".kymo")
    if not output.endswith(".kymo"):
        raise Refused(f"-o {output}: a native program records into a .kymo file")
    environment = dict(os.environ)
    why_not = _why_not(path)
    if why_not:
        _summary.say(f"{argv[0]} {why_not}: it runs, but none of its memory can be recorded")
    else:
        environment.update(_settings(given, output))
        if "quiet" not in given:
            _summary.say(f"recording the memory of {argv[0]} → {output}")
    for number in (_signal.SIGPIPE, _signal.SIGXFSZ):  # which Python ignores
        _signal.signal(number, _signal.SIG_DFL)
    try:
        os.execve(path, argv, environment)
    except OSError as error:
        raise Refused(f"cannot start {path}: {error.strerror}") from None
