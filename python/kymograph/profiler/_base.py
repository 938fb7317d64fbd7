"""A profiler without a schedule: a series of recordings, and their results."""

from __future__ import annotations

import atexit
import json
import os
import shutil
import sys
import warnings
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import kymograph
import kymograph._torch
from kymograph import _core
from kymograph.profiler import _metadata, _names, _torch
from kymograph.profiler._actions import ProfilerActivity, activity_of, parse_activities
from kymograph.profiler._averages import FunctionEventAvg
from kymograph.profiler._config import _ExperimentalConfig, option
from kymograph.profiler._events import EventList, Grouping, Options
from kymograph.profiler._execution_trace import ExecutionTraceObserver
from kymograph.profiler._memory_profile import MemoryProfile
from kymograph.profiler._recording import Recording
from kymograph.profiler._results import Results, Stats
from kymograph.profiler._table import Rows

Path = str | os.PathLike[str]

_CATEGORIES_NEED = ("record_shapes", "profile_memory", "with_stack")  # arguments of a profiler

# Profilers between start and stop. They are kept alive while they record, even if the program
# drops them.
_active: dict[int, _KinetoProfile] = {}


def is_recording() -> bool:
    """Is any profiler between start and stop?"""
    return bool(_active)


def _stop_at_exit() -> None:
    for prof in list(_active.values()):
        prof._finish_at_exit()


class _KinetoProfile:
    """Records what happens between `start` and `stop`; has no schedule.

    The arguments are those of `profile`.
    """

    def __init__(
        self,
        *,
        activities: Iterable[Any] | Mapping[Any, Iterable[str]] | None = None,
        record_shapes: bool = False,
        profile_memory: bool = False,
        with_stack: bool | None = None,
        with_flops: bool = False,
        with_modules: bool = False,
        experimental_config: Any = None,
        execution_trace_observer: Any = None,
        acc_events: bool = False,
        custom_trace_id_callback: Callable[[], str] | None = None,
        post_processing_timeout_s: float | None = None,
        budget: int | str | None = None,
    ) -> None:
        self._types = parse_activities(activities)
        self.activities = set(self._types)
        if with_modules:
            warnings.warn(
                "with_modules is deprecated; modules are named with with_stack=True",
                FutureWarning,
                stacklevel=3,
            )
        if with_stack and option(experimental_config, "trace_only"):
            warnings.warn("trace_only has no effect with with_stack=True", stacklevel=3)
        theirs = not isinstance(experimental_config, _ExperimentalConfig)  # ours has told it
        if theirs and option(experimental_config, "adjust_profiler_step"):
            warnings.warn("adjust_profiler_step is ignored", FutureWarning, stacklevel=3)
        # Not `< 0`, which is false for a NaN.
        if post_processing_timeout_s is not None and not post_processing_timeout_s >= 0:
            raise ValueError("post_processing_timeout_s must be non-negative")
        self.record_shapes = record_shapes or with_flops
        self.with_flops = with_flops
        self.profile_memory = profile_memory
        self.with_stack = bool(with_stack)
        # By default take samples, so that there is something to show without annotations.
        self._samples = with_stack is None
        self.with_modules = with_modules
        self.experimental_config = experimental_config
        if execution_trace_observer is None:
            execution_trace_observer = ExecutionTraceObserver.build_execution_trace_obs_from_env()
        self.execution_trace_observer = execution_trace_observer
        self.acc_events = acc_events
        self.custom_trace_id_callback = custom_trace_id_callback
        self.post_processing_timeout_s = post_processing_timeout_s
        self.budget = budget
        self.preset_metadata: dict[str, str] = {}
        self._metadata: dict[str, str] = {}
        self._trace_id: str | None = None
        self._recording: Recording | None = None
        self._results: Results | None = None

    # ---- a recording

    def _wants(self, kind: str) -> bool:
        if ProfilerActivity.CPU not in self._types:
            return False
        types = self._types[ProfilerActivity.CPU]
        return types is None or kind in types

    def _ops_mode(self) -> str:
        """How operators are recorded; "" if they are not."""
        if not self._wants("CPU_OP") or not kymograph._torch.is_imported():
            return ""
        observer = self.execution_trace_observer
        if isinstance(observer, ExecutionTraceObserver) and observer.is_registered:
            return "full"
        return "shapes" if self.record_shapes else "names"

    def _has_categories(self) -> bool:
        """Is everything recorded that the categories of memory are found by?"""
        return all(getattr(self, name) for name in _CATEGORIES_NEED)

    def prepare_trace(self) -> None:
        """Start warming up: record everything, and discard it."""
        self._begin()

    def _begin(self) -> None:
        if self._recording is not None:  # started twice: what was recorded is dropped
            self._end(self._release())
        recording = Recording()
        calls = self.with_stack and self._wants("PYTHON_FUNCTION")
        gc = bool(option(self.experimental_config, "record_python_gc_info"))
        self._trace_id = (
            str(self.custom_trace_id_callback())
            if self.custom_trace_id_callback
            else _metadata.new_trace_id()
        )
        _names.refresh()
        ops = self._ops_mode()
        _torch.before_start(ops)
        try:
            samples = self._samples and self._wants("PYTHON_FUNCTION")
            recording.begin(
                calls=calls,
                gc=gc,
                budget=self.budget,
                samples=samples,
                ops=ops,
                memory=self.profile_memory,
                blocks=self._has_categories() and ops != "",
            )
        except BaseException:
            _torch.after_stop()
            raise
        self._recording = recording
        _active[id(self)] = self
        atexit.unregister(_stop_at_exit)
        atexit.register(
            _stop_at_exit
        )  # registered after the recording's finalizer, so it runs first

    def start_trace(self) -> None:
        """Record, from now on."""
        if self._recording is None:
            self._begin()
        self._metadata = {**_metadata.of_environment(), **self.preset_metadata, **self._metadata}
        for flag in ("profile_memory", "with_stack", "record_shapes", "with_modules", "with_flops"):
            if getattr(self, flag):
                self._metadata[flag] = "1"
        if self.execution_trace_observer:
            if not isinstance(self.execution_trace_observer, ExecutionTraceObserver):
                _core.torch_others(True)
            try:
                self.execution_trace_observer.start()
            except BaseException:
                self._end(self._release())
                raise
        # Last, so that the work above is not recorded.
        assert self._recording is not None
        self._recording.open_window()

    def stop_trace(self) -> None:
        """End the recording. Its results are available from now on."""
        recording = self._release()
        if recording is None:
            return
        recording.close_window()
        try:
            if self.execution_trace_observer:
                self.execution_trace_observer.stop()
        finally:
            # If writing failed, results for what was written are still available.
            try:
                self._end(recording)
            finally:
                self._take(recording)

    def _release(self) -> Recording | None:
        """Return the recording, which this profiler has no longer."""
        recording, self._recording = self._recording, None
        _active.pop(id(self), None)
        return recording

    def _end(self, recording: Recording | None) -> None:
        if self.execution_trace_observer:
            _core.torch_others(False)
        _torch.after_stop()
        if recording is not None:
            recording.stop()

    def _take(self, recording: Recording) -> None:
        """`recording` is complete: take results from it."""
        if recording.owner != os.getpid():
            return  # a forked child: the recording is its parent's
        if not (self._wants("USER_ANNOTATION") or self._wants("PYTHON_FUNCTION")):
            recording.shut_window()
        info = _metadata.distributed_info()
        if info is not None:
            self._metadata.setdefault("distributedInfo", json.dumps(info))
        kept = self._results.recordings if self._results and self.acc_events else []
        options = Options(
            flops=self.with_flops,
            overloads=bool(option(self.experimental_config, "capture_overload_names")),
            memory=self.profile_memory,
        )
        self._results = Results(
            [*kept, recording], self.with_stack, options, self.post_processing_timeout_s
        )

    def start(self) -> None:
        """Warm up and record."""
        self.prepare_trace()
        self.start_trace()

    def stop(self) -> None:
        """End the recording."""
        self.stop_trace()

    def _finish_at_exit(self) -> None:
        """Called at exit if the program has not stopped this profiler."""
        recording = self._recording
        self.stop()
        if recording and recording.stopped and self._keeps_nothing():
            recording.keep()
            print(
                f"kymograph: a profile was never stopped; what it recorded is in {recording.path}",
                file=sys.stderr,
            )

    def _keeps_nothing(self) -> bool:
        return True

    # ---- results

    def _found(self, what: str, of_trace: bool = True) -> Results:
        only = option(self.experimental_config, "trace_only") and not self.with_stack
        if only and not of_trace:
            raise RuntimeError(f"the profiler was asked for trace_only; {what} is not possible")
        assert self._results is not None or self._recording is not None, (
            f"Profiler must be initialized before {what}"
        )
        if self._results is None:
            raise RuntimeError(
                f"the profiler has not finished: call stop() before {what}, or use on_trace_ready"
            )
        return self._results

    @property
    def profiler(self) -> Results | None:
        """Return the results so far; None before the end of the first recording."""
        return self._results

    def _stats(self) -> Stats | None:
        """Return how many events there were and how long it took to make them, once they are."""
        return self._results.stats if self._results else None

    @property
    def capture(self) -> _core.Capture:
        """The latest recording as a capture of kymograph. It is removed with this object."""
        return self._found("opening the capture").latest.capture

    def save_capture(self, path: Path) -> None:
        """Keep the latest recording, as the capture `path`, for `kymograph report` and others."""
        shutil.copyfile(self._found("saving the capture").latest.path, path)

    def export_chrome_trace(
        self,
        path: Path,
        use_python_export: bool = False,
        cuda_graph_annotations: Mapping[int, Any] | None = None,
        graph_lanes: str = "none",
        default_stream: int = 7,
    ) -> None:
        """Write the trace as JSON for chrome://tracing, Perfetto, TensorBoard, HTA.

        A path that ends in .gz is compressed. May be called any number of times. The file appears
        only when it is complete. Raises AssertionError before `start`, RuntimeError before the end
        of the first recording, and OSError when it cannot be written. The other arguments are
        accepted: there is one exporter, and no device.
        """
        results = self._found("exporting chrome trace")
        metadata = dict(self._metadata)
        metadata["trace_id"] = json.dumps(self._trace_id)
        results.export_chrome_trace(path, metadata)

    def wait_for_exports(self) -> None:
        """Does nothing: an export is complete when its call returns."""

    def export_stacks(self, path: Path, metric: str = "self_cpu_time_total") -> None:
        """Write each distinct stack and its time in microseconds, for flame graphs.

        Needs with_stack=True. Raises ValueError for a metric that was not recorded.
        """
        self._found("exporting stacks").export_stacks(path, metric)

    def events(self) -> EventList:
        """Every recorded operator, call and annotation; objects are made when they are looked at.

        Raises RuntimeError if the experimental config says trace_only.
        """
        return self._found("calling events()", of_trace=False).events()

    def key_averages(
        self,
        group_by_input_shape: bool = False,
        group_by_stack_n: int = 0,
        group_by_overload_name: bool = False,
        include_python_functions: bool | None = None,
    ) -> Rows:
        """The calls added up by name.

        group_by_stack_n: and by this many callers.
        include_python_functions: functions too, beside operators and annotations; None: when they
            were recorded, and, from samples, when there is nothing else.
        group_by_input_shape: and by the shapes of their inputs, with record_shapes=True.
        group_by_overload_name: and by the overload of the operator.
        """
        if group_by_stack_n < 0:
            raise ValueError(f"group_by_stack_n must not be negative, got {group_by_stack_n}")
        results = self._found("calling key_averages()", of_trace=False)
        grouping = Grouping(group_by_input_shape, group_by_overload_name)
        return results.key_averages(group_by_stack_n, include_python_functions, grouping)

    def total_average(self) -> FunctionEventAvg:
        """Everything added up."""
        return self.key_averages(include_python_functions=True).total_average()

    def export_memory_timeline(self, path: Path, device: str | None = None) -> None:
        """Write how much memory tensors had over time, by category: parameters, optimizer states,
        inputs, temporary, activations, gradients, details of autograd, unknown.

        path: `.html` is a page with a picture, `.raw.json.gz` every block, anything else the bytes
            by time, as JSON; compressed if it ends in .gz.
        device: "cpu", "cuda:0"; None: that of the first block that is not on the CPU, if any.

        Raises ValueError unless record_shapes, profile_memory and with_stack were set.
        """
        self._of_memory("calling export_memory_timeline()").export_memory_timeline(path, device)

    def _memory_profile(self) -> MemoryProfile:
        """The same as objects of torch, which must be imported. Raises as that does."""
        return self._of_memory("calling _memory_profile()").memory_profile()

    def _of_memory(self, what: str) -> Results:
        missing = [f"{name}=True" for name in _CATEGORIES_NEED if not getattr(self, name)]
        if missing:
            raise ValueError(f"{', '.join(missing)} required for memory profiling.")
        return self._found(what, of_trace=False)

    # ---- metadata

    def add_metadata(self, key: str, value: str) -> None:
        """Put the text `value` into the trace."""
        self._metadata[str(key)] = json.dumps(str(value))

    def add_metadata_json(self, key: str, value: str) -> None:
        """Put `value`, which is JSON, into the trace. Raises ValueError when it is not."""
        self._metadata[str(key)] = _metadata.checked_json(key, value)

    def preset_metadata_json(self, key: str, value: str) -> None:
        """The same, for every recording of this profiler; before it starts."""
        self.preset_metadata[str(key)] = _metadata.checked_json(key, value)

    def set_custom_trace_id_callback(self, callback: Callable[[], str]) -> None:
        """Take the ids of recordings to come from `callback`."""
        self.custom_trace_id_callback = callback

    def get_trace_id(self) -> str | None:
        """The id of the latest recording, None before the first."""
        return self._trace_id

    # ---- on and off

    def toggle_collection_dynamic(self, enable: bool, activities: Iterable[Any]) -> None:
        """Pause or resume recording of calls and annotations. `activities` must include CPU;
        others have no effect.

        An annotation that is open at that time is recorded to its end.
        """
        if ProfilerActivity.CPU not in {activity_of(activity) for activity in activities}:
            return
        if self._recording is None or not self._recording.running():
            return
        if enable:
            kymograph.resume()
        else:
            kymograph.pause()
        _core.mute_spans(not enable)
