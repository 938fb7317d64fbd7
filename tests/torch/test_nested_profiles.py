"""Profilers of torch's operators inside other sessions."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import torch

import kymograph

CPU = [torch.profiler.ProfilerActivity.CPU]


def names(prof: kymograph.profile) -> list[str]:
    return [event.name for event in prof.events() if event.activity_type == "cpu_op"]


def test_a_profile_inside_another_has_its_operators() -> None:
    with kymograph.profile(activities=CPU, with_stack=False) as outer:
        torch.ones(2)
        with kymograph.profile(activities=CPU, with_stack=False, record_shapes=True) as inner:
            torch.ones(2) + 1
        torch.zeros(3)

    assert "aten::add" in names(inner)
    assert "aten::zeros" not in names(inner)
    assert names(outer)[-1] == "aten::zero_" or "aten::zeros" in names(outer)
    assert names(outer).count("aten::ones") == 2
    (add,) = [event for event in inner.events() if event.name == "aten::add"]
    assert add.input_shapes == [[2], [], []]  # more than the outer one asked for
    assert "[2]" not in str([e.input_shapes for e in outer.events() if e.name == "aten::zeros"])


def test_a_profile_inside_a_session_without_operators_has_them(tmp_path: Path) -> None:
    path = tmp_path / "outer.kymo"
    with kymograph.start(path, calls=False):
        torch.ones(1)
        with kymograph.profile(activities=CPU, with_stack=False, record_shapes=True) as prof:
            torch.ones(2)
        torch.zeros(1)

    assert names(prof)[0] == "aten::ones"
    with kymograph.open(path) as capture:
        kinds = [each.name for each in capture.callables if each.kind == "operator"]
        schemas = [e.fields for e in capture if e.kind == "payload" and e.name == "operator.schema"]
    assert "aten::ones" in kinds
    assert "aten::zeros" not in kinds
    assert any(fields["schema"].startswith("aten::ones(") for fields in schemas)


def test_an_observer_inside_a_session_without_operators_has_them(tmp_path: Path) -> None:
    observer = kymograph.ExecutionTraceObserver().register_callback(tmp_path / "et.json")
    with kymograph.start(tmp_path / "outer.kymo", calls=False):
        observer.start()
        torch.ones(2) + 1
        observer.stop()
        torch.zeros(1)
    observer.unregister_callback()

    nodes = {node["name"] for node in json.loads((tmp_path / "et.json").read_text())["nodes"]}
    assert "aten::add" in nodes
    assert "aten::zeros" not in nodes


def test_a_program_with_a_profile_under_kymograph_run(tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(
        "import torch, kymograph\n"
        "with kymograph.profile(record_shapes=True, profile_memory=True) as prof:\n"
        "    kept = torch.ones(2, 3)\n"
        "rows = {row.key: row for row in prof.key_averages()}\n"
        "assert rows['aten::ones'].cpu_memory_usage == 24, rows\n"
        "prof.export_chrome_trace('t.json')\n"
    )
    command = [sys.executable, "-m", "kymograph", "run", "-o", "run.kymo", str(program)]
    subprocess.run(command, cwd=tmp_path, check=True, timeout=400)

    events = json.loads((tmp_path / "t.json").read_text())["traceEvents"]
    (ones,) = [event for event in events if event["name"] == "aten::ones"]
    assert ones["args"]["Input Dims"][0] == []
    with kymograph.open(tmp_path / "run.kymo") as capture:
        assert "aten::ones" in {each.name for each in capture.callables}
