"""One long session in a process of its own: bytes on disk, memory, and the time to stop.

    python bench/tracer/session.py CALLS BUDGET

prints a JSON object. `measure` runs it.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from typing import Any


def fib(n: int) -> int:
    return n if n < 2 else fib(n - 1) + fib(n - 2)


FIB_N = 22
FIB_CALLS = 57313


def memory(field: str) -> int:
    """Bytes of a field of /proc/self/status: VmRSS now, VmHWM at most."""
    with open("/proc/self/status") as status:
        for line in status:
            if line.startswith(field + ":"):
                return int(line.split()[1]) * 1024
    return 0


def forget_peak() -> None:
    try:
        with open("/proc/self/clear_refs", "w") as control:
            control.write("5")
    except OSError:
        pass  # then the peak of starting Python counts too


def record(calls: int, budget: str) -> dict[str, Any]:
    import kymograph

    with tempfile.TemporaryDirectory(prefix="kymograph-bench-") as directory:
        path = os.path.join(directory, "long.kymo")
        fib(FIB_N)
        forget_peak()
        before = memory("VmRSS")
        kymograph.start(path, budget=budget, c_calls=False)
        begin = time.perf_counter()
        for _ in range(calls // FIB_CALLS + 1):
            fib(FIB_N)
        ran = time.perf_counter() - begin
        stats = kymograph.stats()
        begin = time.perf_counter()
        kymograph.stop()
        stop = time.perf_counter() - begin
        peak = memory("VmHWM")
        with kymograph.open(path) as capture:
            info = capture.info
            return {
                "calls": info.records // 2,
                "lost": info.lost_records,
                "bytes_per_call": info.file_bytes / (info.records / 2),
                "budget_bytes": stats.budget_bytes,
                "peak_bytes": peak - before,
                "helped_chunks": stats.helped_chunks,
                "run_seconds": ran,
                "stop_seconds": stop,
            }


def measure(calls: int, budget: str, times: int) -> dict[str, Any]:
    """Of `times` sessions: the median time to stop, the most of everything else."""
    command = [sys.executable, os.path.abspath(__file__), str(calls), budget]
    all_runs = []
    for _ in range(times):
        output = subprocess.run(command, check=True, capture_output=True, text=True).stdout
        all_runs.append(json.loads(output))
    result = {field: max(run[field] for run in all_runs) for field in all_runs[0]}
    result["stop_seconds"] = sorted(run["stop_seconds"] for run in all_runs)[times // 2]
    return result


if __name__ == "__main__":
    print(json.dumps(record(int(sys.argv[1]), sys.argv[2])))
