"""What torch's own tests of its execution traces find in the file, found in ours."""

from __future__ import annotations

import gzip
import json
import struct
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import torch

import kymograph
from kymograph.profiler import ExecutionTraceObserver, ProfilerActivity, schedule

RANGE = "ENABLE_PYTORCH_EXECUTION_TRACE_SAVE_INTEGRAL_TENSOR_RANGE"
DATA = "ENABLE_PYTORCH_EXECUTION_TRACE_SAVE_INTEGRAL_TENSOR_DATA"
PROCESS = "[pytorch|profiler|execution_trace|process]"
THREAD = "[pytorch|profiler|execution_trace|thread]"


def nodes_of(path: Path) -> list[dict[str, Any]]:
    opener: Any = gzip.open if path.suffix == ".gz" else open
    with opener(path, "rt") as file:
        trace = json.load(file)
    found: list[dict[str, Any]] = trace["nodes"]
    (process,) = [node for node in found if node["name"] == PROCESS]
    assert process["id"] == 1
    return found


def loops(nodes: list[dict[str, Any]]) -> int:
    return sum(node["name"].startswith("## LOOP ") for node in nodes)


def attribute(node: dict[str, Any], name: str) -> Any:
    return next(each["value"] for each in node["attrs"] if each["name"] == name)


@pytest.fixture(autouse=True)
def environment(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    for name in (RANGE, DATA):
        monkeypatch.delenv(name, raising=False)
    yield


def annotated(turns: int, each: Callable[[int], None] = lambda turn: None) -> None:
    for turn in range(turns):
        each(turn)
        with torch.profiler.record_function(f"## LOOP {turn} ##"):
            torch.ones(4, 4).relu().sum()


def test_alone(tmp_path: Path) -> None:
    path = tmp_path / "alone.et.json.gz"
    observer = ExecutionTraceObserver().register_callback(str(path))
    observer.start()
    annotated(5)
    x = torch.ones(3, 4, 5)
    inf = float("inf")
    handle = torch.autograd._record_function_with_args_enter(
        "## TEST 2 ##", 1, False, 2.5, [x, x], (x, x), "hello", x, inf, -inf, float("nan")
    )
    torch.autograd._record_function_with_args_exit(handle)
    observer.stop()
    observer.unregister_callback()

    assert observer.get_output_file_path() == str(path)
    nodes = nodes_of(path)
    assert loops(nodes) == 5
    (custom,) = [node for node in nodes if node["name"] == "## TEST 2 ##"]
    values = custom["inputs"]["values"]
    assert len(values[3][0]) == 6
    assert values[:3] == [1, False, 2.5]
    assert values[7:] == ["inf", "-inf", "nan"]


@pytest.mark.parametrize("by_environment", [False, True])
def test_with_the_timeline(
    by_environment: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ready = []
    path = tmp_path / "given.et.json"
    options: dict[str, Any] = {}
    if by_environment:
        monkeypatch.setenv("ENABLE_PYTORCH_EXECUTION_TRACE", "1")
        monkeypatch.setenv("ENABLE_PYTORCH_EXECUTION_TRACE_EXTRAS", "1")
        monkeypatch.setenv("TMPDIR", str(tmp_path))
        monkeypatch.setattr("tempfile.tempdir", None)
    else:
        options["execution_trace_observer"] = ExecutionTraceObserver().register_callback(str(path))

    def keep(prof: Any) -> None:
        ready.append(prof)
        prof.export_chrome_trace(str(tmp_path / "timeline.json"))

    with kymograph.profile(
        activities=[ProfilerActivity.CPU],
        schedule=schedule(skip_first=3, wait=1, warmup=1, active=2, repeat=1),
        on_trace_ready=keep,
        **options,
    ) as prof:
        observer = prof.execution_trace_observer
        if by_environment:
            path = Path(observer.get_output_file_path())
            resources = Path(observer.get_resources_dir(can_create=True))
        for turn in range(10):
            with torch.profiler.record_function(f"## LOOP {turn} ##"):
                torch.ones(4, 4).relu().sum()
            prof.step()

    if by_environment:
        assert list(resources.iterdir()) == []
    else:
        assert observer.get_output_file_path() == str(path)
    assert len(ready) == 1
    nodes = nodes_of(path)
    assert loops(nodes) == 2
    ids = sorted(attribute(n, "rf_id") for n in nodes if n["name"] not in (PROCESS, THREAD))
    events = json.loads((tmp_path / "timeline.json").read_text())["traceEvents"]
    assert ids == sorted(
        event["args"]["Record function id"]
        for event in events
        if event.get("cat") in ("cpu_op", "user_annotation")
    )


def test_the_environment_may_say_no(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ENABLE_PYTORCH_EXECUTION_TRACE", "0")
    monkeypatch.setenv("ENABLE_PYTORCH_EXECUTION_TRACE_EXTRAS", "0")

    assert kymograph.profile().execution_trace_observer is None


def test_started_and_stopped_again(tmp_path: Path) -> None:
    path = tmp_path / "et.json"
    observer = ExecutionTraceObserver().register_callback(str(path))
    running = 0

    def switch(turn: int) -> None:
        nonlocal running
        if turn in (3, 8):
            observer.start()
        if turn in (5, 9):
            observer.stop()
        running += observer.is_running()

    annotated(10, switch)
    observer.unregister_callback()

    assert loops(nodes_of(path)) == running == 3


def test_one_after_the_other(tmp_path: Path) -> None:
    paths = [tmp_path / f"{turn}.et.json" for turn in range(4)]
    for path in paths:
        observer = ExecutionTraceObserver().register_callback(str(path))
        observer.start()
        annotated(1)
        observer.stop()
        observer.unregister_callback()

    assert [loops(nodes_of(path)) for path in paths] == [1, 1, 1, 1]


def test_nothing_recorded(tmp_path: Path) -> None:
    observer = ExecutionTraceObserver().register_callback(str(tmp_path / "et.json"))
    observer.unregister_callback()

    assert [node["name"] for node in nodes_of(tmp_path / "et.json")] == [PROCESS]


def test_nested_tensors(tmp_path: Path) -> None:
    path = tmp_path / "et.json"
    observer = ExecutionTraceObserver().register_callback(str(path))
    with kymograph.profile(execution_trace_observer=observer):
        for layout in (torch.strided, torch.jagged):
            parts = [torch.rand(2, 5), torch.rand(3, 5)]
            torch.nested.nested_tensor(parts, layout=layout).cos()

    assert any("cos" in node["name"] for node in nodes_of(path))


def traced(path: Path, run: Callable[[], object]) -> list[dict[str, Any]]:
    observer = ExecutionTraceObserver().register_callback(str(path))
    with kymograph.profile(execution_trace_observer=observer):
        run()
    return nodes_of(path)


def gather(device: str = "cpu") -> None:
    values = torch.tensor([[1, 2], [3, 4]], device=device)
    torch.gather(values, 1, torch.tensor([[0, 0], [1, 0]], device=device))


def test_ranges_of_integers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(RANGE, "1")
    nodes = traced(tmp_path / "et.json", gather)

    (node,) = [node for node in nodes if node["name"] == "aten::gather"]
    assert attribute(node, "tensor_range") == '{"0":[1,4],"1":[0,1]}'


def test_the_values_of_integers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(DATA, "aten::gather")
    nodes = traced(tmp_path / "a.et.json", gather)

    (node,) = [node for node in nodes if node["name"] == "aten::gather"]
    kept = tmp_path / "a.et_resources"
    assert sorted(each.name for each in kept.iterdir()) == [
        f"nid_{node['id']}_tid_{tensor}.dat" for tensor in (0, 1)
    ]
    first, second = (kept / f"nid_{node['id']}_tid_{tensor}.dat" for tensor in (0, 1))
    assert struct.unpack("<4q", first.read_bytes()) == (1, 2, 3, 4)
    assert struct.unpack("<4q", second.read_bytes()) == (0, 0, 1, 0)


CODES = {
    "uint8": "B",
    "int8": "b",
    "int16": "h",
    "int32": "i",
    "int64": "q",
    "uint16": "H",
    "uint32": "I",
    "uint64": "Q",
}


@pytest.mark.parametrize("dtype", CODES)
def test_the_integers_of_a_view_are_its_own(
    dtype: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(RANGE, "1")
    monkeypatch.setenv(DATA, "aten::clone, aten::stack")
    base = torch.arange(120, dtype=torch.int32).reshape(4, 5, 6).to(getattr(torch, dtype))
    view = base[1:3, 1:, ::2].transpose(0, 2)

    def run() -> None:
        view.clone()
        torch.stack([view, torch.ones(3, 4, 2).to(view.dtype), base[:3, :4, :2]])
        torch.ones(3).clone()  # no integers

    nodes = traced(tmp_path / "et.json", run)

    expected = [int(value) for value in view.flatten().to(torch.int64)]
    cloned, _ = [node for node in nodes if node["name"] == "aten::clone"]
    assert json.loads(attribute(cloned, "tensor_range")) == {"0": [min(expected), max(expected)]}
    code = f"<{len(expected)}{CODES[dtype]}"
    kept = (tmp_path / "et_resources" / f"nid_{cloned['id']}_tid_0.dat").read_bytes()
    assert list(struct.unpack(code, kept)) == expected
    (stacked,) = [node for node in nodes if node["name"] == "aten::stack"]
    ranges = json.loads(attribute(stacked, "tensor_range"))
    assert ranges["0"] == [min(expected), max(expected)]
    assert ranges["1"] == [1, 1]
    assert ranges["2"][0] == 0


def test_extreme_integers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(RANGE, "1")
    signed = torch.tensor([-(2**63), 5, 2**63 - 1])
    unsigned = signed.view(torch.uint64)
    empty = torch.zeros(0, dtype=torch.int64)

    def run() -> None:
        for tensor in (signed, unsigned, empty, torch.tensor(-7), torch.ones(2).expand(3, 2)):
            tensor.clone()

    nodes = traced(tmp_path / "et.json", run)

    found = [attribute(node, "tensor_range") for node in nodes if node["name"] == "aten::clone"]
    assert found == [
        '{"0":[-9223372036854775808,9223372036854775807]}',
        '{"0":[5,9223372036854775808]}',
        "",
        '{"0":[-7,-7]}',
        "",
    ]


def test_values_that_cannot_be_written_are_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(DATA, "aten::gather")
    observer = ExecutionTraceObserver().register_callback(str(tmp_path / "et.json"))
    observer.start()
    assert observer._integers is not None
    monkeypatch.setattr(observer._integers, "_directory", str(tmp_path / "gone"))
    observer._integers.begin()
    gather()
    with pytest.warns(UserWarning, match="values of 2 integral tensors could not be written"):
        observer.stop()


def test_integers_are_not_read_unless_asked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(RANGE, "0")
    nodes = traced(tmp_path / "et.json", gather)

    assert {attribute(node, "tensor_range") for node in nodes} == {""}
    assert not (tmp_path / "et_resources").exists()
