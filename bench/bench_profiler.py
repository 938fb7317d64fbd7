"""kymograph.profile from end to end, beside torch.profiler when there is a torch.

    python bench/bench_profiler.py [--calls 1000000] [--rounds 3]

A turn is a process of its own: enter a block with with_stack=True, make a million calls of a
Python function, leave it, export the Chrome trace. What counts is what that adds to the same
calls without a profiler, in time and in memory at its peak. torch is the one that
`make test-torch` installed, or one that can be imported anyway.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

# What is asked of kymograph: no more than this share of what torch takes.
TARGETS = {"time": 0.05, "memory": 0.1, "stop": 0.01}
ON_TARGET, OFF_TARGET = 300.0, 30.0  # nanoseconds of an annotation


def peak() -> int:
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) * 1024
    raise RuntimeError("this system does not tell the peak of memory")


def calls(count: int) -> None:
    def function() -> None:
        pass

    for _ in range(count):
        function()


def turn(who: str, count: int, directory: str) -> dict[str, float]:
    """Run once in this process, which is new."""
    module: Any = None
    if who == "torch":
        import torch.profiler as module  # type: ignore[import-not-found, no-redef]
    elif who == "kymograph":
        import kymograph.profiler as module  # type: ignore[no-redef]
    if who != "none":  # what is done once in a process
        with module.profile(with_stack=True):
            pass
    Path("/proc/self/clear_refs").write_text("5")
    before = peak()
    start = time.perf_counter()
    if who == "none":
        calls(count)
        stopping = stopped = exported = time.perf_counter()
    else:
        prof = module.profile(with_stack=True)
        prof.__enter__()
        calls(count)
        stopping = time.perf_counter()
        prof.__exit__(None, None, None)
        stopped = time.perf_counter()
        prof.export_chrome_trace(os.path.join(directory, f"{who}.json"))
        exported = time.perf_counter()
    return {
        "total": exported - start,
        "calls": stopping - start,
        "stop": stopped - stopping,
        "export": exported - stopped,
        "memory": peak() - before,
    }


def annotations(who: str) -> dict[str, float]:
    """Nanoseconds of an annotation, while recording, with a text too, and while not."""
    module: Any
    if who == "torch":
        import torch.profiler as module  # type: ignore[import-not-found, no-redef]
    else:
        import kymograph.profiler as module  # type: ignore[no-redef]
    mark = module.record_function

    def marked(count: int) -> float:
        start = time.perf_counter_ns()
        for _ in range(count):
            with mark("name"):
                pass
        return (time.perf_counter_ns() - start) / count

    def told(count: int) -> float:
        start = time.perf_counter_ns()
        for _ in range(count):
            with mark("name", "text"):
                pass
        return (time.perf_counter_ns() - start) / count

    def empty(count: int) -> float:
        start = time.perf_counter_ns()
        for _ in range(count):
            pass
        return (time.perf_counter_ns() - start) / count

    loop = min(empty(20_000) for _ in range(10))
    off = min(marked(20_000) for _ in range(10)) - loop
    with module.profile():
        on = min(marked(20_000) for _ in range(10)) - loop
        text = min(told(20_000) for _ in range(10)) - loop
    return {"on": on, "text": text, "off": off}


def torch_packages() -> str | None:
    """Where torch is: "" when it needs no path, None when there is none."""
    version = f"{sys.version_info[0]}.{sys.version_info[1]}"
    cache = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    default = f"{cache}/kymograph/torch-{version}-{platform.machine()}"
    place = os.environ.get("KYMO_TORCH_DIR") or default
    for packages in ("", f"{place}/lib/python{version}/site-packages"):
        found = subprocess.run(
            [sys.executable, "-c", "import torch"],
            env={**os.environ, "PYTHONPATH": packages},
            capture_output=True,
        )
        if found.returncode == 0:
            return packages
    return None


def child(arguments: list[str], packages: str) -> dict[str, float]:
    done = subprocess.run(
        [sys.executable, __file__, "--child", *arguments],
        env={**os.environ, "PYTHONPATH": packages, "KINETO_LOG_LEVEL": "5"},
        capture_output=True,
        text=True,
        check=True,
    )
    result: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return result


def verdict(ratio: float, target: float) -> str:
    return f"{ratio:.4f} x torch, target {target}: {'met' if ratio <= target else 'MISSED'}"


def main() -> None:
    parser = argparse.ArgumentParser(description="kymograph.profile from end to end.")
    parser.add_argument("--calls", type=int, default=1_000_000)
    parser.add_argument("--rounds", type=int, default=3)
    chosen = parser.parse_args()
    packages = torch_packages()
    names = ["none", "kymograph"] + (["torch"] if packages is not None else [])
    if packages is None:
        print("there is no torch (make test-torch installs one): kymograph is measured alone")
    turns: dict[str, list[dict[str, float]]] = {name: [] for name in names}
    marks: dict[str, list[dict[str, float]]] = {name: [] for name in names[1:]}
    for _ in range(chosen.rounds):
        for name in names:
            # A directory each: freeing hundreds of megabytes of an older file is no part of it.
            with tempfile.TemporaryDirectory() as directory:
                arguments = ["turn", name, str(chosen.calls), directory]
                turns[name].append(child(arguments, packages or ""))
        for name in names[1:]:
            marks[name].append(child(["annotations", name], packages or ""))

    plain = min(turn["total"] for turn in turns["none"])
    print(f"{chosen.calls} calls, {chosen.rounds} rounds; without a profiler {plain:.3f} s")
    print(f"{'':8}{'added s':>10}{'calls s':>10}{'stop s':>10}{'export s':>10}{'added MB':>10}")
    middle: dict[str, dict[str, float]] = {}
    for name in names[1:]:
        fields = {key: statistics.median(t[key] for t in turns[name]) for key in turns[name][0]}
        fields["time"] = fields["total"] - plain
        middle[name] = fields
        print(
            f"{name:8}{fields['time']:10.3f}{fields['calls']:10.3f}{fields['stop']:10.4f}"
            f"{fields['export']:10.3f}{fields['memory'] / 1e6:10.1f}"
        )
    print(f"{'annotation':12}{'on ns':>10}{'text ns':>10}{'off ns':>10}")
    for name in names[1:]:
        on = min(mark["on"] for mark in marks[name])
        off = min(mark["off"] for mark in marks[name])
        text = min(mark["text"] for mark in marks[name])
        print(f"{name:12}{on:10.1f}{text:10.1f}{off:10.1f}")
        if name == "kymograph":
            print(
                f"  target {ON_TARGET:.0f} and {OFF_TARGET:.0f} ns: "
                f"{'met' if on <= ON_TARGET and off <= OFF_TARGET else 'MISSED'}"
            )
    if "torch" in middle:
        for key, target in TARGETS.items():
            print(f"{key:8}{verdict(middle['kymograph'][key] / middle['torch'][key], target)}")


if __name__ == "__main__":
    if sys.argv[1:2] == ["--child"]:
        if sys.argv[2] == "turn":
            answer = turn(sys.argv[3], int(sys.argv[4]), sys.argv[5])
        else:
            answer = annotations(sys.argv[3])
        print(json.dumps(answer))
    else:
        main()
