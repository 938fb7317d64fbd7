"""`_ExperimentalConfig`: options of torch.profiler that come and go."""

from __future__ import annotations

import warnings
from typing import Any


class _ExperimentalConfig:
    """Takes every option that torch's has. `record_python_gc_info`, `capture_overload_names` and
    `trace_only` have an effect; what `verbose` and `profile_all_threads` request is always
    recorded. The others are stored and ignored."""

    _defaults: dict[str, Any] = {  # noqa: RUF012
        "profiler_metrics": [],
        "profiler_measure_per_kernel": False,
        "verbose": False,
        "performance_events": [],
        "enable_cuda_sync_events": False,
        "adjust_profiler_step": False,
        "disable_external_correlation": False,
        "profile_all_threads": False,
        "capture_overload_names": False,
        "record_python_gc_info": False,
        "expose_kineto_event_metadata": False,
        "custom_profiler_config": "",
        "adjust_timestamps": False,
        "trace_only": False,
    }
    _ignored = ("profiler_metrics", "profiler_measure_per_kernel", "adjust_profiler_step")

    record_python_gc_info: bool

    def __init__(self, *args: Any, **options: Any) -> None:
        names = list(self._defaults)
        if len(args) > len(names):
            raise TypeError(f"_ExperimentalConfig takes at most {len(names)} arguments")
        given = dict(zip(names, args, strict=False))
        for name, value in options.items():
            if name not in self._defaults or name in given:
                raise TypeError(f"_ExperimentalConfig got an unexpected argument '{name}'")
            given[name] = value
        for name in self._ignored:
            if given.get(name):
                warnings.warn(f"{name} is ignored", FutureWarning, stacklevel=2)
        for name, default in self._defaults.items():
            value = given.get(name, default)
            setattr(self, name, list(value) if isinstance(default, list) else value)

    def __repr__(self) -> str:
        changed = [
            f"{name}={getattr(self, name)!r}"
            for name, default in self._defaults.items()
            if getattr(self, name) != default
        ]
        return f"_ExperimentalConfig({', '.join(changed)})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _ExperimentalConfig) and vars(self) == vars(other)

    __hash__ = None  # type: ignore[assignment]


# The values of __getstate__ of torch's class, in its order.
_STATE = (
    "verbose",
    "performance_events",
    "enable_cuda_sync_events",
    "adjust_profiler_step",
    "disable_external_correlation",
    "profile_all_threads",
    "capture_overload_names",
    "record_python_gc_info",
    "expose_kineto_event_metadata",
    "custom_profiler_config",
    "adjust_timestamps",
    "trace_only",
)
# Before 2.14 or so, these came first.
_OLDER = ("profiler_metrics", "profiler_measure_per_kernel")
# And up to 2.8 or so, these came last.
_LAST = ("performance_events",)


def _state(config: object) -> dict[str, Any]:
    """Return the options of torch's own class, which shows few of them as attributes."""
    get = getattr(config, "__getstate__", None)
    try:
        values = get() if get else None
    except Exception:
        return {}  # an object that cannot be pickled
    if not isinstance(values, tuple) or not values:
        return {}
    names: tuple[str, ...] = _STATE if isinstance(values[0], bool) else (*_OLDER, *_STATE)
    if isinstance(values[-1], list):
        first = [name for name in names if name not in _LAST]
        names = (*first[: len(values) - len(_LAST)], *_LAST)
    known = _ExperimentalConfig._defaults
    pairs = zip(names, values, strict=False)
    return {name: value for name, value in pairs if type(value) is type(known[name])}


def option(config: object, name: str) -> Any:
    """What `config`, ours or torch's or None, says about `name`."""
    default = _ExperimentalConfig._defaults[name]
    if config is None:
        return default
    return getattr(config, name, _state(config).get(name, default))
