"""Operators of PyTorch: what the source "torch" (ext/torch) needs from Python.

The source listens to torch without its headers, so it must find out where torch keeps the arguments
of an operator: `layout` does that with operators whose arguments it knows, and `check` tries the
result in a forked child first. If any of it fails, operators are recorded by name only.
"""

from __future__ import annotations

import sys
import threading
from typing import Any

from kymograph import _core

MODES = ("names", "shapes", "full")

_lock = threading.RLock()
_raised: list[int] = []  # modes that profilers inside the running session want
_outcome: str | None = None  # None: not tried; "": the layout is known; else why it is not


def mode_from(ops: bool | str | None) -> int:
    """Return the mode for the source; 0 means off. Raises ValueError for a bad value of `ops`."""
    if ops is None or ops is False:
        return 0
    if ops is True:
        return len(MODES)
    if ops not in MODES:
        raise ValueError(f"ops must be True, False, {', '.join(map(repr, MODES))}, not {ops!r}")
    return 1 + MODES.index(ops)


def is_imported() -> bool:
    spec = getattr(sys.modules.get("torch"), "__spec__", None)
    return spec is not None and not getattr(spec, "_initializing", False)


def _find_out(torch: Any) -> str:
    """Find the layout and try it. Return "", or why operators can be recorded only by name."""
    from kymograph._torch import check, layout, records

    try:
        found = layout.find(torch)
        problems = check.in_child(torch, found)
        if not problems:
            _core.torch_layout_set(found)
            problems = check.problems(torch, found, backward=True)
    except records.NotFound as error:
        problems = [str(error)]
    except Exception as error:  # whatever torch raises: the program must go on
        problems = [f"{type(error).__name__}: {error}"]
    finally:
        _core.torch_probes_end()
    if problems:
        _core.torch_layout_set(None)
    return ", ".join(problems[:3])


def _learn(torch: Any) -> None:
    """Find the layout, once per process, and say so if that fails."""
    global _outcome
    with _lock:
        if _outcome is not None:
            return
        _outcome = _find_out(torch) if _core.torch_found() else "libtorch_cpu was not found"
        if _outcome:
            version = getattr(torch, "__version__", "")
            print(
                f"kymograph: recording only the names of torch's operators: torch {version} "
                f"is not understood ({_outcome})",
                file=sys.stderr,
            )


def prepare() -> None:
    """Get ready for a session that records operators, now or when torch is imported."""
    if is_imported():
        _learn(sys.modules["torch"])
    else:
        from kymograph import _imports

        _imports.after_import(imported, "torch")


def raise_mode(ops: str) -> None:
    """Record operators in the mode `ops` at least, in the session that runs, until `lower_mode`."""
    with _lock:
        if is_imported():
            _learn_now()
        _raised.append(mode_from(ops))
        _core.torch_raise(max(_raised))


def lower_mode(ops: str) -> None:
    """Undo one `raise_mode`."""
    with _lock:
        _raised.remove(mode_from(ops))
        _core.torch_raise(max(_raised, default=0))


def _learn_now() -> None:
    """Find the layout while a session runs."""
    if _outcome is not None:
        return
    running = _core.running()
    if running:
        _core.pause()  # what follows is not the program's
    try:
        _learn(sys.modules["torch"])
    finally:
        if running:
            _core.resume()


def imported() -> None:
    """torch has been imported while a session may be waiting for it."""
    _learn_now()
    _core.torch_listen()
