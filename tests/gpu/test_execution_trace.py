"""Execution traces of programs that use a GPU, and of graphs that torch compiles for it."""

from __future__ import annotations

import json
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

import kymograph
from kymograph.profiler import ExecutionTraceObserver, ProfilerActivity

pytestmark = pytest.mark.skipif(not torch.cuda.is_available(), reason="no GPU")

BOTH = [ProfilerActivity.CPU, ProfilerActivity.CUDA]


def nodes_of(path: Path) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(path.read_text())["nodes"]
    return found


def attribute(node: dict[str, Any], name: str) -> Any:
    return next(each["value"] for each in node["attrs"] if each["name"] == name)


def traced(path: Path, run: Callable[[], object]) -> list[dict[str, Any]]:
    observer = ExecutionTraceObserver().register_callback(str(path))
    observer.set_extra_resource_collection(True)
    with kymograph.profile(activities=BOTH, execution_trace_observer=observer):
        run()
    return nodes_of(path)


def gather() -> None:
    values = torch.tensor([[1, 2], [3, 4]], device="cuda")
    torch.gather(values, 1, torch.tensor([[0, 0], [1, 0]], device="cuda"))


def compiled() -> Callable[[], object]:
    """A graph that has been compiled and has run once."""
    torch._dynamo.reset()

    def function(a: Any, b: Any, c: Any) -> Any:
        return torch.cos(torch.nn.functional.linear(a, b) + c)

    fast = torch.compile(function)
    arguments = [torch.randn(4, 4, device="cuda", requires_grad=True) for _ in range(3)]

    def run() -> None:
        fast(*arguments).sum().backward()

    run()
    return run


def test_tensors_have_the_device(tmp_path: Path) -> None:
    x = torch.ones(3, 4, device="cuda")
    nodes = traced(tmp_path / "et.json", lambda: torch.relu(x))

    (relu,) = [node for node in nodes if node["name"] == "aten::relu"]
    assert relu["inputs"]["values"][0][2:] == [0, 12, 4, "cuda:0"]
    assert relu["inputs"]["shapes"] == [[3, 4]]


def test_ranges_of_integers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ENABLE_PYTORCH_EXECUTION_TRACE_SAVE_INTEGRAL_TENSOR_RANGE", "1")
    nodes = traced(tmp_path / "et.json", gather)

    (node,) = [node for node in nodes if node["name"] == "aten::gather"]
    assert attribute(node, "tensor_range") == '{"0":[1,4],"1":[0,1]}'


def test_the_values_of_integers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ENABLE_PYTORCH_EXECUTION_TRACE_SAVE_INTEGRAL_TENSOR_DATA", "aten::gather")
    nodes = traced(tmp_path / "et.json", gather)

    (node,) = [node for node in nodes if node["name"] == "aten::gather"]
    kept = [tmp_path / "et_resources" / f"nid_{node['id']}_tid_{i}.dat" for i in (0, 1)]
    assert struct.unpack("<4q", kept[0].read_bytes()) == (1, 2, 3, 4)
    assert struct.unpack("<4q", kept[1].read_bytes()) == (0, 0, 1, 0)


def test_values_are_read_after_they_are_computed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ENABLE_PYTORCH_EXECUTION_TRACE_SAVE_INTEGRAL_TENSOR_RANGE", "1")
    stream = torch.cuda.Stream()
    numbers = torch.arange(1 << 22, device="cuda")

    def run() -> None:
        with torch.cuda.stream(stream):
            late = numbers
            for _ in range(64):
                late = late + 1
            late[3:].clone()

    nodes = traced(tmp_path / "et.json", run)

    (node,) = [node for node in nodes if node["name"] == "aten::clone"]
    assert attribute(node, "tensor_range") == f'{{"0":[67,{(1 << 22) + 63}]}}'


def test_a_compiled_graph_has_its_kernels(tmp_path: Path) -> None:
    nodes = traced(tmp_path / "et.json", compiled())

    assert any("Call CompiledFxGraph" in node["name"] for node in nodes)
    kernels = [node for node in nodes if node["name"].startswith("triton_")]
    assert kernels
    for kernel in kernels:
        assert attribute(kernel, "kernel_backend") == "triton"
        assert attribute(kernel, "kernel_file").endswith(".py")
        assert kernel["inputs"]["values"]
        assert not kernel["outputs"]["values"]
        sides = [kernel["inputs"][key] for key in ("values", "shapes", "types", "strides")]
        assert len({len(side) for side in sides}) == 1


def test_generated_files_are_copied_with_their_graphs(tmp_path: Path) -> None:
    nodes = traced(tmp_path / "et.json", compiled())

    copied = {path.name: path.read_text() for path in (tmp_path / "et_resources").iterdir()}
    wanted = {attribute(n, "kernel_file") for n in nodes if n["name"].startswith("triton_")}
    assert wanted <= set(copied)
    graphs = [text for text in copied.values() if "# Graph fragment:" in text]
    assert graphs
    lines = "\n".join(graphs).splitlines()
    graph = [line for line in lines if line.startswith("#   %")]
    assert any("placeholder[" in line.lower() for line in graph)
    assert any("call_function[target=torch.ops.aten.cos.default]" in line for line in graph)


def test_the_environment_asks_for_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KYMO_EXECUTION_TRACE", str(tmp_path / "env.et.json"))
    monkeypatch.setenv("ENABLE_PYTORCH_EXECUTION_TRACE_EXTRAS", "1")
    run = compiled()
    with kymograph.profile(activities=BOTH):
        run()

    kernels = [n for n in nodes_of(tmp_path / "env.et.json") if n["name"].startswith("triton_")]
    copied = {path.name for path in (tmp_path / "env.et_resources").iterdir()}
    assert {attribute(node, "kernel_file") for node in kernels} <= copied
