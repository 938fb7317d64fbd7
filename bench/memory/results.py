"""The times of one workload, and ratios of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tracer.rounds import Ratio, ratio_of

CLOCKS = ("process", "thread", "wall")


class Results:
    """What the processes of each contestant printed, in rounds."""

    def __init__(self) -> None:
        self.rounds: dict[str, list[dict[str, Any]]] = {}

    def add(self, key: str, result: dict[str, Any]) -> None:
        self.rounds.setdefault(key, []).append(result)

    def slowdowns(self, key: str, clock: str) -> Sequence[float]:
        """Each recorded turn relative to the plain turn just before it."""
        ratios = []
        for number, result in enumerate(self.rounds[key]):
            plain = result["plain"] or self.rounds["plain"][number]["plain"]
            ratios += [a[clock] / b[clock] for a, b in zip(result["traced"], plain, strict=True)]
        return ratios

    def slowdown(self, key: str, clock: str) -> Ratio:
        return ratio_of(self.slowdowns(key, clock))

    def seconds(self, key: str, what: str, clock: str) -> float:
        """The least over all turns; `what`: "plain" or "traced"."""
        return float(min(turn[clock] for result in self.rounds[key] for turn in result[what]))

    def last(self, key: str, field: str) -> int | None:
        value = self.rounds[key][-1].get(field)
        return None if value is None else int(value)

    def per_event(self, key: str, field: str) -> float | None:
        count, size = self.last(key, "events"), self.last(key, field)
        return None if not count or size is None or count < 10_000 else size / count


def scaling(one: Results, many: Results, key: str, clock: str) -> float:
    """How much more slowly several threads record than one: 1 is linear.

    Linear is what the plain program does, which may have fewer cores than threads.
    """
    grown = many.seconds(key, "traced", clock) / one.seconds(key, "traced", clock)
    plain = many.seconds(key, "plain", clock) / one.seconds(key, "plain", clock)
    return grown / plain
