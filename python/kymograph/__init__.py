"""Kymo records what a program does, and reads it back.

Record::

    with kymograph.trace("trace.kymo"):
        with kymograph.span("load"):
            ...

Read::

    with kymograph.open("trace.kymo") as capture:
        for event in capture.events():
            print(event.time, event.kind, event.name)

Every marking call (`span`, `instant`, `counter`, …) does next to nothing while no
session runs, so marks can stay in the program.
"""

from __future__ import annotations

import os

from kymograph import _core, _patterns
from kymograph._core import (
    Capture,
    CaptureError,
    Columns,
    Event,
    Events,
    Frame,
    Function,
    Info,
    SessionError,
    Snapshot,
    Span,
    Stats,
    Thread,
    async_begin,
    async_end,
    counter,
    flight_write,
    flow_in,
    flow_out,
    instant,
    metadata,
    pause,
    process_name,
    record_function,
    resume,
    running,
    span,
    stats,
    stop,
    thread_name,
)
from kymograph._size import parse_size
from kymograph._trace import trace

TYPE_CHECKING = False  # typing is not imported for it
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any, Literal

    from kymograph import profiler
    from kymograph._stacks import crash_stacks, dump_stacks
    from kymograph._traceback import (
        CapturedTraceback,
        add_frame_hook,
        gather_traceback,
        json_symbolize,
        remove_frame_hook,
        stack_stats,
        symbolize_addresses,
        symbolize_tracebacks,
    )
    from kymograph.profiler import (
        ProfilerAction,
        ProfilerActivity,
        profile,
        schedule,
        supported_activities,
        tensorboard_trace_handler,
    )

__version__: str = _core.version()

if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=_core.before_fork,
        after_in_parent=_core.after_fork_in_parent,
        after_in_child=_core.after_fork,
    )

# Modules that are imported when something of theirs is first asked for.
_LATER = {
    "kymograph.profiler": (
        "ProfilerAction",
        "ProfilerActivity",
        "profile",
        "schedule",
        "supported_activities",
        "tensorboard_trace_handler",
    ),
    "kymograph._stacks": ("crash_stacks", "dump_stacks"),
    "kymograph._traceback": (
        "CapturedTraceback",
        "add_frame_hook",
        "gather_traceback",
        "json_symbolize",
        "remove_frame_hook",
        "stack_stats",
        "symbolize_addresses",
        "symbolize_tracebacks",
    ),
}

__all__ = [
    "Capture",
    "CaptureError",
    "CapturedTraceback",
    "Columns",
    "Event",
    "Events",
    "Frame",
    "Function",
    "Info",
    "ProfilerAction",
    "ProfilerActivity",
    "SessionError",
    "Snapshot",
    "Span",
    "Stats",
    "Thread",
    "__version__",
    "add_frame_hook",
    "async_begin",
    "async_end",
    "counter",
    "crash_stacks",
    "dump_stacks",
    "flight_write",
    "flow_in",
    "flow_out",
    "gather_traceback",
    "instant",
    "json_symbolize",
    "metadata",
    "open",
    "pause",
    "process_name",
    "profile",
    "profiler",
    "record_function",
    "remove_frame_hook",
    "resume",
    "running",
    "schedule",
    "span",
    "stack_stats",
    "start",
    "stats",
    "stop",
    "supported_activities",
    "symbolize_addresses",
    "symbolize_tracebacks",
    "tensorboard_trace_handler",
    "thread_name",
    "trace",
]


def __getattr__(name: str) -> Any:
    import importlib

    for module, names in _LATER.items():
        if name in names or f"{__name__}.{name}" == module:
            found = importlib.import_module(module)
            globals().update({each: getattr(found, each) for each in names})
            return found if name not in names else globals()[name]
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})


def _cost_of_events(c_calls: bool) -> tuple[float, float, float]:
    from kymograph._calibration import costs  # most sessions have no budget

    return costs(c_calls)


def _native_callables() -> list[object]:
    from kymograph._thunks import native_callables

    return native_callables()


def _flight_options(flight: int | str | None, slow: float | str | None) -> tuple[int, int, int]:
    if flight is None and slow is None:
        return 0, 0, 0
    from kymograph._flight import parse  # most sessions are not flight recorders

    return parse(flight, slow)


def _sample_options(sample: int | str | None) -> tuple[int, int, str | None]:
    if sample is None:
        return 0, 0, None
    from kymograph import _sample  # most sessions take no samples

    return (*_sample.parse(sample), _sample.root)


def start(
    path: str | bytes | os.PathLike[str] | os.PathLike[bytes],
    *,
    budget: int | str | None = None,
    policy: Literal["help", "drop"] = "help",
    level: int = 1,
    calls: bool = True,
    c_calls: bool | Literal["fast"] = True,
    gc: bool = True,
    include: Sequence[str] = (),
    exclude: Sequence[str] = (),
    stdlib: bool = True,
    max_depth: int = 0,
    overhead: float = 0.0,
    flight: int | str | None = None,
    slow: float | str | None = None,
    sample: int | str | None = None,
) -> None:
    """Record this process into the capture `path`, until `stop` or the end of the process.

    budget: memory for records not yet written, in bytes or as "64M", "1G"; 64 MiB when None.
    policy: what a thread does when that memory is used up: "help" writes a part itself and
        loses nothing, "drop" drops records, counts them and notes the gap.
    level: zstd compression level, 1 to 19.
    calls: record every call of a Python function, on every thread; False leaves only what
        the program marks itself.
    c_calls: record calls of functions and types implemented in C too. "fast" is an
        experimental way at a fraction of the cost that misses some; see the documentation.
    gc: record garbage collections.
    include, exclude: patterns for files ("*/site-packages/*", "views.py"), packages and
        modules ("numpy") and functions ("Parser.*"); what is left out costs nothing.
    stdlib: False leaves the Python code of the standard library out.
    max_depth: calls nested deeper than this are not recorded; 0 means no limit.
    overhead: the share of its time the program may lose to tracing, 0.05 for 5 %; the
        tiniest and most frequent calls are switched off until it fits, and the capture
        says which. 0 records everything.
    flight: keep only the last part, in memory, and write it when the session ends and
        whenever `flight_write` asks for it: "10s", "100M" (of packed records), or both as
        "10s,100M".
    slow: with `flight`, write also when a call has taken this long: "200ms", or seconds.
    sample: take samples of the stack of every thread, Python and native frames, so many for
        each second that the thread runs: 1000. "100,wall" counts the time that it waits,
        too. With calls=False there are only samples, which cost next to nothing.

    An older capture at `path` is replaced; any other file there is left alone and
    FileExistsError is raised. Raises SessionError when a session runs already, ValueError
    for a wrong option, and OSError when the file cannot be made.
    """
    if not 1 <= level <= 19:
        raise ValueError(f"level must be 1 to 19, not {level}")
    if max_depth < 0:
        raise ValueError(f"max_depth must not be negative, and is {max_depth}")
    if overhead < 0 or (overhead and not _core.trace_can_throttle()):
        raise ValueError(
            f"overhead must be a fraction such as 0.05, not {overhead}"
            if overhead < 0
            else "an overhead budget is not possible with Python 3.11.0 to 3.11.3"
        )
    flight_bytes, flight_ns, slow_ns = _flight_options(flight, slow)
    sampling = _sample_options(sample)
    if calls:
        fast = c_calls == "fast"
        if fast:
            _core.trace_thunks(_native_callables())
        cost = _cost_of_events(c_calls is True) if overhead else ()
        left_out = [*exclude, *_patterns.own(), *(() if stdlib else _patterns.stdlib())]
        _core.trace_filter(list(include), left_out)
        _core.trace(2 if fast else bool(c_calls), gc, max_depth, overhead, *cost)
    _core.start(
        path,
        0 if budget is None else parse_size(budget),
        policy,
        level,
        flight_bytes,
        flight_ns,
        slow_ns,
        *sampling,
    )
    if sample is not None:
        from kymograph._sample import stop_at_exit

        stop_at_exit()
    try:
        _core.trace_failure()
    except Exception:
        stop()
        raise


def open(path: str | bytes | os.PathLike[str] | os.PathLike[bytes]) -> Capture:
    """Open the capture at `path`, which may still be written or be left by a killed process.

    Raises CaptureError when the file is no capture, empty, damaged or from a newer kymograph,
    and OSError (FileNotFoundError, PermissionError, …) when it cannot be read.
    """
    return _core.open(path)
