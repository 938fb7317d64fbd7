"""Operators with very many inputs and outputs."""

from __future__ import annotations

import array
import json
from pathlib import Path
from typing import Any

import pytest
from command import good, kymograph

import kymograph as library

MOST = 65_536


def capture_of(directory: Path, inputs: Any, outputs: Any = None) -> Path:
    path = directory / "long.kymo"
    keywords = {"alpha": 2.5, "beta": [3, 4]}
    with library.trace(path), library.op("long", inputs, outputs, keywords=keywords):
        pass
    return path


def node_of(capture: Path) -> dict[str, Any]:
    """The node of the operator in an execution trace."""
    path = capture.with_suffix(".json")
    good("export", "--to", "et", "-o", path, capture)
    nodes = json.loads(path.read_text())["nodes"]
    return next(node for node in nodes if node["name"] == "long")


def incomplete(node: dict[str, Any]) -> str | None:
    values = [each["value"] for each in node["attrs"] if each["name"] == "incomplete"]
    return values[0] if values else None


@pytest.mark.parametrize("count", [100, 513, 5000, MOST - 10])
def test_an_execution_trace_has_all_values(tmp_path: Path, count: int) -> None:
    numbers = list(range(count))
    capture = capture_of(tmp_path, [numbers, "text"], [tuple(numbers)])

    node = node_of(capture)
    assert node["inputs"]["values"] == [numbers, "text", 2.5, [3, 4]]
    assert node["outputs"]["values"] == [numbers]
    assert incomplete(node) is None
    good("check", "et", capture.with_suffix(".json"))
    good("report", "--check", capture)


def test_an_execution_trace_has_all_tensors(tmp_path: Path) -> None:
    tensors = [array.array("d", range(1 + i % 3)) for i in range(3000)]
    node = node_of(capture_of(tmp_path, [tensors], tensors))

    shapes = [[len(each)] for each in tensors]
    assert node["inputs"]["shapes"] == [shapes, [], [[], []]]
    assert node["outputs"]["shapes"] == shapes
    assert len({tensor[0] for tensor in node["inputs"]["values"][0]}) == 3000
    assert node["inputs"]["values"][0] == node["outputs"]["values"]


def test_lists_in_a_long_list_are_there(tmp_path: Path) -> None:
    pairs = [[i, f"é{i}"] for i in range(1000)]
    node = node_of(capture_of(tmp_path, [pairs]))
    assert node["inputs"]["values"][0] == pairs


def test_values_that_are_too_many_are_reported(tmp_path: Path) -> None:
    numbers = list(range(70_000))
    capture = capture_of(tmp_path, [numbers], [numbers])

    node = node_of(capture)
    assert node["inputs"]["values"] == [numbers[: MOST - 1]]
    assert incomplete(node) == "inputs, outputs"

    done = kymograph("check", "et", capture.with_suffix(".json"))
    assert done.returncode == 1
    assert "'long': not all of its inputs, outputs were recorded" in done.stderr

    done = kymograph("report", "--check", capture)
    assert done.returncode == 1
    assert "1 operator without all inputs and outputs, the first is long" in done.stderr


def test_a_chrome_trace_says_what_is_missing(tmp_path: Path) -> None:
    for count, expected in ((100, None), (70_000, "inputs")):
        capture = capture_of(tmp_path, [list(range(count))])
        path = tmp_path / "chrome.json"
        good("export", "--to", "chrome", "-o", path, capture)
        events = json.loads(path.read_text())["traceEvents"]
        (event,) = (each for each in events if each["name"] == "long")
        assert event["args"].get("Incomplete") == expected
        names = {each["name"] for each in events}
        assert not [name for name in names if name.startswith("operator.")]


def test_a_chrome_trace_shows_arguments_after_a_long_list(tmp_path: Path) -> None:
    tensors = [array.array("d", [1.0]) for _ in range(300)]
    capture = capture_of(tmp_path, [tensors, 7, list(range(31)), list(range(30))])
    path = tmp_path / "chrome.json"
    good("export", "--to", "chrome", "-o", path, capture)
    (event,) = (e for e in json.loads(path.read_text())["traceEvents"] if e["name"] == "long")
    assert event["args"]["Input type"] == ["TensorList", "Scalar", "", "ScalarList", "ScalarList"]
    assert event["args"]["Input Dims"] == [[], [], [], [], []]
    assert event["args"]["alpha"] == 2.5
