"""What calls cost, added up from the events of a capture in the plainest way there is."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

import kymograph

Function = tuple[str, int, str]  # file, line, name
RESUMES = ("resume", "throw")


@dataclass
class Cost:
    """Of a function, or of one caller's calls of it; times are nanoseconds."""

    calls: int = 0
    primitive: int = 0
    resumes: int = 0
    self: int = 0
    total: int = 0


@dataclass
class Costs:
    """All that the exports tell of a capture whose calls are complete."""

    functions: dict[Function, Cost] = field(default_factory=dict)
    edges: dict[tuple[Function, Function], Cost] = field(default_factory=dict)
    paths: Counter[tuple[Function, ...]] = field(default_factory=Counter)
    threads: Counter[int] = field(default_factory=Counter)

    def by_name(self, what: str = "self") -> Counter[str]:
        names: Counter[str] = Counter()
        for (_, _, name), cost in self.functions.items():
            names[name] += getattr(cost, what)
        return +names


@dataclass
class _Open:
    function: Function
    time: int
    resumed: bool
    inside: int = 0


def add_up(path: Path, thread: int | None = None) -> Costs:
    """The costs of the capture at PATH; calls still open at the end of their thread end there."""
    costs = Costs()
    with kymograph.open(path) as capture:
        end = capture.info.end
        for index in range(len(capture.threads)):
            if thread is None or index == thread:
                _add_thread(costs, index, list(capture.events(index)), end)
    return costs


def _add_thread(costs: Costs, index: int, events: list[kymograph.Event], end: int) -> None:
    stack: list[_Open] = []
    functions: Counter[Function] = Counter()
    edges: Counter[tuple[Function, Function]] = Counter()

    def leave(time: int) -> None:
        call = stack.pop()
        total = time - call.time
        parts = [(functions, call.function, costs.functions.setdefault(call.function, Cost()))]
        if stack:
            edge = (stack[-1].function, call.function)
            stack[-1].inside += total
            parts.append((edges, edge, costs.edges.setdefault(edge, Cost())))  # type: ignore[arg-type]
        else:
            costs.threads[index] += total
        for active, key, cost in parts:
            active[key] -= 1
            cost.calls += not call.resumed
            cost.resumes += call.resumed
            cost.self += total - call.inside
            if not active[key]:
                cost.total += total
                cost.primitive += not call.resumed
        path = tuple(c.function for c in stack) + (call.function,)  # noqa: RUF005
        costs.paths[path] += total - call.inside

    for event in events:
        if event.kind == "enter":
            function = (event.file, event.line, event.name)
            functions[function] += 1
            if stack:
                edges[stack[-1].function, function] += 1
            stack.append(_Open(function, event.time, event.detail in RESUMES))
        elif event.kind == "leave":
            assert stack[-1].function == (event.file, event.line, event.name)
            leave(event.time)
        elif event.kind in ("gap", "resync"):
            raise AssertionError(f"{event} cannot be added up plainly")
    while stack:
        leave(end)
