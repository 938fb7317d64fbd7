"""One process of bench_memory.py: a workload without and with a contestant, alternately.

    python -m memory.turn WORKLOAD CONTESTANT TURNS SHARE DIRECTORY MALLOCS PACKAGES

prints a JSON object. The times are those of the workload only: starting, and stopping with what is
still to be written then, are reported apart.
"""

from __future__ import annotations

import gc
import json
import sys
import time
from pathlib import Path
from typing import Any

from .contestants import CONTESTANTS, Contestant
from .workloads import WORKLOADS, Workload, load_native


def measure(workload: Workload, size: int) -> dict[str, float]:
    wall, process, thread = time.perf_counter(), time.process_time(), time.thread_time()
    workload.run(size)
    return {
        "thread": time.thread_time() - thread,
        "process": time.process_time() - process,
        "wall": time.perf_counter() - wall,
    }


def traced(workload: Workload, size: int, contestant: Contestant, path: Path) -> dict[str, float]:
    path.unlink(missing_ok=True)  # memray does not overwrite it
    contestant.start(path)
    try:
        if not workload.once:
            workload.run(max(size // 20, 1))  # code is specialised, buffers exist
        result = measure(workload, size)
    finally:
        begin = time.process_time()
        contestant.stop()
    result["stop"] = time.process_time() - begin
    return result


def main(name: str, key: str, turns: str, share: str, directory: str, mallocs: str) -> None:
    workload = next(w for w in WORKLOADS if w.name == name)
    contestant = next(c for c in CONTESTANTS if c.key == key)
    size = max(int(workload.size * float(share)), 1)
    path = Path(directory) / f"{key}.capture"
    if mallocs:
        load_native(mallocs)
    if contestant.key != "plain" and workload.once:  # what it imports itself is not measured
        path.unlink(missing_ok=True)
        contestant.start(path)
        contestant.stop()
        path.unlink(missing_ok=True)
    result: dict[str, Any] = {"plain": [], "traced": []}
    if not workload.once:
        workload.run(size)  # memory that the process gets for the first time
    for _ in range(int(turns)):
        gc.collect()
        if key == "plain" or not workload.once:
            result["plain"].append(measure(workload, size))
        gc.collect()
        if key != "plain":
            result["traced"].append(traced(workload, size, contestant, path))
    if key != "plain":
        result.update(contestant.on_disk(path))
    print(json.dumps(result))


if __name__ == "__main__":
    sys.path.append(sys.argv.pop())
    main(*sys.argv[1:])
