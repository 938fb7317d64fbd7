"""The API of torch.profiler, with or without torch.

`from torch.profiler import …` becomes `from kymograph.profiler import …`.
"""

from __future__ import annotations

import kymograph._decorate  # noqa: F401  not first in a block that is profiled
from kymograph import record_function
from kymograph.profiler import itt, nvtx
from kymograph.profiler._actions import (
    ProfilerAction,
    ProfilerActivity,
    ProfilerActivityConfig,
    supported_activities,
)
from kymograph.profiler._annotate import (
    _record_function_with_args_enter,
    _record_function_with_args_exit,
    _RecordFunctionFast,
)
from kymograph.profiler._averages import FunctionEventAvg
from kymograph.profiler._base import _KinetoProfile
from kymograph.profiler._config import _ExperimentalConfig
from kymograph.profiler._devices import DeviceType, kineto_available
from kymograph.profiler._events import EventList, FunctionEvent
from kymograph.profiler._execution_trace import ExecutionTraceObserver
from kymograph.profiler._handlers import tensorboard_trace_handler
from kymograph.profiler._profile import profile
from kymograph.profiler._schedule import schedule

__all__ = [
    "DeviceType",
    "EventList",
    "ExecutionTraceObserver",
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
