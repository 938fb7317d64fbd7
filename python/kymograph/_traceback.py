"""Captured tracebacks: the names and arguments of torch's, cheaper and with exact interleaving."""

from __future__ import annotations

import json
import sys
import traceback
from typing import TYPE_CHECKING, Any, Literal

from . import _core

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

Frame = dict[str, Any]
"""A frame: its `name`, its `filename` and its `line`."""

Mode = Literal["full", "names", "none"]
"""How much to resolve in native frames: everything, names from symbol tables only, or nothing."""

_MODES: dict[str, int] = {"full": 0, "names": 1, "none": 2}

_frame_hooks: list[Callable[[str, int], Iterable[Frame] | None]] = []


def add_frame_hook(hook: Callable[[str, int], Iterable[Frame] | None]) -> None:
    """Let `hook` add frames, for code generated from other code.

    It is called with the file name and line of each Python frame being symbolised, and returns
    frames to put after it (as its callers), or nothing.
    """
    _frame_hooks.append(hook)


def remove_frame_hook(hook: Callable[[str, int], Iterable[Frame] | None]) -> None:
    """Undo `add_frame_hook`."""
    _frame_hooks.remove(hook)


class CapturedTraceback(_core.CapturedStack):
    """The stack of a thread at one moment; names are looked up on demand.

    It is a small object and keeps no frames, functions or variables of the program alive.
    """

    __slots__ = ("__weakref__",)

    def __init__(self) -> None:
        """Make an empty traceback; use `extract` to capture one."""

    def summary(self) -> traceback.StackSummary:
        """Return the stack as a traceback.StackSummary: oldest call first."""
        return _summary(_symbolize([self], "full")[0])

    def format(self) -> list[str]:
        """Format the stack like `traceback.format_list`: oldest call first."""
        return traceback.format_list(self.summary())

    @staticmethod
    def format_all(tracebacks: Sequence[CapturedTraceback | None]) -> list[list[str] | None]:
        """Format many at once, which is much cheaper than one by one."""
        known = [tb for tb in tracebacks if tb is not None]
        frames = iter(_symbolize(known, "full"))
        return [
            None if tb is None else traceback.format_list(_summary(next(frames)))
            for tb in tracebacks
        ]

    def __reduce__(self) -> tuple[type[CapturedTraceback], tuple[()]]:
        """Pickle without the stack, which means nothing in another process."""
        return type(self), ()

    def __repr__(self) -> str:
        """Show the id, which equal stacks share, and the number of frames."""
        return f"<{type(self).__name__} {self.id}: {len(self)} frames>"


def _summary(frames: list[Frame]) -> traceback.StackSummary:
    return traceback.StackSummary.from_list(
        [
            traceback.FrameSummary(
                frame["filename"], frame["line"] or None, frame["name"], lookup_line=False
            )
            for frame in reversed(frames)
        ]
    )


def _in_graph(filename: str, line: int) -> Iterable[Frame] | None:
    """Return the frames of the program from which torch.compile generated this line."""
    cache = getattr(sys.modules.get("torch._inductor.codecache"), "PyCodeCache", None)
    find = getattr(cache, "stack_frames_for_code", None)
    try:
        found: Iterable[Frame] | None = find(filename, line) if find else None
    except Exception:
        return None  # this torch keeps it in another way
    return found


def _with_hooks(frames: list[Frame]) -> list[Frame]:
    extra = [
        added
        for frame in frames
        for hook in (_in_graph, *_frame_hooks)
        for added in hook(frame["filename"], frame["line"]) or ()
    ]
    return frames + extra if extra else frames


def _mode(mode: str) -> int:
    if mode not in _MODES:
        msg = f"mode must be one of {', '.join(map(repr, _MODES))}, not {mode!r}"
        raise ValueError(msg)
    return _MODES[mode]


def _unique(
    tracebacks: Sequence[CapturedTraceback], mode: str
) -> tuple[list[list[Frame]], list[list[int]]]:
    """Return each distinct place once, as frames, and for every traceback the indices of its
    frames."""
    names, stacks, python = _core.stack_names(list(tracebacks), _mode(mode))
    frames = [[{"name": n, "filename": f, "line": line} for n, f, line in place] for place in names]
    return [
        _with_hooks(place) if managed else place
        for place, managed in zip(frames, python, strict=True)
    ], stacks


def _symbolize(tracebacks: Sequence[CapturedTraceback], mode: str) -> list[list[Frame]]:
    # Programs that track memory ask for the same traceback many times.
    at: dict[int, int] = {}
    places = [at.setdefault(id(each), len(at)) for each in tracebacks]
    distinct = list({id(each): each for each in tracebacks}.values())
    frames, stacks = _unique(distinct, mode)
    found = [[frame for i in stack for frame in frames[i]] for stack in stacks]
    return [found[place] for place in places]


gather_traceback = CapturedTraceback.gather


def symbolize_tracebacks(
    tracebacks: Sequence[CapturedTraceback], mode: Mode = "full"
) -> list[list[Frame]]:
    """Name the frames of many tracebacks at once, innermost first.

    Frames they share are looked up once and are the same object in all of them. A traceback that is
    given several times has one list.
    """
    return _symbolize(tracebacks, mode)


def json_symbolize(tracebacks: Sequence[CapturedTraceback], mode: Mode = "full") -> str:
    """Return the same as JSON: `frames`, and `tracebacks` as lists of indices into it."""
    places, stacks = _unique(tracebacks, mode)
    first: list[range] = []
    frames: list[Frame] = []
    for place in places:
        first.append(range(len(frames), len(frames) + len(place)))
        frames += place
    return json.dumps(
        {"frames": frames, "tracebacks": [[n for i in stack for n in first[i]] for stack in stacks]}
    )


def symbolize_addresses(
    addresses: Sequence[int], mode: Mode = "full"
) -> list[tuple[str, int, str]]:
    """Return file, line and function of addresses in this process."""
    return [
        (filename, line, name)
        for [(name, filename, line), *_] in _core.address_names(list(addresses), _mode(mode))
    ]


def stack_stats() -> dict[str, int]:
    """Return how many stacks were captured, how many distinct ones are stored, and the memory they
    take."""
    return _core.stack_stats()
