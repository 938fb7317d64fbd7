"""What recording memory is to keep to, and whether it does."""

from __future__ import annotations

from tracer.targets import Target

from .contestants import Contestant
from .results import Results, scaling
from .workloads import Workload

# By workload and contestant: the most that is allowed, as a ratio to the plain program.
SLOWDOWNS = {
    ("calls", "native"): 1.05,
    ("calls", "python"): 1.05,
    ("calls", "all"): 1.05,
    ("calls", "both"): 1.05,
    ("objects", "python"): 1.8,
    ("objects", "both"): 2.5,
    ("imports", "native"): 1.15,
    ("imports", "python"): 1.15,
    ("imports", "all"): 1.15,
}
SAMPLED = 1.03
LINEAR = 0.8
EVENT_BYTES = 4.0


def of_workload(
    workload: Workload, results: Results, field: list[Contestant], clock: str
) -> list[Target]:
    found = []
    for c in field:
        if c.key not in results.rounds or not c.ours:
            continue
        limit = SAMPLED if c.key == "sampled" else SLOWDOWNS.get((workload.name, c.key))
        slowdown = results.slowdown(c.key, clock)
        name = f"{workload.name}: {c.label.removeprefix('kymograph, ')}"
        if limit:
            spread = f"{slowdown.low:.2f}..{slowdown.high:.2f}"
            if c.floor in results.rounds:
                spread += f"; floor {results.slowdown(c.floor, clock).median:.2f}"
            found.append(Target(name, slowdown.median, limit, "x", spread))
        if c.peer in results.rounds:
            peer = results.slowdown(c.peer, clock).median
            found.append(Target(f"{name}, relative to memray", slowdown.median / peer, 1.0, "x"))
        size = results.per_event(c.key, "event_bytes")
        if size is not None and c.key != "sampled":
            found.append(Target(f"{name}: on disk, per event", size, EVENT_BYTES, " B"))
    return found


def of_threads(
    all_results: dict[str, Results], field: list[Contestant], clock: str
) -> list[Target]:
    """What N threads take, relative to one, both relative to the plain program."""
    found = []
    one = all_results.get("1 thread")
    for name, many in all_results.items() if one else ():
        for c in field:
            if one and name.endswith("threads") and c.ours and c.key in many.rounds:
                grown = scaling(one, many, c.key, clock)
                what = f"{name}: {c.label.removeprefix('kymograph, ')}, relative to linear"
                found.append(Target(what, grown, 1 / LINEAR, "x"))
    return found
