"""Operators of a capture, as trees."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import kymograph

TENSOR, LIST, TUPLE, UNDEFINED = 1, 7, 8, 11


@dataclass
class Operator:
    name: str
    thread: int  # of the capture
    note: dict[str, Any] = field(default_factory=dict)
    out: dict[str, Any] = field(default_factory=dict)
    attributes: dict[str, Any] = field(default_factory=dict)
    parent: Operator | None = None
    ended: bool = False

    @property
    def depth(self) -> int:
        return 0 if self.parent is None else 1 + self.parent.depth

    def shapes(self) -> list[Any]:
        """What torch.profiler calls input_shapes: [] for what is not a tensor."""
        return shapes_of(self.note)


def shapes_of(note: dict[str, Any]) -> list[Any]:
    kinds, shapes, counts = iter(note["kinds"]), iter(note["shapes"]), iter(note["ints"])

    def one(kind: int) -> Any:
        if kind == TENSOR:
            return list(next(shapes))
        if kind in (2, 3):
            next(counts)
        if kind in (LIST, TUPLE):
            inside = [(next_kind, one(next_kind)) for next_kind in take(next(counts))]
            tensors = [shape for next_kind, shape in inside if next_kind == TENSOR]
            return tensors if len(tensors) == len(inside) else []
        return []

    def take(count: int) -> Any:
        for _ in range(count):
            yield next(kinds)

    return [one(kind) for kind in kinds]


def operators(path: Path) -> list[Operator]:
    """All operators in order of their begin, thread by thread."""
    found: list[Operator] = []
    with kymograph.open(path) as capture:
        names = {f.name for f in capture.callables if f.kind == "operator"}
        for thread in capture.threads:
            open_now: list[Operator] = []
            for event in capture.events(thread=thread):
                operator = event.name in names
                if event.kind == "enter" and operator:
                    parent = open_now[-1] if open_now else None
                    open_now.append(Operator(event.name, event.thread, parent=parent))
                    found.append(open_now[-1])
                elif event.kind == "leave" and operator:
                    assert open_now[-1].name == event.name
                    open_now.pop().ended = True
                elif event.kind == "payload" and event.name == "operator.in":
                    open_now[-1].note = event.fields
                elif event.kind == "payload" and event.name == "operator.out":
                    open_now[-1].out = event.fields
    return found
