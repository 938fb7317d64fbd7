"""What a profiler may do at a step, and which activities it may record."""

from __future__ import annotations

import enum
import warnings
from collections.abc import Iterable, Mapping
from typing import Any


class UnknownActivityType(ValueError, RuntimeError):
    """There is no such activity type. torch raises a RuntimeError."""


class ProfilerAction(enum.Enum):
    """What the profiler does during a step."""

    NONE = 0
    WARMUP = 1
    RECORD = 2
    RECORD_AND_SAVE = 3
    DEVICE_STOPPED = 4  # a schedule never returns this

    # Enum's own is a Python function in another module; its calls would be recorded.
    def __hash__(self) -> int:
        return id(self)


class ProfilerActivity(enum.Enum):
    """Kinds of work that may be recorded."""

    CPU = 0
    XPU = 1
    MTIA = 2
    CUDA = 3
    HPU = 4
    PrivateUse1 = 5

    def __hash__(self) -> int:
        return id(self)


class ProfilerActivityConfig:
    """What to record of an activity: the names of its types, None for all."""

    def __init__(
        self,
        activity_types: list[str] | None = None,
        profiler_configs: Iterable[Any] = (),
    ) -> None:
        self.activity_types = activity_types
        self.profiler_configs = list(profiler_configs)


_CPU_TYPES = frozenset(
    """CPU_OP CPU_INSTANT_EVENT USER_ANNOTATION EXTERNAL_CORRELATION XPU_RUNTIME XPU_DRIVER
    CUDA_RUNTIME CUDA_DRIVER PYTHON_FUNCTION PRIVATEUSE1_RUNTIME PRIVATEUSE1_DRIVER""".split()
)
_DEVICE_TYPES = frozenset(
    """GPU_MEMCPY GPU_MEMSET GPU_USER_ANNOTATION CONCURRENT_KERNEL CUDA_RUNTIME CUDA_DRIVER
    CUDA_SYNC OVERHEAD""".split()
)
_MTIA_TYPES = frozenset("MTIA_CCP_EVENTS MTIA_RUNTIME MTIA_INSIGHT MTIA_COUNTERS".split())

# The type names allowed for each activity; None allows any.
_TYPES: dict[ProfilerActivity, frozenset[str] | None] = {
    ProfilerActivity.CPU: _CPU_TYPES,
    ProfilerActivity.CUDA: _DEVICE_TYPES,
    ProfilerActivity.MTIA: _MTIA_TYPES,
    ProfilerActivity.HPU: frozenset({"HPU_OP"}),
    ProfilerActivity.XPU: None,  # also names of hardware metrics
    ProfilerActivity.PrivateUse1: None,
}


def supported_activities() -> set[ProfilerActivity]:
    """The activities that can be recorded here."""
    return {ProfilerActivity.CPU}


def activity_of(value: Any) -> ProfilerActivity:
    """Convert `value`, ours or torch's, to ours. Raises TypeError when it is neither."""
    if isinstance(value, ProfilerActivity):
        return value
    name = str(getattr(value, "name", ""))
    if type(value).__name__ == "ProfilerActivity" and name in ProfilerActivity.__members__:
        return ProfilerActivity[name]
    raise TypeError(
        f"an activity must be a ProfilerActivity or a dict of them, not {type(value).__name__}"
    )


def _types_of(activity: ProfilerActivity, names: Any) -> frozenset[str] | None:
    names = getattr(names, "activity_types", names)  # a ProfilerActivityConfig, also torch's
    if names is None:
        return None
    known = _TYPES[activity]
    chosen = frozenset(names)
    for name in sorted(chosen):
        if known is not None and name not in known:
            raise UnknownActivityType(f"Unknown or non-member activity type name: '{name}'")
    return chosen


def parse_activities(
    activities: Iterable[Any] | Mapping[Any, Iterable[str]] | None,
) -> dict[ProfilerActivity, frozenset[str] | None]:
    """Return what to record: for each activity the names of its types, None for all.

    Raises ValueError for an activity given twice and for an unknown type, TypeError for anything
    that is not an activity, and AssertionError when there is none.
    """
    if activities is None:
        return dict.fromkeys(supported_activities())
    chosen: dict[ProfilerActivity, frozenset[str] | None] = {}

    def add(activity: ProfilerActivity, types: frozenset[str] | None) -> None:
        if activity in chosen:
            raise ValueError(f"activity {activity.name} is given twice")
        chosen[activity] = types

    if isinstance(activities, (str, bytes)):
        raise TypeError("activities must be a list of ProfilerActivity, not a string")
    items: Iterable[Any] = [activities] if isinstance(activities, Mapping) else activities
    for item in items:
        if isinstance(item, Mapping):
            for key, names in item.items():
                activity = activity_of(key)
                add(activity, _types_of(activity, names))
        else:
            add(activity_of(item), None)
    assert chosen, "No valid profiler activities found"
    _warn_of_devices(chosen)
    return chosen


_warned = False


def _warn_of_devices(chosen: Iterable[ProfilerActivity]) -> None:
    """Warn once that devices are not recorded."""
    global _warned
    missing = sorted(a.name for a in set(chosen) - supported_activities())
    if missing and not _warned:
        _warned = True
        warnings.warn(
            f"{', '.join(missing)} is not recorded here, only CPU is", UserWarning, stacklevel=4
        )
