"""HTA, which reads the traces of PyTorch's profiler, reads ours."""

from __future__ import annotations

import json
import os
import subprocess
import time
from typing import Any

import pytest
from conftest import analysis_python
from program import PROGRAM

import kymograph

pytestmark = pytest.mark.native


JUDGE = """
import json, sys
from hta.common.trace_call_graph import CallGraph
from hta.trace_analysis import TraceAnalysis

analysis = TraceAnalysis(trace_dir=sys.argv[1], include_last_profiler_step=True)
trace = analysis.t.get_trace(2)
graph = CallGraph(analysis.t, ranks=[2])
names = analysis.t.symbol_table.sym_table
rows = [
    {
        "name": names[row["name"]],
        "cat": names[row["cat"]],
        "dur": float(row["dur"]),
        "iteration": int(row["iteration"]),
    }
    for _, row in trace.iterrows()
]
print(json.dumps({
    "ranks": [int(rank) for rank in analysis.t.get_ranks()],
    "steps": [int(step) for step in analysis.get_profiler_steps()],
    "depth": int(graph.trace_data.get_trace(2)["depth"].max()),
    "rows": rows,
}))
"""


NUMBERS = [n * 7919 % 10_007 for n in range(1000)]


def forward() -> None:
    with kymograph.record_function("forward"):
        sorted(NUMBERS)


def train() -> None:
    for step in (3, 4, 5, 6, 7):
        with kymograph.record_function(f"ProfilerStep#{step}"):
            forward()
            time.sleep(0.001)


@pytest.fixture(scope="module")
def judged(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What HTA found in the Chrome trace of `train`."""
    python = analysis_python("HTA")
    directory = tmp_path_factory.mktemp("hta")
    capture = directory / "train.kymo"
    kymograph.start(capture)
    try:
        kymograph.metadata("rank", "2")
        kymograph.metadata("world_size", "4")
        train()
    finally:
        kymograph.stop()
    traces = directory / "traces"
    traces.mkdir()
    subprocess.run(
        [PROGRAM, "export", "-o", traces / "rank2.json", capture], timeout=400, check=True
    )
    told = subprocess.run(
        [python, "-c", JUDGE, traces],
        # Otherwise it rounds starts up and ends down to microseconds, and stops with "Unexpected
        # case" at some of the calls whose length that makes negative.
        env={**os.environ, "HTA_DISABLE_NS_ROUNDING": "1"},
        capture_output=True,
        text=True,
        timeout=400,
        check=False,
        cwd=directory,
    )
    assert told.returncode == 0, told.stderr
    found: dict[str, Any] = json.loads(told.stdout.splitlines()[-1])
    with kymograph.open(capture) as opened:
        found["events"] = list(opened.events())
    return found


def test_the_rank_is_found(judged: dict[str, Any]) -> None:
    assert judged["ranks"] == [2]


def test_steps_are_found_with_their_durations(judged: dict[str, Any]) -> None:
    events: list[kymograph.Event] = judged["events"]
    steps = [e for e in events if e.name.startswith("ProfilerStep#")]
    lengths = {
        enter.name: (leave.time - enter.time) / 1000
        for enter, leave in zip(steps[::2], steps[1::2], strict=True)
    }

    found = {row["name"]: row["dur"] for row in judged["rows"] if row["name"] in lengths}

    assert judged["steps"] == [3, 4, 5, 6, 7]
    assert found.keys() == lengths.keys()
    for name, length in lengths.items():
        assert length - 2 <= found[name] <= length  # HTA rounds starts up and ends down


def test_annotations_belong_to_their_step(judged: dict[str, Any]) -> None:
    forwards = [row for row in judged["rows"] if row["name"] == "forward"]
    assert [row["iteration"] for row in forwards] == [3, 4, 5, 6, 7]
    assert {row["cat"] for row in forwards} == {"user_annotation"}


def test_every_call_is_there_and_nests(judged: dict[str, Any]) -> None:
    events: list[kymograph.Event] = judged["events"]
    enters = sum(e.kind == "enter" for e in events)
    assert len(judged["rows"]) == enters
    assert judged["depth"] >= 3
