"""`_ExperimentalConfig`: options of torch.profiler that come and go."""

from __future__ import annotations

import warnings
from typing import Any


class _ExperimentalConfig:
    """Takes every option that torch's has. Of these, kymograph heeds `record_python_gc_info`;
    what `verbose` and `profile_all_threads` ask for is always there. The others are kept
    and do nothing."""

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


def option(config: object, name: str) -> Any:
    """What `config`, ours or torch's or None, says about `name`."""
    return getattr(config, name, _ExperimentalConfig._defaults[name])
