"""What tracing every call costs: kymograph, the floor under it, and its peers, in turns.

    python bench/bench_tracer.py [--quick] [--workloads fib,re] [--json OUT] [--svg OUT]

docs/performance.md says how to read what it prints.
"""

from __future__ import annotations

import argparse
import io
import json
import subprocess
import sys
import tempfile
from pathlib import Path
from types import ModuleType
from typing import Any

from tracer import floor, machine, peers, session, targets
from tracer.bars import Panel, Series, picture
from tracer.contestants import Contestant, Kymo, contestants
from tracer.rounds import Times, alternate
from tracer.targets import Target
from tracer.workloads import WORKLOADS, Workload

BUILD = Path(__file__).resolve().parents[1] / "build"

# What the picture shows, and the heads of the columns of the last table.
SERIES = [
    Series("hook", "empty hook", "#e5e5e5"),
    Series("floor", "floor", "#cfcfcf"),
    Series("kymograph", "kymograph", "#1f77b4"),
    Series("viztracer", "VizTracer", "#f2b380"),
    Series("floor_c", "floor +C", "#a8a8a8"),
    Series("kymo_c", "kymograph +C", "#0b3c66"),
    Series("kymo_5", "kymograph +C 5 %", "#57a773"),
    Series("viztracer_c", "VizTracer +C", "#e07b39"),
    Series("cprofile", "cProfile +C", "#8c564b"),
]

# Whom contestants are compared with; those that see C calls with those that do too.
RATIOS = {
    "floor": "x floor",
    "viztracer": "x VizTracer",
    "viztracer_new": "x VizTracer, new buffer",
}


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="What tracing every call costs.")
    parser.add_argument("--quick", action="store_true", help="fewer and shorter turns")
    parser.add_argument("--rounds", type=int, help="turns of each contestant: 25, quick 7")
    names = ",".join(w.name for w in WORKLOADS)
    parser.add_argument("--workloads", default=names, help=f"of {names}")
    parser.add_argument("--json", type=Path, metavar="OUT", help="every turn, for other programs")
    parser.add_argument("--svg", type=Path, default=BUILD / "bench" / "tracer.svg", metavar="OUT")
    chosen = parser.parse_args()
    chosen.workloads = chosen.workloads.split(",")
    unknown = set(chosen.workloads) - {w.name for w in WORKLOADS}
    if unknown:
        parser.error(f"no such workload: {', '.join(sorted(unknown))}; there are {names}")
    chosen.rounds = chosen.rounds or (7 if chosen.quick else 25)
    return chosen


def load_floor() -> ModuleType | None:
    try:
        return floor.load(BUILD / "bench" / "floor")
    except (OSError, subprocess.CalledProcessError) as error:
        reason = error.strerror if isinstance(error, OSError) else "the compiler said no"
        print(f"no floor to compare with, because it could not be compiled: {reason}")
        return None


def bytes_per_call(field: list[Contestant]) -> dict[str, float]:
    every = {c.key: c.bytes_per_call() for c in field if isinstance(c, Kymo)}
    return {key: value for key, value in every.items() if value is not None}


def print_workload(
    workload: Workload, times: Times, field: list[Contestant], on_disk: dict[str, float]
) -> None:
    of = "iteration" if workload.program else "call"
    base = times.least("untraced") / workload.scale
    judged = targets.of_workload(workload, times)
    print(f"\n{workload.name}: {workload.what}; untraced {base:.1f} {workload.unit} per {of}")
    heads = [f"{f'{workload.unit} added':>9} ", *(f"{head:25}" for head in RATIOS.values())]
    print(f"  {'':30}{' '.join(heads)}{'slowdown':17}  bytes a call")
    for c in field[1:]:
        cells = [f"{times.added(c.key) / workload.scale:9.1f} "]
        for to in RATIOS:
            to += "_c" if c.c_calls else ""
            sees_calls = workload.python or c.c_calls
            compared = sees_calls and c.key.startswith(("kymograph", "floor")) and c.key != to
            ratio = times.ratio(c.key, to) if compared else None
            verdict = f" {judged[c.key, to].verdict}" if (c.key, to) in judged else ""
            cells.append(f"{f'{ratio}{verdict}' if ratio else '':25}")
        disk = f"  {on_disk[c.key]:.2f}" if c.key in on_disk else ""
        line = f"  {c.label:30}{' '.join(cells)}{times.slowdown(c.key)!s:17}{disk}"
        print(line.rstrip())


def print_added(results: dict[str, Times], chosen: list[Workload]) -> None:
    """All in one table: what is added, by workload and contestant."""
    shown = [s for s in SERIES if any(s.key in times.rounds for times in results.values())]
    print("\nadded by tracing, ns per call (re and below: µs per iteration); +C: C calls too")
    print(f"  {'':10} {'untraced':>9}" + "".join(f"{s.label:>13}" for s in shown))
    for workload in chosen:
        times = results[workload.name]
        cells = [times.added(s.key) / workload.scale for s in shown]
        base = times.least("untraced") / workload.scale
        print(f"  {workload.name:10} {base:9.1f}" + "".join(f"{cell:13.1f}" for cell in cells))


def print_targets(all_targets: list[Target]) -> None:
    print("\ntargets")
    for target in all_targets:
        print(target)
    missed = sum(target.verdict == "miss" for target in all_targets)
    print(f"  {len(all_targets) - missed} kept, {missed} missed")


def draw(results: dict[str, Times], chosen: list[Workload], facts: dict[str, str]) -> str:
    shown = [s for s in SERIES if any(s.key in times.rounds for times in results.values())]
    bars = [s for s in shown if s.key not in ("hook", "floor_c")]
    panels = []
    calls = [w for w in chosen if not w.program]
    if calls:
        added = {w.name: {s.key: results[w.name].added(s.key) for s in bars} for w in calls}
        panels.append(Panel("added to each call, ns", "{:.0f}", added))
    programs = [w for w in chosen if w.program or w.name == "fib"] or chosen
    slowdown = {
        w.name: {s.key: results[w.name].slowdown(s.key).median for s in bars} for w in programs
    }
    panels.append(Panel("slowdown, 1 is untraced", "{:.2f}", slowdown, mark=1.0))
    note = f"+C: C calls too. {facts['processor']}; {facts['python']}; {facts['versions']}"
    return picture("What tracing every call costs", note, bars, panels)


def as_json(results: dict[str, Times], on_disk: dict[str, dict[str, float]]) -> dict[str, Any]:
    return {
        name: {"ns": times.rounds, "bytes_per_call": on_disk[name]}
        for name, times in results.items()
    }


def main() -> None:
    options = arguments()
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(line_buffering=True)  # a pipe shows each table when it is done
    chosen = [w for w in WORKLOADS if w.name in options.workloads]
    viztracer = peers.load(BUILD / "bench-peers", "viztracer")
    if "lark" in options.workloads and not peers.load(BUILD / "bench-peers", "lark"):
        chosen = [w for w in chosen if w.name != "lark"]
    with tempfile.TemporaryDirectory(prefix="kymograph-bench-") as name:
        directory = Path(name)
        facts = machine.facts(directory)
        field = contestants(directory, load_floor(), viztracer)
        turn_ns = 15e6 if options.quick else 25e6
        for key, value in facts.items():
            print(f"{key:10} {value}")
        print(f"{'turns':10} {options.rounds} of {turn_ns / 1e6:.0f} ms of CPU time for each")
        results: dict[str, Times] = {}
        on_disk: dict[str, dict[str, float]] = {}
        for workload in chosen:
            results[workload.name] = alternate(field, workload, options.rounds, turn_ns)
            on_disk[workload.name] = bytes_per_call(field)
            print_workload(workload, results[workload.name], field, on_disk[workload.name])
    print_added(results, chosen)
    helped = sum(c.helped for c in field if isinstance(c, Kymo))
    if helped:
        print(f"  (in kymograph's turns the traced thread had to write {helped} chunks itself)")
    sessions = [session.measure(10**7, budget, 3) for budget in ("64M", "8M")]
    judged = [t for w in chosen for t in targets.of_workload(w, results[w.name]).values()]
    judged += targets.of_sessions(sessions)
    print_targets(judged)
    facts["load"] += f", {machine.load()} when it ended"
    print(f"\nload {facts['load']}")
    options.svg.parent.mkdir(parents=True, exist_ok=True)
    options.svg.write_text(draw(results, chosen, facts))
    print(f"picture: {options.svg}")
    if options.json:
        document = {"machine": facts, "rounds": options.rounds, "turn_ns": turn_ns}
        document["workloads"] = as_json(results, on_disk)
        document["sessions"] = sessions
        document["targets"] = [target.as_json() for target in judged]
        options.json.write_text(json.dumps(document, indent=1) + "\n")


if __name__ == "__main__":
    main()
