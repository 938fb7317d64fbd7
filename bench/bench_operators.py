"""What recording the operators of torch costs, beside torch.profiler and torch's execution traces.

    python bench/bench_operators.py [--rounds 15] [--ms 25]

A training step of a small network runs in one process. In every round steps are timed for some
milliseconds without anything; then a contender is switched on, they are timed again, and it is
switched off, which is not timed. The fastest step of each time counts, and what is added to it per
operator, compared with that just before, because a machine is slower for a while now and then. The
median of all rounds is judged. The least of all, compared with the least without anything, is shown
beside it: it depends on one lucky round of each, and differs by half from run to run. torch is the
one that `make test-torch` installed, or one that can be imported anyway.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import platform
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

# What is asked of kymograph: no more than this share of what torch's equivalent adds.
PAIRS = (
    ("kymograph, names and times", "torch.profiler", 0.45),
    ("kymograph, + shapes", "torch.profiler, + shapes", 0.55),
    ("kymograph, execution trace", "torch, execution trace", 0.15),
)


def find_torch() -> Any:
    """Import torch, or return None."""
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "kymograph"
    version = f"{sys.version_info[0]}.{sys.version_info[1]}"
    place = Path(
        os.environ.get("KYMO_TORCH_DIR") or cache / f"torch-{version}-{platform.machine()}"
    )
    sys.path.append(str(place / f"lib/python{version}/site-packages"))
    try:
        import torch
    except ImportError:
        return None
    return torch


def training_step(torch: Any) -> Callable[[], None]:
    nn = torch.nn
    model = nn.Sequential(
        nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 4)
    )
    optimizer = torch.optim.AdamW(model.parameters())
    data, target = torch.ones(16, 64), torch.zeros(16, 4)

    def step() -> None:
        optimizer.zero_grad()
        nn.functional.mse_loss(model(data), target).backward()
        optimizer.step()

    return step


def contenders(torch: Any, directory: str) -> dict[str, Callable[[], Any]]:
    import kymograph

    cpu = [torch.profiler.ProfilerActivity.CPU]
    path = os.path.join(directory, "bench.kymo")

    def session(mode: str) -> Callable[[], Any]:
        return lambda: kymograph.start(path, calls=False, gc=False, ops=mode)

    @contextlib.contextmanager
    def torchs_trace() -> Iterator[None]:
        observer = torch.profiler.ExecutionTraceObserver()
        observer.register_callback(os.path.join(directory, "theirs.json"))
        observer.start()
        try:
            yield
        finally:
            observer.stop()
            observer.unregister_callback()

    return {
        "kymograph, names and times": session("names"),
        "torch.profiler": lambda: torch.profiler.profile(activities=cpu),
        "kymograph, + shapes": session("shapes"),
        "torch.profiler, + shapes": lambda: torch.profiler.profile(
            activities=cpu, record_shapes=True
        ),
        "kymograph, execution trace": session("full"),
        "torch, execution trace": torchs_trace,
    }


def time_of(step: Callable[[], None], seconds: float) -> float:
    """Return the seconds of one step, the least of some."""
    end = time.perf_counter() + seconds
    least = float("inf")
    while True:
        before = time.perf_counter()
        step()
        now = time.perf_counter()
        least = min(least, now - before)
        if now >= end:
            return least


def count_operators(step: Callable[[], None], directory: str) -> tuple[int, str]:
    """Return how many operators a step has, and a capture of some steps."""
    import kymograph

    path = os.path.join(directory, "count.kymo")
    with kymograph.start(path, calls=False, gc=False, ops=True):
        for _ in range(50):
            step()
    with kymograph.open(path) as capture:
        names = {each.name for each in capture.callables if each.kind == "operator"}
        enters = sum(event.kind == "enter" and event.name in names for event in capture)
    return enters // 50, path


def chakra_us(path: str, operators: int) -> float:
    """Return the microseconds of exporting an operator to Chakra, the least of some."""
    import kymograph

    least = float("inf")
    with kymograph.open(path) as capture:
        for i in range(5):
            # A new file: ext4 writes out a file that replaces another.
            before = time.perf_counter()
            capture.export(f"{path}-{i}.et", "chakra")
            least = min(least, time.perf_counter() - before)
    return 1e6 * least / operators


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--ms", type=float, default=25, help="of each contender in a round")
    options = parser.parse_args()
    torch = find_torch()
    if torch is None:
        print("operators: there is no torch here; `make test-torch` installs it")
        return
    torch.set_num_threads(1)
    step = training_step(torch)
    for _ in range(20):
        step()
    with tempfile.TemporaryDirectory() as directory:
        operators, capture = count_operators(step, directory)
        times: dict[str, list[tuple[float, float]]] = {}  # without it, and with it
        quiet = open(os.devnull, "w")  # torch's library says when it starts and stops
        error = os.dup(2)
        os.dup2(quiet.fileno(), 2)
        try:
            for _ in range(options.rounds):
                seconds = options.ms / 1000
                for name, enter in contenders(torch, directory).items():
                    without = time_of(step, seconds)
                    with enter():
                        times.setdefault(name, []).append((without, time_of(step, seconds)))
        finally:
            os.dup2(error, 2)
        alone = min(without for found in times.values() for without, _ in found)
        each = 1e9 / operators
        least = {
            name: each * (min(took for _, took in found) - alone) for name, found in times.items()
        }
        middle = {
            name: each * statistics.median(took - without for without, took in found)
            for name, found in times.items()
        }
        print(f"\nOperators of torch {torch.__version__}: a step of {operators}")
        print(f"  {'':<28} added ns per operator, least and median of {options.rounds} rounds")
        for name in times:
            print(f"  {name:<28} {least[name]:8.0f} {middle[name]:8.0f}")
        for ours, theirs, target in PAIRS:
            ratio = middle[ours] / middle[theirs]
            met = "met" if ratio <= target else "missed"
            print(
                f"  {ours} / {theirs}: {ratio:.2f}, of the least {least[ours] / least[theirs]:.2f} "
                f"(wanted {target}: {met})"
            )
        print(f"  export to Chakra: {chakra_us(capture, 50 * operators):.2f} us per operator")


if __name__ == "__main__":
    main()
