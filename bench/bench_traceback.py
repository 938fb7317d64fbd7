"""Capturing stacks of Python programs, beside the other ways there are.

    python bench/bench_traceback.py [--rounds 40]

With ten, thirty and a hundred Python frames on the stack: in plain recursion, and in recursion that
goes through C every fourth call. All take turns in one process; least times are shown. torch is the
one that `make test-torch` installed, or one that can be imported anyway, in a process of its own.
"""

from __future__ import annotations

import argparse
import ctypes
import ctypes.util
import json
import os
import subprocess
import sys
import tempfile
import time
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

from bench_profiler import torch_packages
from tracer import floor

import kymograph
from kymograph import _core

DEPTHS = (10, 30, 100)
PYTHON, NATIVE, BOTH = 2, 1, 3
# Nanoseconds that are aimed at, at each depth.
TARGETS = {
    "kymograph, Python": (30, 105, 300),
    "kymograph, native": (60, 140, 400),
    "kymograph, both": (100, 200, 500),
    "kymograph, release": (15, 15, 15),
}


def recurse(left: int, call: Callable[[], Any]) -> Any:
    return recurse(left - 1, call) if left else call()


def mixed(left: int, call: Callable[[], Any]) -> Any:
    """One call in four through C."""
    if not left:
        return call()
    if left % 4 == 0:
        return next(map(mixed, [left - 1], [call]))
    return mixed(left - 1, call)


def frames_here() -> int:
    return len(kymograph.CapturedTraceback.extract(skip=1))


def each(function: Callable[[], object], count: int) -> float:
    start = time.perf_counter_ns()
    for _ in range(count):
        function()
    return (time.perf_counter_ns() - start) / count


def getframe_loop() -> None:
    frame = sys._getframe()
    while frame is not None:
        frame.f_code  # noqa: B018
        frame.f_lasti  # noqa: B018
        frame = frame.f_back  # type: ignore[assignment]


def address(function: Any) -> int:
    value = ctypes.cast(function, ctypes.c_void_p).value
    assert value is not None
    return value


def contestants(loops: Any) -> dict[str, Callable[[], dict[str, float]]]:
    library = ctypes.CDLL(_core.library())
    capture, release = address(library.kymo_stack_capture), address(library.kymo_stack_release)

    def ours(name: str, parts: int) -> Callable[[], dict[str, float]]:
        def run() -> dict[str, float]:
            taken, released = loops.capture(capture, release, parts, 300)
            return {f"kymograph, {name}": taken, "kymograph, release": released}

        return run

    extract = kymograph.CapturedTraceback.extract
    result = {
        "python": ours("Python", PYTHON),
        "native": ours("native", NATIVE),
        "both": ours("both", BOTH),
        "object": lambda: {"CapturedTraceback.extract()": each(extract, 300)},
        "cpp": lambda: {"…extract(cpp=True)": each(lambda: extract(cpp=True), 300)},
        "frames": lambda: {"sys._getframe loop": each(getframe_loop, 20)},
        "extract": lambda: {"traceback.extract_stack": each(traceback.extract_stack, 3)},
    }
    libc = ctypes.CDLL(None)
    glibc = address(libc.backtrace)
    result["glibc"] = lambda: {"glibc backtrace": loops.backtrace(glibc, 10)[0]}
    found = ctypes.util.find_library("unwind")
    if found:
        unwind = address(ctypes.CDLL(found).unw_backtrace)
        result["unwind"] = lambda: {"libunwind unw_backtrace": loops.backtrace(unwind, 50)[0]}
    return result


def torch_turn() -> dict[str, dict[str, float]]:
    """In a process that has torch: both of us, at each depth."""
    from torch.utils._traceback import (  # type: ignore[import-not-found]
        CapturedTraceback,
    )

    theirs = CapturedTraceback.extract
    ours = kymograph.CapturedTraceback.extract
    result: dict[str, dict[str, float]] = {}
    for depth in DEPTHS:
        times: dict[str, float] = {}
        for _ in range(20):
            for name, call in {
                "torch extract()": theirs,
                "kymograph extract()": ours,
                "torch extract(cpp=True)": lambda: theirs(cpp=True),
                "kymograph extract(cpp=True)": lambda: ours(cpp=True),
            }.items():
                # The frames that are there, the outermost of mixed, the lambda, each.
                left = depth - frames_here() - 3
                took = mixed(left, lambda call=call: each(call, 50))  # type: ignore[misc]
                times[name] = min(times.get(name, took), took)
        result[str(depth)] = times
    return result


def show(title: str, times: dict[str, list[float]]) -> None:
    print(f"{title:34}" + "".join(f"{f'depth {d}':>12}" for d in DEPTHS))
    for name, row in times.items():
        line = f"  {name:32}" + "".join(f"{ns:12.1f}" for ns in row)
        if name in TARGETS:
            met = all(ns <= target for ns, target in zip(row, TARGETS[name], strict=True))
            wanted = "/".join(map(str, TARGETS[name]))
            line += f"   target {wanted}: {'met' if met else 'MISSED'}"
        print(line)


def measure(
    nested: Callable[[int, Callable[[], Any]], Any],
    all_of_them: dict[str, Callable[[], dict[str, float]]],
    rounds: int,
) -> dict[str, list[float]]:
    least: dict[str, list[float]] = {}
    for i, depth in enumerate(DEPTHS):
        for _ in range(rounds):
            for call in all_of_them.values():
                # The frames that are there, the outermost of nested, the contestant's.
                left = depth - frames_here() - 2
                for name, ns in nested(left, call).items():
                    row = least.setdefault(name, [float("inf")] * len(DEPTHS))
                    row[i] = min(row[i], ns)
    return least


def main() -> None:
    parser = argparse.ArgumentParser(description="Captures of stacks.")
    parser.add_argument("--rounds", type=int, default=40)
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory() as directory:
        everyone = contestants(floor.load(Path(directory), "captures"))
        print("nanoseconds, least of all turns")
        show("plain recursion", measure(recurse, everyone, chosen.rounds))
        show("one call in four through C", measure(mixed, everyone, chosen.rounds))
    packages = torch_packages()
    if packages is None:
        print("there is no torch (make test-torch installs one)")
        return
    done = subprocess.run(
        [sys.executable, __file__, "--torch"],
        env={**os.environ, "PYTHONPATH": packages},
        capture_output=True,
        text=True,
        check=True,
    )
    answer: dict[str, dict[str, float]] = json.loads(done.stdout.splitlines()[-1])
    show(
        "beside torch, called from Python",
        {name: [answer[str(d)][name] for d in DEPTHS] for name in answer[str(DEPTHS[0])]},
    )


if __name__ == "__main__":
    if sys.argv[1:2] == ["--torch"]:
        print(json.dumps(torch_turn()))
    else:
        main()
