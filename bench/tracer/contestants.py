"""Who is measured: each starts and stops tracing in this process, again and again."""

from __future__ import annotations

import cProfile
from pathlib import Path
from types import ModuleType
from typing import Any

import kymograph

from .workloads import run_fib


class Contestant:
    """Untraced, and the base of the others."""

    key = "untraced"
    label = "untraced"
    c_calls = False  # of C functions too: which floor and which peer it is compared with
    settle = 0.2  # turns that run before the one that is timed

    def start(self) -> None:
        pass

    def stop(self) -> None:
        pass


class Hook(Contestant):
    """The floor extension; see bench/floor/floor.c."""

    def __init__(self, module: ModuleType, key: str, label: str, reading: bool, c_calls: bool):
        self.module = module
        self.key = key
        self.label = label
        self.reading = reading
        self.c_calls = c_calls

    def start(self) -> None:
        self.module.start(self.reading, self.c_calls)

    def stop(self) -> None:
        self.module.stop()


class Kymo(Contestant):
    def __init__(self, directory: Path, key: str, label: str, **options: Any):
        self.key = key
        self.label = label
        self.options = options
        self.path = directory / f"{key}.kymo"
        self.helped = 0  # chunks of 64 KiB that the traced thread had to write itself
        self.c_calls = options.get("c_calls", True)
        if "overhead" in options:
            self.settle = 2.0  # it begins with everything, and then leaves off what costs most

    def start(self) -> None:
        kymograph.start(self.path, **self.options)

    def stop(self) -> None:
        self.helped += kymograph.stats().helped_chunks
        kymograph.stop()

    def bytes_per_call(self) -> float | None:
        """On disk, of the last turn; None when that had too few calls to tell."""
        with kymograph.open(self.path) as capture:
            calls = capture.info.records / 2
            return capture.info.file_bytes / calls if calls > 10_000 else None


class VizTracer(Contestant):
    """With the default settings, or without C functions.

    Its buffer is allocated once, and every page of it is touched for the first time by a
    record; a tracer made for the turn pays for that, one that is used again does not.
    """

    def __init__(self, module: ModuleType, key: str, label: str, c_calls: bool, new: bool):
        self.module = module
        self.key = key
        self.label = label
        self.c_calls = c_calls
        self.new = new
        self.tracer: Any = None if new else used_viztracer(module)

    def start(self) -> None:
        if self.new:
            self.tracer = self.module.VizTracer(verbose=0, register_global=False)
        self.tracer.ignore_c_function = not self.c_calls
        self.tracer.start()

    def stop(self) -> None:
        self.tracer.stop()
        self.tracer.clear()
        if self.new:
            self.tracer = None


def used_viztracer(module: ModuleType) -> Any:
    """One whose buffer, of a million records as by default, has been filled before."""
    tracer = module.VizTracer(verbose=0, register_global=False)
    tracer.start()
    run_fib(900)
    tracer.stop()
    tracer.clear()
    return tracer


class Profile(Contestant):
    key = "cprofile"
    label = "cProfile, C too"

    def __init__(self) -> None:
        self.profile = cProfile.Profile()

    def start(self) -> None:
        self.profile.enable()

    def stop(self) -> None:
        self.profile.disable()
        self.profile.clear()


def has_budget() -> bool:
    """Can kymograph keep to an overhead budget here?"""
    return kymograph._core.trace_can_throttle()


def contestants(
    directory: Path, floor: ModuleType | None, viztracer: ModuleType | None
) -> list[Contestant]:
    """All there are, in the order of their turns: what is compared has turns near by."""
    result = [Contestant()]
    for c_calls in (False, True):
        end, words = ("_c", ", C too") if c_calls else ("", "")
        if floor:
            result.append(Hook(floor, "hook" + end, "empty hook" + words, False, c_calls))
            result.append(Hook(floor, "floor" + end, "hook + counter" + words, True, c_calls))
        result.append(Kymo(directory, "kymograph" + end, "kymograph" + words, c_calls=c_calls))
        if viztracer:
            for new, age in ((False, ""), (True, ", new buffer")):
                key = ("viztracer_new" if new else "viztracer") + end
                label = "VizTracer" + words + age
                result.append(VizTracer(viztracer, key, label, c_calls, new))
    if has_budget():
        result.append(Kymo(directory, "kymo_5", "kymograph, C too, 5 % budget", overhead=0.05))
    result.append(Profile())
    return result
