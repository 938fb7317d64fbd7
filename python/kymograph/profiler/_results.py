"""The results of a profiler, read from the captures of its finished recordings."""

from __future__ import annotations

import gzip
import json
import os
import time
from collections.abc import Mapping
from dataclasses import dataclass

from kymograph.profiler._averages import ALL_CALLERS, averages_of, rows_of, sampled_rows
from kymograph.profiler._deadline import Deadline
from kymograph.profiler._events import EventList, Grouping, Options, Part
from kymograph.profiler._memory_profile import MemoryProfile
from kymograph.profiler._memory_timeline import MemoryTimeline
from kymograph.profiler._names import display, prefixes
from kymograph.profiler._recording import Recording
from kymograph.profiler._table import Rows
from kymograph.profiler._tree import KinetoResults

_METRICS = {"self_cpu_time_total", "self_device_time_total"} | {
    f"self_{device}_time_total" for device in ("cuda", "xpu", "privateuse1")
}

# These characters would end a name in a line of a stack file.
_UNSAFE = str.maketrans(" ;\t\n", "____")


@dataclass
class Stats:
    """How long the profiler itself took, with the names that torch gives to it. Starting, stopping
    and reading events are not measured."""

    profiling_window_duration_sec: float = 0
    number_of_events: int = 0
    profiler_prepare_call_duration_us: int = 0
    profiler_enable_call_duration_us: int = 0
    profiler_disable_call_duration_us: int = 0
    parse_kineto_call_duration_us: int = 0
    function_events_build_tree_call_duration_us: int = 0


class Results:
    """The recordings to ask, the latest last. All but the latest are there only when events
    are accumulated."""

    def __init__(
        self,
        recordings: list[Recording],
        with_stack: bool,
        options: Options | None = None,
        timeout: float | None = None,
    ) -> None:
        self.recordings = recordings
        self.with_stack = with_stack
        self.options = options or Options()
        self.stats = Stats()
        self._timeout = timeout  # for each of the questions that read every call

    @property
    def latest(self) -> Recording:
        return self.recordings[-1]

    def export_chrome_trace(
        self, path: str | os.PathLike[str], metadata: Mapping[str, str]
    ) -> None:
        """Write the latest recording; `metadata` is JSON by key."""
        recording = self.latest
        members = "".join(
            f"{json.dumps(key)}: {value},\n"
            for key, value in metadata.items()
            if key not in _RESERVED
        )
        recording.capture.export(
            path,
            "chrome",
            start=recording.start,
            end=recording.end,
            of="calls",
            force=True,  # as torch does
            _extra=members,
            _overloads=self.options.overloads,
            _prefixes=prefixes(),
            _first_lines=not recording.lines_known,
        )

    def events(self) -> EventList:
        began = time.perf_counter_ns()
        deadline = Deadline(self._timeout)
        parts: list[Part] = []
        for recording in self.recordings:
            share = deadline.early(1 / (len(self.recordings) - len(parts)))
            parts.append(Part(recording, self.with_stack, self.options, deadline=share))
        found = EventList(self, parts)
        deadline.warn(len(found))
        took = (time.perf_counter_ns() - began) // 1000
        self.stats.number_of_events = len(found)
        self.stats.function_events_build_tree_call_duration_us = max(1, took)
        return found

    @property
    def kineto_results(self) -> KinetoResults:
        """The latest recording in the form of torch's results: `events()` and
        `experimental_event_tree()`."""
        info = self.latest.capture.info
        part = Part(self.latest, self.with_stack, self.options, whole=True)
        return KinetoResults(
            part,
            info.wall_start - info.start,
            lambda path: self.export_chrome_trace(path, {}),
            self.latest if self.options.memory and self.with_stack else None,
        )

    @property
    def function_events(self) -> EventList:
        return self.events()

    def key_averages(
        self, stack: int = 0, functions: bool | None = None, grouping: Grouping | None = None
    ) -> Rows:
        include = self.with_stack if functions is None else functions
        deadline = Deadline(self._timeout)
        rows = rows_of(
            self.recordings, stack, include, grouping or Grouping(), self.options, deadline
        )
        deadline.warn(sum(row.count for row in rows))
        if not rows and functions is None and not deadline.missed:
            return sampled_rows(self.recordings)
        return rows

    def table(
        self,
        sort_by: str | None = None,
        row_limit: int = 100,
        max_src_column_width: int | None = 75,
        max_name_column_width: int | None = 55,
        max_shapes_column_width: int | None = 80,
        header: str | None = None,
        top_level_events_only: bool = False,
        time_unit: str | None = None,
    ) -> str:
        """One row for each event; see `key_averages().table`."""
        return self.events().table(
            sort_by,
            row_limit,
            max_src_column_width,
            max_name_column_width,
            max_shapes_column_width,
            header,
            top_level_events_only,
            time_unit,
        )

    def total_average(self) -> object:
        return self.key_averages(0, True).total_average()

    @property
    def self_cpu_time_total(self) -> float:
        return self.key_averages(0, True).self_cpu_time_total

    def export_stacks(self, path: str | os.PathLike[str], metric: str) -> None:
        """Write each distinct stack with its time, in whole microseconds."""
        if metric not in _METRICS:
            raise ValueError(f"metric should be one of: {', '.join(sorted(_METRICS))}")
        assert self.with_stack, "export_stacks() requires with_stack=True"
        if metric != "self_cpu_time_total":
            raise ValueError(f"no device was recorded, so there is no {metric}")
        times: dict[str, int] = {}
        deadline = Deadline(self._timeout)
        events = 0
        for number, recording in enumerate(self.recordings):
            share = deadline.early(1 / (len(self.recordings) - number))
            for callee, callers, calls, _, self_ns, _, _ in averages_of(
                recording, ALL_CALLERS, True, share
            ):
                events += calls
                frames = [*reversed(callers), callee]
                line = ";".join(display(frame).translate(_UNSAFE) for frame in frames)
                times[line] = times.get(line, 0) + self_ns
        deadline.warn(events)
        _write_whole(
            path,
            # At least 1, so that short calls do not count as 0.
            "".join(
                f"{line} {max(1, ns // 1000)}\n" for line, ns in times.items() if ns > 0
            ).encode(),
        )

    def memory_profile(self) -> MemoryProfile:
        return MemoryProfile(self.latest)

    def export_memory_timeline(self, path: str | os.PathLike[str], device: str | None) -> None:
        """Write the latest recording's; see `_memory_timeline`."""
        name = os.fspath(path)
        text = MemoryTimeline(self.latest, device).text(name).encode()
        _write_whole(path, gzip.compress(text, 5) if name.endswith(".gz") else text)


# Members of a trace that are not metadata.
_RESERVED = {
    "schemaVersion",
    "deviceProperties",
    "displayTimeUnit",
    "baseTimeNanoseconds",
    "traceEvents",
    "traceName",
    "kymograph",
}


def _write_whole(path: str | os.PathLike[str], data: bytes) -> None:
    """Write the file so that it appears only when complete."""
    target = os.fspath(path)
    temporary = f"{target}.{os.getpid()}.tmp"
    try:
        with open(temporary, "wb") as file:
            file.write(data)
        os.replace(temporary, target)
    except BaseException:
        if os.path.exists(temporary):
            os.unlink(temporary)
        raise
