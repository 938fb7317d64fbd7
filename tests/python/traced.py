"""Captures of traced calls as the tests of the tracer look at them: recorded, checked, shown."""

from __future__ import annotations

import functools
import sys
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import kymograph

QUALIFIED = sys.version_info >= (3, 11)  # before, code objects do not know where they are defined
MONITORING = sys.version_info >= (3, 12)  # before, calls of types and instances are not reported
BUDGETS = not (3, 11) <= sys.version_info < (3, 11, 4)  # these cannot have an overhead budget


@dataclass(eq=False, repr=False)
class Call:
    """One slice of a call: from an enter to its leave."""

    name: str
    file: str
    line: int
    thread: int
    id: int
    entered: str
    left: str = "never"
    calls: list[Call] = field(default_factory=list)

    @property
    def plain(self) -> str:
        """The name without the functions that it is defined in."""
        return self.name.rpartition("<locals>.")[2]

    def __str__(self) -> str:
        how = f"{self.entered}>{self.left}"
        return self.plain if how == "call>return" else f"{self.plain} {how}"

    def walk(self) -> Iterable[Call]:
        """This call and all that were made by it, a caller before what it calls."""
        return (call for call, _ in self._levels())

    def lines(self) -> Iterable[str]:
        """The same as text, indented."""
        return (f"{'  ' * level}{call}" for call, level in self._levels())

    def _levels(self) -> Iterable[tuple[Call, int]]:
        todo = [(self, 0)]  # no recursion: programs may be deeper than our limit
        while todo:
            call, level = todo.pop()
            yield call, level
            todo += [(inner, level + 1) for inner in reversed(call.calls)]


def check(events: Iterable[kymograph.Event]) -> None:
    """Raise AssertionError unless EVENTS, in the order of a capture, are well formed.

    On every thread times do not decrease and a leave is that of the innermost call open
    there. The slices of a generator follow each other: one that goes on was suspended before.
    No record is missing.
    After a resync what is open is told anew.
    """
    stacks: dict[int, list[tuple[int, str, int]]] = {}
    times: dict[int, int] = {}
    suspended: dict[tuple[int, int], bool] = {}  # by id and key
    for event in events:
        kind, thread, key = event.kind, event.thread, event.key
        time = event.time
        assert time >= times.get(thread, 0), f"{event}: {times[thread] - time} ns back in time"
        times[thread] = time
        if kind == "enter":
            slice_id = event.id
            if slice_id:
                detail = event.detail
                before = suspended.get((slice_id, key))
                if detail == "resume":
                    assert before in (True, None), f"{event} goes on but was not suspended"
                suspended[slice_id, key] = False
            stacks.setdefault(thread, []).append((key, event.name, slice_id))
        elif kind == "leave":
            stack = stacks.setdefault(thread, [])
            assert stack, f"{event} ({event.detail}): nothing is open"
            found, name, slice_id = stack[-1]
            assert found == key, f"{event} ({event.detail}): the innermost open is {name!r}"
            stack.pop()
            if slice_id:
                suspended[slice_id, key] = event.detail == "yield"
        elif kind == "resync":
            stacks[thread] = []
        else:
            assert kind != "gap", f"{event.id} records are missing: {event.detail}"


@dataclass(eq=False, repr=False)
class Trace:
    """A capture, read and checked."""

    events: list[kymograph.Event]
    result: Any = None

    @functools.cached_property
    def roots(self) -> list[Call]:
        """The calls that nothing recorded calls, in the order of time."""
        roots: list[Call] = []
        stacks: dict[int, list[Call]] = {}
        for event in self.events:
            stack = stacks.setdefault(event.thread, [])
            if event.kind == "enter":
                call = Call(
                    event.name, event.file, event.line, event.thread, event.id, event.detail
                )
                (stack[-1].calls if stack else roots).append(call)
                stack.append(call)
            elif event.kind == "leave":
                stack.pop().left = event.detail
            elif event.kind == "resync":
                stack.clear()
        return roots

    def calls(self) -> Iterable[Call]:
        """Every call, a caller before what it calls."""
        for root in self.roots:
            yield from root.walk()

    def find(self, name: str) -> list[Call]:
        """The calls of what is called NAME, apart from where it is defined."""
        return [call for call in self.calls() if call.plain == name]

    def only(self, name: str) -> Call:
        found = self.find(name)
        assert len(found) == 1, f"{name}: {[str(call) for call in found]}"
        return found[0]

    def counts(self) -> Counter[tuple[str, str]]:
        """How often each name was entered, and how."""
        return Counter((e.name, e.detail) for e in self.events if e.kind == "enter")


def read_trace(path: Path, result: Any = None) -> Trace:
    """The checked capture at PATH."""
    with kymograph.open(path) as capture:
        events = list(capture.events())
    check(events)
    return Trace(events, result)


def trace(path: Path, function: Callable[[], Any], **options: Any) -> Trace:
    """Call FUNCTION, traced with OPTIONS into PATH."""
    kymograph.start(path, **options)
    try:
        result = function()
    finally:
        kymograph.stop()
    return read_trace(path, result)


def shown(trace: Trace, name: str) -> list[str]:
    """What the only call of NAME called, a line each; how only where unusual."""
    return list(trace.only(name).lines())


def names(path: Path) -> Counter[str]:
    """How often each name was entered in the capture at PATH."""
    with kymograph.open(path) as capture:
        return Counter(event.name for event in capture.events() if event.kind == "enter")


def work() -> str:
    """Something to call."""
    return "done"


Traced = Callable[..., Trace]  # the fixtures of these names, in conftest.py
Python = Callable[[Callable[[], Any]], list[str]]
