"""What a callee is called in tables, stacks and traces: as torch's profiler calls it, and as the
Chrome export writes it for `kymograph.profile`."""

from __future__ import annotations

import functools
import os
import site
import sys

Callee = tuple[str, str, int, int]  # name, file or module, line, class

# enum kymo_class
NAME, FUNCTION, NATIVE, METHOD, TYPE, CALLABLE, GC = range(7)
OPERATOR = 8


# What files lose at the beginning: the folders of modules, the innermost first; and where these
# follow from.
_prefixes: tuple[str, ...] = ()
_sources: tuple[object, ...] = ()


def refresh() -> None:
    """Find out where modules are now. Files are shown relative to that from then on."""
    torch = getattr(sys.modules.get("torch"), "__file__", None)
    try:
        _find(tuple(sys.path), os.getcwd(), torch)
    except OSError:
        pass  # the current folder does not exist any more


def _find(path: tuple[object, ...], current: str, torch: str | None) -> None:
    global _prefixes, _sources
    if _sources == (path, current, torch):
        return
    folders = {folder for folder in path if isinstance(folder, str)}
    folders |= {*site.getsitepackages(), site.getuserbase(), site.getusersitepackages()}
    if torch:
        folders.add(os.path.dirname(os.path.dirname(torch)))
    absolute = sorted({os.path.abspath(folder) for folder in folders}, reverse=True)
    _prefixes = tuple(folder + os.sep for folder in absolute)
    _sources = (path, current, torch)
    trim.cache_clear()


def prefixes() -> tuple[str, ...]:
    return _prefixes


@functools.lru_cache(maxsize=4096)
def trim(file: str) -> str:
    """Return the name of a file as it is shown."""
    for prefix in _prefixes:
        if file.startswith(prefix):
            return file[len(prefix) :]
    return file


def display(callee: Callee) -> str:
    """The name to show."""
    name, file, line, kind = callee
    if kind == FUNCTION:
        # A function without a file was named by the program: "nn.Module: Linear_0".
        return f"{trim(file)}({line}): {name.rpartition('.')[2] or name}" if file else name
    if kind == NATIVE:
        return f"<built-in function {name}>"
    if kind == METHOD:
        owner, dot, method = name.rpartition(".")
        return (
            f"<built-in method {method} of {owner} object>" if dot else f"<built-in method {name}>"
        )
    if kind in (TYPE, CALLABLE):
        full = f"{file}.{name}" if file and file != "builtins" else name
        return f"<class '{full}'>" if kind == TYPE else f"<{full} object>"
    if kind == GC:
        return "Python GC"
    return name


def is_marked(callee: Callee) -> bool:
    """Is it an operator, or did the program mark it itself?"""
    return callee[3] in (NAME, OPERATOR)


def key_of(callee: Callee) -> str:
    """Return the name that events and rows have. All steps that `profile.step` marks share one."""
    name = callee[0]
    if callee[3] == NAME and name.startswith("ProfilerStep#") and name[13:].isdigit():
        return "ProfilerStep*"
    return display(callee)
