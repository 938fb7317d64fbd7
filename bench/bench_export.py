"""How long it takes until a Chrome trace of a million calls lies on the disk: VizTracer and us.

    python bench/bench_export.py [--calls N]

VizTracer's time is that of `save`, ours that of stopping and of `Capture.export`; both by turns,
and the least of a few is shown.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from pathlib import Path
from types import ModuleType

from tracer import peers
from tracer.workloads import FIB_CALLS, run_fib

import kymograph

ROOT = Path(__file__).resolve().parent.parent
TURNS = 3


def ours(directory: Path, times: int) -> float:
    capture, out = directory / "fib.kymo", directory / "fib.json"
    kymograph.start(capture, c_calls=False, gc=False)
    run_fib(times)
    begun = time.perf_counter()
    kymograph.stop()
    with kymograph.open(capture) as opened:
        opened.export(out)
    return time.perf_counter() - begun


def theirs(viztracer: ModuleType, directory: Path, times: int, calls: int) -> float:
    tracer = viztracer.VizTracer(
        verbose=0, register_global=False, ignore_c_function=True, tracer_entries=2 * calls
    )
    tracer.start()
    run_fib(times)
    tracer.stop()
    begun = time.perf_counter()
    tracer.save(str(directory / "viz.json"))
    return time.perf_counter() - begun


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--calls", type=int, default=1_000_000)
    times = max(1, parser.parse_args().calls // FIB_CALLS)
    calls = times * FIB_CALLS
    viztracer = peers.load(ROOT / "build" / "bench-peers", "viztracer")
    kymo_least = viz_least = float("inf")
    with tempfile.TemporaryDirectory(prefix="kymograph-bench-") as name:
        for _ in range(TURNS):
            kymo_least = min(kymo_least, ours(Path(name), times))
            if viztracer:
                viz_least = min(viz_least, theirs(viztracer, Path(name), times, calls))
        sizes = {path.name: path.stat().st_size / 1e6 for path in Path(name).glob("*.json")}
    print(f"{calls} calls as a Chrome trace, from the end of the program to the file")
    rows = [("kymograph", kymo_least, sizes["fib.json"])]
    if viztracer:
        rows.append(("VizTracer", viz_least, sizes["viz.json"]))
    for who, seconds, size in rows:
        rate = calls / seconds / 1e6
        print(f"  {who:10} {seconds:7.3f} s  {rate:6.2f} million calls per second, {size:.0f} MB")
    if viztracer:
        print(f"  kymograph takes {kymo_least / viz_least:.3f} of VizTracer's time")


if __name__ == "__main__":
    main()
