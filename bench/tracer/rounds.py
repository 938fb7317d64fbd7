"""Contestants measured in turns of a few tens of milliseconds, as in alternate.h.

Machines change their speed from second to second, so two things measured one after the
other cannot be compared. Every round gives each contestant one turn; what is reported is
the least time of each, and the median and spread over rounds of ratios within a round.
"""

from __future__ import annotations

import gc
from collections.abc import Sequence
from dataclasses import dataclass
from time import thread_time_ns

from .contestants import Contestant
from .workloads import Workload


@dataclass(frozen=True)
class Ratio:
    median: float
    low: float  # a tenth of the rounds is below,
    high: float  # a tenth above

    def __str__(self) -> str:
        return f"{self.median:.2f} ({self.low:.2f}..{self.high:.2f})"


def quantile(values: Sequence[float], fraction: float) -> float:
    return sorted(values)[int(fraction * (len(values) - 1) + 0.5)]


def ratio_of(values: Sequence[float]) -> Ratio:
    return Ratio(quantile(values, 0.5), quantile(values, 0.1), quantile(values, 0.9))


class Times:
    """Nanoseconds of one call or iteration, of every contestant in every round."""

    def __init__(self, rounds: dict[str, list[float]]):
        self.rounds = rounds

    def least(self, key: str) -> float:
        return min(self.rounds[key])

    def added(self, key: str) -> float:
        """What tracing adds: the least traced time less the least untraced one."""
        return self.least(key) - self.least("untraced")

    def added_each(self, key: str) -> list[float]:
        return [a - b for a, b in zip(self.rounds[key], self.rounds["untraced"], strict=True)]

    def slowdown(self, key: str) -> Ratio:
        both = zip(self.rounds[key], self.rounds["untraced"], strict=True)
        return ratio_of([a / b for a, b in both])

    def ratio(self, key: str, to: str | None) -> Ratio | None:
        """What `key` adds relative to what `to` adds; None when that is next to nothing.

        Rounds in which `to` came out below untraced say nothing and are left out.
        """
        if to not in self.rounds or self.added(to) < 0.05 * self.least("untraced"):
            return None
        both = zip(self.added_each(key), self.added_each(to), strict=True)
        ratios = [a / b for a, b in both if b > 0]
        return ratio_of(ratios) if ratios else None


def turn(contestant: Contestant, workload: Workload, count: int) -> int:
    """CPU nanoseconds of this thread for doing it `count` times."""
    gc.collect()
    run = workload.run
    settle = int(count * contestant.settle) + 1
    contestant.start()
    try:
        run(settle)
        begin = thread_time_ns()
        run(count)
        return thread_time_ns() - begin
    finally:
        contestant.stop()


def count_for(contestant: Contestant, workload: Workload, turn_ns: float) -> int:
    """How often to do it for a turn to last that long."""
    count = 1
    while True:
        spent = turn(contestant, workload, count)
        if spent > turn_ns / 4:
            return int(count * turn_ns / spent) + 1
        count *= 2


def alternate(
    contestants: Sequence[Contestant], workload: Workload, rounds: int, turn_ns: float
) -> Times:
    gc.disable()
    gc.collect()
    gc.freeze()  # the collection before each turn then has little to look at
    counts = {c.key: count_for(c, workload, turn_ns) for c in contestants}
    times: dict[str, list[float]] = {c.key: [] for c in contestants}
    for number in range(rounds):
        # Forth and back, so that a machine that gets slower favours nobody.
        for c in contestants if number % 2 == 0 else reversed(contestants):
            spent = turn(c, workload, counts[c.key])
            times[c.key].append(spent / counts[c.key] / workload.calls)
    gc.unfreeze()
    gc.enable()
    return Times(times)
