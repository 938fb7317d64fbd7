"""What recording memory costs: kymograph, memray and tracemalloc, in turns.

    python bench/bench_memory.py [--quick] [--workloads calls,objects] [--json OUT]

docs/performance.md says how to read what it prints.
"""

from __future__ import annotations

import argparse
import io
import json
import os
import subprocess
import sys
import sysconfig
import tempfile
from pathlib import Path
from typing import Any

from memory import targets
from memory.contestants import CONTESTANTS, Contestant
from memory.results import CLOCKS, Results
from memory.workloads import WORKLOADS, Workload
from tracer import floor, machine, peers
from tracer.targets import Target

HERE = Path(__file__).resolve().parent
BUILD = HERE.parent / "build"
TURNS = 3  # in each process


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="What recording memory costs.")
    parser.add_argument("--quick", action="store_true", help="fewer and shorter turns")
    parser.add_argument("--rounds", type=int, help="processes of each contestant: 5, quick 2")
    parser.add_argument("--clock", choices=CLOCKS, default="process", help="for the targets")
    names = ",".join(w.name for w in WORKLOADS)
    parser.add_argument("--workloads", default=names, help=f"of {names}")
    keys = ",".join(c.key for c in CONTESTANTS)
    parser.add_argument("--contestants", default=keys, help=f"of {keys}")
    parser.add_argument("--json", type=Path, metavar="OUT", help="every turn, for other programs")
    options = parser.parse_args()
    for chosen, known in ((options.workloads, names), (options.contestants, keys)):
        unknown = set(chosen.split(",")) - set(known.split(","))
        if unknown:
            parser.error(f"unknown: {', '.join(sorted(unknown))}; there are {known}")
    options.rounds = options.rounds or (2 if options.quick else 5)
    return options


def choose(options: argparse.Namespace) -> tuple[list[Workload], list[Contestant]]:
    """Leaves out whatever needs a package that cannot be installed."""
    missing = {
        name
        for name in ("memray", "numpy", "pandas")
        if not peers.load(BUILD / "bench-peers", name)
    }
    workloads = [w for w in WORKLOADS if w.name in options.workloads.split(",")]
    workloads = [w for w in workloads if not missing & set(w.packages)]
    field = [c for c in CONTESTANTS if c.key in ("plain", *options.contestants.split(","))]
    return workloads, [c for c in field if c.package not in missing]


def turn(workload: Workload, contestant: Contestant, share: float, directory: Path) -> Any:
    """Run one process; see memory/turn.py."""
    packages = BUILD / "bench-peers" / str(sysconfig.get_config_var("SOABI"))
    mallocs = str(directory / f"mallocs{sysconfig.get_config_var('EXT_SUFFIX')}")
    turns = 1 if workload.once else TURNS
    command = [sys.executable, "-m", "memory.turn", workload.name, contestant.key, str(turns)]
    command += [str(share), str(directory), mallocs, str(packages)]
    environment = {**os.environ, "PYTHONPATH": str(HERE)}
    ended = subprocess.run(command, env=environment, capture_output=True, text=True)
    if ended.returncode:
        sys.exit(f"{workload.name}, {contestant.label}: {ended.stderr}")
    return json.loads(ended.stdout)


def alternate(
    workload: Workload, field: list[Contestant], rounds: int, share: float, directory: Path
) -> Results:
    results = Results()
    for number in range(rounds):
        # Forth and back, so that a machine that gets slower favours nobody.
        for c in field if number % 2 == 0 else reversed(field):
            results.add(c.key, turn(workload, c, share, directory))
    return results


def print_workload(workload: Workload, results: Results, field: list[Contestant]) -> None:
    print(f"\n{workload.name}: {workload.what}", end="; ")
    print(f"plain {results.seconds('plain', 'plain', 'process'):.3f} s of CPU time")
    print(f"  {'slowdown':42}{'process':22}{'its thread':22}{'elapsed':22}", end="")
    print(f"{'million events':>15}{'bytes each':>12}{'file':>7}")
    for c in field[1:]:
        cells = "".join(f"{results.slowdown(c.key, clock)!s:22}" for clock in CLOCKS)
        events = (results.last(c.key, "events") or 0) / 1e6
        sizes = [results.per_event(c.key, name) for name in ("event_bytes", "file_bytes")]
        disk = [f"{size:.2f}" if size is not None else "" for size in sizes]
        count = f"{events:.2f}" if events else ""
        print(f"  {c.label:42}{cells}{count:>15}{disk[0]:>12}{disk[1]:>7}".rstrip())


def print_targets(all_targets: list[Target], clock: str) -> None:
    print(f"\ntargets, by {clock} time; relative to the plain program unless another is named")
    for target in all_targets:
        print(target)
    missed = sum(target.verdict == "miss" for target in all_targets)
    print(f"  {len(all_targets) - missed} kept, {missed} missed")


def main() -> None:
    options = arguments()
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(line_buffering=True)  # a pipe shows each table when it is done
    workloads, field = choose(options)
    share = 0.25 if options.quick else 1.0
    all_results: dict[str, Results] = {}
    with tempfile.TemporaryDirectory(prefix="kymograph-bench-") as name:
        directory = Path(name)
        floor.build(directory, "mallocs")
        floor.build(directory, "memfloor")
        facts = machine.facts(directory)
        facts["versions"] = ", ".join(
            f"{package} {machine.version_of(package)}"
            for package in ("kymograph", "memray", "numpy", "pandas")
        )
        for key, value in facts.items():
            print(f"{key:10} {value}")
        for workload in workloads:
            all_results[workload.name] = alternate(
                workload, field, options.rounds, share, directory
            )
            print_workload(workload, all_results[workload.name], field)
    judged = []
    for workload in workloads:
        judged += targets.of_workload(workload, all_results[workload.name], field, options.clock)
    judged += targets.of_threads(all_results, field, options.clock)
    print_targets(judged, options.clock)
    facts["load"] += f", {machine.load()} when it ended"
    print(f"\nload {facts['load']}")
    if options.json:
        document = {"machine": facts, "targets": [target.as_json() for target in judged]}
        document["workloads"] = {name: each.rounds for name, each in all_results.items()}
        options.json.write_text(json.dumps(document, indent=1) + "\n")


if __name__ == "__main__":
    main()
