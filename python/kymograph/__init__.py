"""Kymograph records what a program does and reads it back.

Record::

    with kymograph.trace("trace.kymo"):
        with kymograph.span("load"):
            ...

Read::

    with kymograph.open("trace.kymo") as capture:
        for event in capture.events():
            print(event.time, event.kind, event.name)

Marking calls (`span`, `instant`, `counter`, …) cost almost nothing while no session runs, so they
can stay in the program.
"""

from __future__ import annotations

import os
import sys
import time

from kymograph import _callcost, _core, _patterns, _session
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
    op,
    pause,
    process_name,
    resume,
    running,
    span,
    stats,
    thread_name,
)
from kymograph._session import Session, stop

TYPE_CHECKING = False  # avoids importing typing
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from types import CodeType
    from typing import Any, Literal

    from kymograph import memory as heap
    from kymograph import profiler
    from kymograph._stacks import crash_stacks, dump_stacks
    from kymograph._tasks import Blocked, Task, Wait, blocked, tasks
    from kymograph._torch.annotations import record_function
    from kymograph._trace import trace
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
        ExecutionTraceObserver,
        ProfilerAction,
        ProfilerActivity,
        profile,
        schedule,
        supported_activities,
        tensorboard_trace_handler,
    )

__version__: str = _core.version()

_USUAL = 100.0, 100.0, 0.0, 0.0  # cost of an event, where it cannot be measured
_BESIDES = 100  # samples per second when an overhead budget may switch calls off


if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=_core.before_fork,
        after_in_parent=_core.after_fork_in_parent,
        after_in_child=_core.after_fork,
    )

# Show the public names in messages about wrong arguments and in help().
for _function in (
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
    resume,
    running,
    stats,
    thread_name,
):
    _function.__module__ = __name__
del _function

# Modules imported on first use of one of their names. Every new interpreter that is recorded
# imports this one: what is not needed to start a usual session is imported when it is.
_LATER: dict[str, tuple[str, ...]] = {
    "kymograph.memory": (),
    "kymograph.profiler": (
        "ExecutionTraceObserver",
        "ProfilerAction",
        "ProfilerActivity",
        "profile",
        "schedule",
        "supported_activities",
        "tensorboard_trace_handler",
    ),
    "kymograph._stacks": ("crash_stacks", "dump_stacks"),
    "kymograph._torch.annotations": ("record_function",),
    "kymograph._tasks": ("Blocked", "Task", "Wait", "blocked", "tasks"),
    "kymograph._trace": ("trace",),
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
    "Blocked",
    "Capture",
    "CaptureError",
    "CapturedTraceback",
    "Columns",
    "Event",
    "Events",
    "ExecutionTraceObserver",
    "Frame",
    "Function",
    "Info",
    "ProfilerAction",
    "ProfilerActivity",
    "Session",
    "SessionError",
    "Snapshot",
    "Span",
    "Stats",
    "Task",
    "Thread",
    "Wait",
    "__version__",
    "add_frame_hook",
    "async_begin",
    "async_end",
    "blocked",
    "counter",
    "crash_stacks",
    "dump_stacks",
    "flight_write",
    "flow_in",
    "flow_out",
    "gather_traceback",
    "instant",
    "json_symbolize",
    "memory",
    "metadata",
    "op",
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
    "tasks",
    "tensorboard_trace_handler",
    "thread_name",
    "trace",
]


def __getattr__(name: str) -> Any:
    for module, names in _LATER.items():
        if name in names or f"{__name__}.{name}" == module:
            __import__(module)  # importlib takes time
            found = sys.modules[module]
            globals().update({each: getattr(found, each) for each in names})
            return found if name not in names else globals()[name]
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})


def _costs(c_calls: bool, with_budget: bool) -> _callcost.Costs | None:
    """Return what recording a call costs in such a session, or None when it cannot be measured."""
    if known := _callcost.known.get((c_calls, with_budget)):
        return known
    from kymograph import _calibration

    try:
        return _calibration.costs(c_calls, with_budget)
    except (OSError, SessionError):  # no temporary files, or another thread is starting a session
        return None


def _flight_options(flight: str | None, slow: str | None) -> tuple[int, int, int, str | None]:
    if flight is None and slow is not None:
        raise ValueError("slow works only with flight")
    if flight is None:
        return 0, 0, 0, None
    from kymograph._units import parse_flight, parse_slow

    size, span = parse_flight(flight)
    slow_ns, slow_calls = (0, None) if slow is None else parse_slow(slow)
    return size, span, slow_ns, slow_calls


def _share(overhead: float | str) -> float:
    from kymograph._units import parse_share

    return parse_share(overhead)


def _room(budget: int | str) -> int:
    from kymograph._units import LEAST_BUDGET, parse_size

    return parse_size(budget, LEAST_BUDGET)


def _list(patterns: str | Sequence[str]) -> list[str]:
    return [patterns] if isinstance(patterns, str) else list(patterns)


def _sample_options(sample: int | str | None, stacks: bool) -> tuple[int, int, str | None]:
    """Return rate, clock and root of samples; with `stacks`, other events have stacks as well."""
    if sample is None and not stacks:
        return 0, 0, None
    from kymograph import _sample

    return (*(_sample.parse(sample) if sample is not None else (0, 0)), _sample.root)


def _memory_options(memory: bool | str | Mapping[str, Any] | None) -> heap.Options | None:
    if memory is None or memory is False:
        return None
    from kymograph.memory import options_from  # most sessions do not record memory

    return options_from(memory)


def _ops_mode(ops: bool | str | None, sources: Mapping[str, bool | str]) -> int:
    """Return the mode of the torch source, after preparing it; 0: off."""
    switch = None
    for name in sources:
        if name.lower() in ("torch", "*"):
            switch = sources[name]
    if not ops and switch in (None, False, "off"):
        return 0
    from kymograph import _torch  # most sessions record no operators

    mode = _torch.mode_from(ops)
    if switch is not None:
        mode = (mode or len(_torch.MODES)) if _is_on("torch", switch) else 0
    if mode and not running():
        _torch.prepare()
    return mode


def _is_on(source: str, value: bool | str) -> bool:
    if value not in (True, False, "on", "off"):
        raise ValueError(f"source {source!r} must be True or False, not {value!r}")
    return value in (True, "on")


def _source_list(sources: Mapping[str, bool | str]) -> str:
    """Return the value for `kymo_options.sources`."""
    return ",".join(f"{name}={'on' if _is_on(name, sources[name]) else 'off'}" for name in sources)


def _record(
    path: str | bytes | os.PathLike[str] | os.PathLike[bytes],
    named: CodeType | None = None,
    *,
    budget: int | str | None = None,
    policy: Literal["help", "drop"] = "help",
    level: int = 1,
    calls: bool = True,
    c_calls: bool = True,
    gc: bool = True,
    include: str | Sequence[str] = (),
    exclude: str | Sequence[str] = (),
    stdlib: bool = True,
    max_depth: int = 0,
    overhead: float | str = 0.0,
    flight: str | None = None,
    slow: str | None = None,
    sample: int | str | None = None,
    sources: Mapping[str, bool | str] | None = None,
    memory: bool | str | Mapping[str, Any] | None = None,
    ops: bool | str = False,
    command: bool = True,
    brief: bool = False,
    watched: CodeType | None = None,
    lines: bool = False,
    clock_rate: str | None = None,
) -> None:
    """Start recording. Calls of the code `named`, if any, are named after the type of their first
    argument, as calls of torch's modules are: "nn.Module: Linear_0". The function given to
    `_core.named_watch` is called with each such argument when it is first seen, and with the first
    argument of every call of the code `watched`.
    lines: record from which line each call is made. brief: the process may end soon.
    clock_rate: `_core.clock_rate` of another process."""
    if not 1 <= level <= 19:
        raise ValueError(f"level must be 1 to 19, not {level}")
    if isinstance(c_calls, str):
        raise ValueError(
            'c_calls="fast" was removed; use c_calls=True, or overhead=0.05 for less cost'
            if c_calls == "fast"
            else f"c_calls must be True or False, not {c_calls!r}"
        )
    if max_depth < 0:
        raise ValueError(f"max_depth must not be negative, got {max_depth}")
    share = _share(overhead) if overhead else 0.0
    if share and not _core.trace_can_throttle():
        raise ValueError("an overhead budget does not work with Python 3.11.0 to 3.11.3")
    room = 0 if budget is None else _room(budget)
    began = time.process_time_ns()
    flight_bytes, flight_ns, slow_ns, slow_calls = _flight_options(flight, slow)
    if share and calls and sample is None:
        sample = _BESIDES
    wanted = _memory_options(memory)
    sampling = _sample_options(sample, wanted is not None)
    switched = {"python": calls, **(sources or {})}
    if wanted:
        switched = {"memory": True, **switched}
    ops_mode = _ops_mode(ops, sources or {})
    if ops_mode:
        switched = {"torch": True, **switched}
    costs = python = None
    if _is_on("python", switched["python"]) and not running():
        costs = _costs(bool(c_calls), share > 0)
        cost = costs.of_events(bool(c_calls)) if costs and share else _USUAL
        python = (
            bool(c_calls),
            gc,
            max_depth,
            _list(include),
            [*_list(exclude), *_patterns.own(), *(() if stdlib else _patterns.stdlib())],
            bool(include or exclude or not stdlib),
            share,
            (*cost, time.process_time_ns() - began),
            named,
            watched,
            "nn.Module: ",
            lines,
        )
    arguments = (
        room,
        policy,
        level,
        _source_list(switched),
        python,
        flight_bytes,
        flight_ns,
        slow_ns,
        *sampling,
        not command,
        slow_calls,
        wanted.for_core() if wanted else None,
        ops_mode,
        brief,
        clock_rate,
    )
    _core.start(path, *arguments)
    if wanted:
        try:
            wanted.watch()
        except BaseException:
            _core.stop()
            raise
    facts = costs.metadata() if costs else {}
    for key, value in facts.items():
        metadata(key, value)
    simple = not (share or wanted or ops_mode) and sample is None
    _session.repeatable = (arguments, facts) if simple else None
    if sample is not None:
        from kymograph import _sample

        _sample.stop_at_exit()


@_session.starts
def start(
    path: str | bytes | os.PathLike[str] | os.PathLike[bytes],
    *,
    budget: int | str | None = None,
    policy: Literal["help", "drop"] = "help",
    level: int = 1,
    calls: bool = True,
    c_calls: bool = True,
    gc: bool = True,
    include: str | Sequence[str] = (),
    exclude: str | Sequence[str] = (),
    stdlib: bool = True,
    max_depth: int = 0,
    overhead: float | str = 0.0,
    flight: str | None = None,
    slow: str | None = None,
    sample: int | str | None = None,
    sources: Mapping[str, bool | str] | None = None,
    memory: bool | str | Mapping[str, Any] | None = None,
    ops: bool | str = False,
    command: bool = True,
) -> None:
    """Record this process into the capture `path` until `stop` or the end of the process.

    Returns the Session, which has `stop` and is a context manager. While another session runs,
    this one becomes a range in its capture; see Session.

    budget: memory for records not yet written, such as "64M" or "1G"; default 64M, minimum 1M.
    policy: what a thread does when that memory is full: "help" writes some of it to the file and
        loses nothing, "drop" drops records and records the gap.
    level: zstd compression level, 1 to 19.
    calls: record every call of a Python function, on every thread; with False only the program's
        own marks are recorded.
    c_calls: also record calls of functions and types implemented in C.
    gc: record garbage collections.
    include, exclude: one or more patterns for files ("*/site-packages/*", "views.py"),
        packages and modules ("numpy") and functions ("Parser.*"); functions left out cost nothing.
    stdlib: False leaves out the Python code of the standard library.
    max_depth: do not record calls nested deeper than this; 0 means no limit.
    overhead: how much tracing may slow the program down, "5%" or 0.05. The shortest, most frequent
        calls are switched off until it fits, and the capture lists them. Samples are taken too,
        100 per second unless `sample` is given, to show the time spent in those calls. 0 records
        everything.
    flight: keep only the last part, in memory, and write it when the session ends and when
        `flight_write` is called: "10s", "100M" (of packed records), or both as "10s,100M".
    slow: with `flight`, also write when a call has taken this long: "200ms". Waiting does not
        count. "PATTERN=200ms": only calls and spans whose name matches, with all of their time.
    sample: sample the stack of every thread, Python and native frames, this many times per second
        of CPU time: 1000. "100,wall" counts elapsed time instead, waiting included. With
        calls=False only samples are recorded, which cost little.
    sources: switch sources on or off by name for this session: {"python": False}. Others keep the
        setting they were registered with; "python" is the source that `calls` switches.

    memory: record allocations too: "exact", "sampled" or "live", or a dict with the options of
        `kymograph.memory.start`: {"mode": "sampled", "rate": "256K"}.
    ops: record PyTorch's operators, on every thread, with their inputs and outputs: True or "full";
        "shapes" without the outputs, "names" without any. torch may be imported later.
    command: store the command line of the process in the capture.

    An older capture at `path` is replaced; for any other file FileExistsError is raised. Raises
    ValueError for an invalid option, and OSError when the file cannot be created.
    """
    _record(
        path,
        budget=budget,
        policy=policy,
        level=level,
        calls=calls,
        c_calls=c_calls,
        gc=gc,
        include=include,
        exclude=exclude,
        stdlib=stdlib,
        max_depth=max_depth,
        overhead=overhead,
        flight=flight,
        slow=slow,
        sample=sample,
        sources=sources,
        memory=memory,
        ops=ops,
        command=command,
    )


_start_named = _session.starts(_record)  # `start` for the profiler, and for child processes


def open(
    path: str | bytes | os.PathLike[str] | os.PathLike[bytes], *, process: str | int | None = None
) -> Capture:
    """Open the capture at `path`; it may still be being recorded, or be left by a killed process.

    If child processes were recorded too, all are opened as one capture. process: only those with
    this pid, index in `kymograph info`, or name.

    Raises CaptureError when the file is not a capture, is empty, damaged or from a newer
    kymograph, ProcessLookupError when there is no such process, and OSError (FileNotFoundError,
    PermissionError, …) when it cannot be read.
    """
    return _core.open_family(path, None if process is None else str(process))
