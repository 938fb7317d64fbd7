"""`export --to chakra`: what devices did for operators, of tests/programs/devices.c."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest
from chakrafile import chakra_attributes, chakra_messages
from program import good

ROOT = Path(__file__).parents[2]
BUILD = Path(os.environ.get("KYMO_BUILD_DIR", ROOT / "build" / "main"))
COMPUTE, SEND, COLLECTIVE = 4, 5, 7
ALL_REDUCE = 0
DEVICE, STREAM, COPIES = 3, 7, 8

Nodes = dict[str, dict[int, list[Any]]]


@pytest.fixture(scope="module")
def capture(tmp_path_factory: pytest.TempPathFactory) -> Path:
    program = BUILD / "tests" / "programs" / "devices"
    if not program.exists():
        pytest.skip(f"{program} is not built")
    path = tmp_path_factory.mktemp("devices") / "train.kymo"
    subprocess.run([program, path], check=True)
    return path


def exported(capture: Path, *options: object) -> Nodes:
    path = capture.with_name("train.et")
    good("export", "--to", "chakra", "--force", "-o", path, *options, capture)
    nodes = chakra_messages(path)[1:]
    by_name = {node[2][0].decode().split("(")[0]: node for node in nodes}
    assert len(by_name) == len(nodes)
    return by_name


@pytest.fixture(scope="module")
def nodes(capture: Path) -> Nodes:
    return exported(capture)


@pytest.mark.parametrize(
    ("name", "operator", "start", "duration", "stream"),
    [
        ("gemm", "aten::mm", 100, 50, STREAM),
        ("split_k_reduce", "aten::mm", 150, 30, STREAM),
        ("Memcpy HtoD", "aten::mm", 90, 5, COPIES),
        ("ncclDevKernel_AllReduce_Sum_f32_RING_LL", "nccl:all_reduce", 200, 90, STREAM),
        ("ncclDevKernel_SendRecv", "record_param_comms", 300, 10, STREAM),
    ],
)
def test_what_a_device_did_depends_on_the_operator_that_launched_it(
    nodes: Nodes, name: str, operator: str, start: int, duration: int, stream: int
) -> None:
    node, parent = nodes[name], nodes[operator]
    first = nodes["aten::mm"][6][0]  # 10 µs after the start
    attributes = chakra_attributes(node[10])

    assert node[4] == node[5] == parent[1]
    assert node[1] > parent[1]
    assert node[6][0] - first == pytest.approx(start - 10, abs=1)
    assert node[7] == [duration]
    assert attributes["is_cpu_op"] == 0
    assert attributes["stream"] == stream
    assert attributes["device"] == DEVICE
    assert attributes["rf_id"] == chakra_attributes(parent[10])["rf_id"]
    assert chakra_attributes(parent[10])["is_cpu_op"] == 1


def test_communication_has_its_kind_and_the_bytes_of_its_operator(nodes: Nodes) -> None:
    reduce = nodes["ncclDevKernel_AllReduce_Sum_f32_RING_LL"]
    send = nodes["ncclDevKernel_SendRecv"]

    assert [nodes[name][3][0] for name in ("gemm", "Memcpy HtoD")] == [COMPUTE, COMPUTE]
    assert reduce[3][0] == COLLECTIVE
    assert chakra_attributes(reduce[10])["comm_type"] == ALL_REDUCE
    assert send[3][0] == SEND  # the operator around record_param_comms says so
    assert "comm_type" not in chakra_attributes(send[10])
    for node in (reduce, send):
        assert chakra_attributes(node[10])["comm_size"] == 10 * 100 * 4


def test_what_no_operator_launched_has_no_node(nodes: Nodes) -> None:
    assert not {"nobody's", "unknown"} & set(nodes)


def test_operators_have_the_ids_that_they_have_in_the_execution_trace(
    capture: Path, nodes: Nodes
) -> None:
    path = capture.with_name("et.json")
    good("export", "--to", "et", "-o", path, capture)

    trace = {one["name"]: one["id"] for one in json.loads(path.read_text())["nodes"]}
    assert "gemm" not in trace
    for name in ("aten::mm", "nccl:all_reduce", "record_param_comms", "c10d::send"):
        assert trace[name] == nodes[name][1][0]


def test_a_part_has_what_its_operators_launched(capture: Path, nodes: Nodes) -> None:
    part = exported(capture, "--from", "25us")

    assert "ncclDevKernel_SendRecv" in part
    assert not {"aten::mm", "gemm", "Memcpy HtoD"} & set(part)
    for name, node in part.items():
        assert node[1] == nodes[name][1]
