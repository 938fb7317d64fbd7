"""The API of torch.profiler, with or without torch.

`from torch.profiler import …` becomes `from kymo.profiler import …`.
"""

from __future__ import annotations

import kymo._decorate  # noqa: F401  not first in a block that is profiled
from kymo import record_function
from kymo.profiler import itt, nvtx
from kymo.profiler._actions import (
    ProfilerAction,
    ProfilerActivity,
    ProfilerActivityConfig,
    supported_activities,
)
from kymo.profiler._annotate import (
    _record_function_with_args_enter,
    _record_function_with_args_exit,
    _RecordFunctionFast,
)
from kymo.profiler._averages import FunctionEventAvg
from kymo.profiler._base import _KinetoProfile
from kymo.profiler._config import _ExperimentalConfig
from kymo.profiler._devices import DeviceType, kineto_available
from kymo.profiler._events import EventList, FunctionEvent
from kymo.profiler._handlers import tensorboard_trace_handler
from kymo.profiler._profile import profile
from kymo.profiler._schedule import schedule

__all__ = [
    "DeviceType",
    "EventList",
    "FunctionEvent",
    "FunctionEventAvg",
    "ProfilerAction",
    "ProfilerActivity",
    "ProfilerActivityConfig",
    "_ExperimentalConfig",
    "_KinetoProfile",
    "_RecordFunctionFast",
    "_record_function_with_args_enter",
    "_record_function_with_args_exit",
    "itt",
    "kineto_available",
    "nvtx",
    "profile",
    "record_function",
    "schedule",
    "supported_activities",
    "tensorboard_trace_handler",
]
