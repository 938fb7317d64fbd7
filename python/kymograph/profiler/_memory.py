"""What torch allocated for tensors, by operator; see `profile(profile_memory=True)`."""

from __future__ import annotations

import sys
import warnings
from typing import TYPE_CHECKING, NamedTuple

import kymograph._torch
from kymograph import _core
from kymograph.profiler._devices import DeviceType

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from kymograph.profiler._deadline import Deadline
    from kymograph.profiler._events import Part
    from kymograph.profiler._recording import Recording

# The events that ext/torch/torchmemory.c records.
NAME = "[memory]"
OUT_OF_MEMORY = "[OutOfMemory]"

_warned: set[str] = set()


def _callers_level() -> int:
    """Return the stacklevel, for a caller of this, of the program's own line."""
    level, frame = 1, sys._getframe(1)
    while frame.f_back and frame.f_globals.get("__name__", "").startswith("kymograph."):
        level, frame = level + 1, frame.f_back
    return level


def begin() -> None:
    """Record from now on, until `end`. Warn if it is not possible, once for each reason."""
    if _core.torch_memory(True):
        return
    if not kymograph._torch.is_imported():
        why = "torch is not imported; use kymograph.start(memory=True) for other allocations"
    else:
        why = "this torch does not report its allocations in the way that is known"
    if why not in _warned:
        _warned.add(why)
        text = f"profile_memory records nothing: {why}"
        warnings.warn(text, UserWarning, stacklevel=_callers_level())


def end() -> None:
    """Undo one `begin`."""
    _core.torch_memory(False)


class Usage(NamedTuple):
    """Bytes allocated less bytes freed."""

    cpu: int = 0
    device: int = 0

    def plus(self, other: Usage) -> Usage:
        return Usage(self.cpu + other.cpu, self.device + other.device)


class Allocation(NamedTuple):
    """A block that was allocated, or freed if `bytes` is negative; or could not be allocated, if
    that is its `name`."""

    time: int  # nanoseconds of the monotonic clock
    thread: int  # index in the capture
    bytes: int
    address: int
    device_type: int
    device_index: int
    total_allocated: int
    total_reserved: int
    name: str = NAME
    parent: int = -1  # the innermost call that it was in

    @property
    def event(self) -> tuple[int, int, int, int]:
        """What no other one has."""
        return self.time, self.thread, self.bytes, self.address

    @property
    def usage(self) -> Usage:
        """Its bytes, as those of the CPU or of a device."""
        if self.name != NAME:
            return Usage()
        if self.device_type == DeviceType.CPU.value:
            return Usage(self.bytes, 0)
        return Usage(0, self.bytes)


def allocations(recording: Recording, deadline: Deadline | None = None) -> list[Allocation]:
    """Return those in the window of `recording`, in order of time, as many as there is time for."""
    found: list[Allocation] = []
    if recording.start == recording.end:
        return found
    events: Iterable[_core.Event] = recording.capture.events(
        start=recording.start, end=recording.end
    )
    for event in deadline.within(events) if deadline else events:
        if event.kind != "payload" or event.name not in (NAME, OUT_OF_MEMORY):
            continue
        value = event.fields
        found.append(
            Allocation(
                event.time,
                event.thread,
                value["Bytes"],
                value.get("Addr", 0),
                value["Device Type"],
                value["Device Id"],
                value["Total Allocated"],
                value["Total Reserved"],
                event.name,
            )
        )
    return found


class Usages:
    """Bytes by call of a part: in all of it, and without the calls inside it."""

    def __init__(self, part: Part, records: Sequence[Allocation]) -> None:
        self.own: dict[int, Usage] = {}
        self.total: dict[int, Usage] = {}
        self.outside: list[Allocation] = []  # those in no call, and those out of memory
        self.inside: list[Allocation] = []
        by_thread: dict[int, list[Allocation]] = {}
        for record in records:
            by_thread.setdefault(record.thread, []).append(record)
        calls: dict[int, list[int]] = {}
        if by_thread:
            for number in part.calls:
                calls.setdefault(part.timeline[number][5], []).append(number)
        for thread, found in by_thread.items():
            self._add_thread(part, found, calls.get(thread, []))
        self.outside.sort()
        self.inside.sort()

    def numbers(self) -> range:
        """Return the numbers of all blocks: -1, -2, …, those outside first."""
        return range(-1, -1 - len(self.outside) - len(self.inside), -1)

    def block(self, number: int) -> Allocation:
        at = -1 - number
        outside = len(self.outside)
        return self.outside[at] if at < outside else self.inside[at - outside]

    def _add_thread(self, part: Part, records: Sequence[Allocation], calls: Sequence[int]) -> None:
        """Give each of `records` to the innermost of `calls`, both in order of time."""
        open_now: list[tuple[int, int]] = []  # end and number
        at = 0
        for record in records:
            while at < len(calls) and part.timeline[calls[at]][1] <= record.time:
                _, start, end, *_ = part.timeline[calls[at]]
                while open_now and open_now[-1][0] <= start:
                    open_now.pop()
                open_now.append((end, calls[at]))
                at += 1
            while open_now and open_now[-1][0] < record.time:
                open_now.pop()
            inner = open_now[-1][1] if open_now else -1
            there = self.outside if inner < 0 or record.name != NAME else self.inside
            there.append(record._replace(parent=inner))
            if there is self.outside:
                continue
            self.own[inner] = self.own.get(inner, Usage()).plus(record.usage)
            for _, number in open_now:
                self.total[number] = self.total.get(number, Usage()).plus(record.usage)
