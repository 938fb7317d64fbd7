"""Execution traces of a real torch, beside those of torch's own observer."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import torch

import kymograph


def nodes(path: Path) -> list[dict[str, Any]]:
    """The operators in the file at PATH, by their record-function ids."""
    trace = json.loads(path.read_text())
    assert trace["schema"] == "1.1.1-chakra.0.0.4"
    found = [node for node in trace["nodes"] if not node["name"].startswith("[pytorch|")]
    return sorted(found, key=lambda node: attribute(node, "rf_id"))


def attribute(node: dict[str, Any], name: str) -> Any:
    return next(each["value"] for each in node["attrs"] if each["name"] == name)


def facts(node: dict[str, Any]) -> dict[str, Any]:
    """What does not depend on how ids are given."""
    sides = {side: node[side] for side in ("inputs", "outputs")}
    of_sides = {
        f"{side} {kind}": values[kind]
        for side, values in sides.items()
        for kind in ("shapes", "types", "strides")
    }
    of_attrs = {name: attribute(node, name) for name in ("rf_id", "seq_id", "scope", "op_schema")}
    return {"name": node["name"], **of_sides, **of_attrs}


def test_a_trace_has_what_torch_s_own_has(tmp_path: Path) -> None:
    model = torch.nn.Sequential(
        torch.nn.Linear(16, 32), torch.nn.ReLU(), torch.nn.Conv1d(8, 4, 3), torch.nn.Flatten()
    )
    theirs, ours = tmp_path / "theirs.json", tmp_path / "ours.json"
    observer = kymograph.ExecutionTraceObserver().register_callback(str(ours))
    other = torch.profiler.ExecutionTraceObserver().register_callback(str(theirs))
    observer.start()
    other.start()
    for turn in range(3):
        with torch.profiler.record_function(f"## LOOP {turn} ##"):
            model(torch.ones(2, 8, 16)).pow(2).mean().backward()
    other.stop()
    observer.stop()
    observer.unregister_callback()
    other.unregister_callback()

    expected, found = nodes(theirs), nodes(ours)
    assert [node["name"] for node in found] == [node["name"] for node in expected]
    assert sum(node["name"].startswith("## LOOP") for node in found) == 3
    for mine, other_s in zip(found, expected, strict=True):
        assert facts(mine) == facts(other_s)


def test_a_result_has_one_id_inside_its_operator_and_after_it(tmp_path: Path) -> None:
    """`aten::addmm` makes its result itself, and copies the bias into it."""
    model = torch.nn.Linear(16, 32)
    observer = kymograph.ExecutionTraceObserver().register_callback(tmp_path / "et.json")
    observer.start()
    for _ in range(3):
        model(torch.ones(2, 16) + 1)
    observer.unregister_callback()

    results = []
    for node in nodes(tmp_path / "et.json"):
        if node["name"] == "aten::addmm":
            results.append((node["id"], node["outputs"]["values"][0][:2]))
        elif node["name"] == "aten::copy_" and results and node["ctrl_deps"] == results[-1][0]:
            assert node["inputs"]["values"][0][:2] == results[-1][1]
            results.append((0, None))
    assert len(results) == 6
