"""`profile`: the profiler of torch.profiler, recording with kymograph."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from types import TracebackType
from typing import Any

from kymograph import _core
from kymograph.profiler import _torch
from kymograph.profiler._actions import ProfilerAction, ProfilerActivity
from kymograph.profiler._base import _KinetoProfile
from kymograph.profiler._schedule import always

Action = ProfilerAction | None  # None: the profiler ends


class profile(_KinetoProfile):
    """Record a block, or chosen steps of a loop, and ask what happened::

        with kymograph.profile(with_stack=True) as prof:
            work()
        print(prof.key_averages().table(sort_by="self_cpu_time_total"))
        prof.export_chrome_trace("trace.json.gz")

    activities: what to record; all that is supported when None.
    schedule: from the number of a step to a ProfilerAction, as `kymograph.schedule` makes it. The
        program calls `step` at the end of every step. Without one, everything is recorded.
    on_trace_ready: called with the profiler when a recording is complete.
    with_stack: record every call of a function, on every thread. With False only operators and
        annotations are recorded. None, the default, also takes samples, which `key_averages`
        shows when there is neither.
    record_shapes: record the inputs of operators: shapes, strides, types, numbers.
    with_flops: count floating-point operations, for the operators that torch counts; implies
        record_shapes.
    experimental_config: `record_python_gc_info` records garbage collections,
        `capture_overload_names` gives events their overload. Torch's own object is understood.
    execution_trace_observer: an ExecutionTraceObserver, or any object whose start, stop and cleanup
        are called. Default: one if the environment asks for it.
    acc_events: keep the events of all recordings, not only of the latest.
    custom_trace_id_callback: gives the id of each recording.
    budget: memory for records not yet written, as for `kymograph.start`.
    profile_memory: record what torch allocates and frees for tensors: the columns "CPU Mem" of
        tables and events "[memory]" in the trace. With record_shapes and with_stack, also what the
        memory is used for: `export_memory_timeline`.
    with_modules: noted in the trace; modules are named with with_stack.
    post_processing_timeout_s: `events`, `key_averages` and `export_stacks` return after about this
        many seconds. If that was too soon to read everything, their results are of what was read,
        and the logger "torch.autograd.profiler" gets a warning.

    While another profiler, or a session of `kymograph run`, `start` or `trace`, records the
    process, this is a part of its capture. Functions are then recorded only if that records them.
    """

    def __init__(
        self,
        *,
        activities: Iterable[Any] | Mapping[Any, Iterable[str]] | None = None,
        schedule: Callable[[int], ProfilerAction] | None = None,
        on_trace_ready: Callable[[Any], Any] | None = None,
        record_shapes: bool = False,
        profile_memory: bool = False,
        with_stack: bool | None = None,
        with_flops: bool = False,
        with_modules: bool = False,
        experimental_config: Any = None,
        execution_trace_observer: Any = None,
        acc_events: bool = False,
        use_cuda: bool | None = None,
        custom_trace_id_callback: Callable[[], str] | None = None,
        post_processing_timeout_s: float | None = None,
        budget: int | str | None = None,
    ) -> None:
        if activities is None and use_cuda:
            activities = [ProfilerActivity.CPU, ProfilerActivity.CUDA]
        super().__init__(
            activities=activities,
            record_shapes=record_shapes,
            profile_memory=profile_memory,
            with_stack=with_stack,
            with_flops=with_flops,
            with_modules=with_modules,
            experimental_config=experimental_config,
            execution_trace_observer=execution_trace_observer,
            acc_events=acc_events,
            custom_trace_id_callback=custom_trace_id_callback,
            post_processing_timeout_s=post_processing_timeout_s,
            budget=budget,
        )
        self.schedule = schedule or always
        self.record_steps = schedule is not None
        self.on_trace_ready = on_trace_ready
        self.step_num = 0
        self.current_action = self._action(0)
        self.step_rec_fn: _core.Span | None = None
        # Asked once: what a step calls is recorded.
        self._tells_steps = bool(os.environ.get("KINETO_USE_DAEMON"))
        _torch.count_steps("init_step_count")

    def _action(self, step: int) -> ProfilerAction:
        action = self.schedule(step)
        if not isinstance(action, ProfilerAction):
            name = str(getattr(action, "name", ""))
            if name not in ProfilerAction.__members__:  # torch's have the same names
                raise ValueError(f"the schedule gave {action!r} for step {step}, no ProfilerAction")
            action = ProfilerAction[name]
        if action is ProfilerAction.DEVICE_STOPPED:
            raise ValueError("a schedule must not give DEVICE_STOPPED")
        return action

    def __enter__(self) -> profile:
        self.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        try:
            self.stop()
        finally:
            _torch.count_steps("erase_step_count")
            if self.execution_trace_observer:
                self.execution_trace_observer.cleanup()

    def start(self) -> None:
        """Begin with step `step_num`, 0 at first."""
        self._transit(ProfilerAction.NONE, self.current_action)
        self._open_step()

    def stop(self) -> None:
        """End. What is being recorded is complete by that, and `on_trace_ready` is called."""
        self._close_step()
        if self._recording is not None or self.current_action is ProfilerAction.NONE:
            self._transit(self.current_action, None)

    def step(self) -> None:
        """The program's step has ended and another begins."""
        action = self._action(self.step_num + 1)
        self._close_step()
        before, self.current_action = self.current_action, action
        self.step_num += 1
        self._transit(before, action)
        if self._tells_steps:
            _torch.count_steps("increment_step")
        self._open_step()

    def _open_step(self) -> None:
        if self.record_steps:
            self.step_rec_fn = _core.span(f"ProfilerStep#{self.step_num}")
            self.step_rec_fn.__enter__()

    def _close_step(self) -> None:
        span, self.step_rec_fn = self.step_rec_fn, None
        if span is not None:
            span.__exit__(None, None, None)

    def _trace_ready(self) -> None:
        if self.on_trace_ready and self._results is not None:
            self.on_trace_ready(self)

    def _keeps_nothing(self) -> bool:
        return self.on_trace_ready is None

    def _transit(self, before: ProfilerAction, after: Action) -> None:
        for act in _TRANSITIONS.get((before, after), ()):
            act(self)

    def _warn(self, what: str) -> None:
        warnings.warn(f"Incorrect schedule: {what}", stacklevel=5)


_NONE, _WARMUP = ProfilerAction.NONE, ProfilerAction.WARMUP
_RECORD, _SAVE = ProfilerAction.RECORD, ProfilerAction.RECORD_AND_SAVE
_prepare, _start, _stop = profile.prepare_trace, profile.start_trace, profile.stop_trace
_ready = profile._trace_ready


def _warning(what: str) -> Callable[[profile], None]:
    return partial(profile._warn, what=what)


# What is done on the way from one action to the next; pairs that are not here do nothing.
_TRANSITIONS: dict[tuple[ProfilerAction, Action], tuple[Callable[[profile], None], ...]] = {
    (_NONE, _WARMUP): (_prepare,),
    (_NONE, _RECORD): (_prepare, _start),
    (_NONE, _SAVE): (_prepare, _start),
    (_WARMUP, _NONE): (_warning("WARMUP followed by NONE"), _start, _stop),
    (_WARMUP, _RECORD): (_start,),
    (_WARMUP, _SAVE): (_start,),
    (_WARMUP, None): (_start, _stop),
    (_RECORD, _NONE): (_warning("RECORD followed by NONE"), _stop),
    (_RECORD, _WARMUP): (_warning("RECORD followed by WARMUP"), _stop),
    (_RECORD, None): (_stop, _ready),
    (_SAVE, _NONE): (_stop, _ready),
    (_SAVE, _WARMUP): (_stop, _ready, _prepare),
    (_SAVE, _RECORD): (_stop, _ready, _prepare, _start),
    (_SAVE, _SAVE): (_stop, _ready, _prepare, _start),
    (_SAVE, None): (_stop, _ready),
}
