"""Which steps of a loop are recorded."""

from __future__ import annotations

import warnings
from collections.abc import Callable

from kymograph.profiler._actions import ProfilerAction


def schedule(
    *,
    wait: int,
    warmup: int,
    active: int,
    repeat: int = 0,
    skip_first: int = 0,
    skip_first_wait: int = 0,
) -> Callable[[int], ProfilerAction]:
    """A function from the number of a step to what the profiler does in it.

    After `skip_first` steps come cycles: `wait` steps in which nothing happens, `warmup` steps
    that are recorded and thrown away, `active` steps that are kept. After `repeat` cycles nothing
    more happens; 0 means no limit. If `skip_first_wait` is not 0, the first cycle skips its wait.
    """
    assert wait >= 0 and warmup >= 0 and active > 0 and repeat >= 0 and skip_first >= 0, (
        "Invalid profiler schedule arguments: wait, warmup, repeat and skip_first must not be "
        "negative, and active must be at least 1"
    )
    if warmup == 0:
        warnings.warn(
            "the schedule has no warmup: the first active step includes the cost of starting",
            stacklevel=2,
        )
    cycle = wait + warmup + active

    def action(step: int) -> ProfilerAction:
        assert step >= 0
        if step < skip_first:
            return ProfilerAction.NONE
        step -= skip_first
        if skip_first_wait:
            step += wait
        if repeat and step // cycle >= repeat:
            return ProfilerAction.NONE
        place = step % cycle
        if place < wait:
            return ProfilerAction.NONE
        if place < wait + warmup:
            return ProfilerAction.WARMUP
        last = place == cycle - 1
        return ProfilerAction.RECORD_AND_SAVE if last else ProfilerAction.RECORD

    return action


def always(_step: int) -> ProfilerAction:
    """What the profiler does without a schedule."""
    return ProfilerAction.RECORD
