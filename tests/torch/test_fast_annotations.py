"""torch's `_RecordFunctionFast`, which its compiler uses for kernels, while we record."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import torch

import kymograph

CPU = [torch.profiler.ProfilerActivity.CPU]


def fast(*args: Any) -> Any:
    return torch._C._profiler._RecordFunctionFast(*args)


def test_they_are_operators_with_shapes_and_keywords(tmp_path: Path) -> None:
    x = torch.ones(4, 4)
    with kymograph.profile(activities=CPU, record_shapes=True, with_stack=False) as prof:
        words = {"stream": 0, "grid": "g", "on": True, "files": ["a", "b"], "other": [1, 2]}
        kernel = fast("kernel", [x, x], words)
        for _ in range(3):
            with kernel:
                x.add(x)
        with fast("plain"), fast("marked", [x], {"scope": "user_scope"}):
            pass

    kernels = [event for event in prof.events() if event.name == "kernel"]
    assert len(kernels) == 3
    for event in kernels:
        assert event.input_shapes == [[4, 4], [4, 4]]
        assert event.kwinputs == {"stream": 0, "grid": "g", "on": True, "files": ["a", "b"]}
        assert [child.name for child in event.cpu_children] == ["aten::add"]
    (plain,) = [event for event in prof.events() if event.name == "plain"]
    assert (plain.activity_type, plain.input_shapes, plain.kwinputs) == ("cpu_op", [], {})
    (marked,) = [event for event in prof.events() if event.name == "marked"]
    assert marked.is_user_annotation
    assert (marked.activity_type, marked.scope) == ("user_annotation", 7)
    assert (marked.input_shapes, marked.kwinputs) == ([[4, 4]], {"scope": "user_scope"})

    prof.export_chrome_trace(tmp_path / "t.json")
    events = json.loads((tmp_path / "t.json").read_text())["traceEvents"]
    args = next(event["args"] for event in events if event["name"] == "kernel")
    assert args["Input Dims"] == [[4, 4], [4, 4]]
    assert (args["stream"], args["on"], args["files"]) == (0, True, ["a", "b"])
    (annotation,) = [event for event in events if event["name"] == "marked"]
    assert annotation["cat"] == "user_annotation"
    assert annotation["args"]["Input Dims"] == [[4, 4]]
    assert annotation["args"]["scope"] == "user_scope"


def test_shapes_are_recorded_only_if_asked_for() -> None:
    with kymograph.profile(activities=CPU, with_stack=False) as prof:
        with fast("kernel", [torch.ones(2)], {"stream": 1}):
            pass

    (kernel,) = [event for event in prof.events() if event.name == "kernel"]
    assert (kernel.input_shapes, kernel.kwinputs) == ([], {})


def test_the_class_and_the_flag_are_put_back() -> None:
    before = torch._C._profiler._RecordFunctionFast
    assert not torch.autograd.profiler._is_profiler_enabled
    with kymograph.profile(activities=CPU):
        assert torch.autograd.profiler._is_profiler_enabled
        with kymograph.profile(activities=CPU):
            pass
        assert torch._C._profiler._RecordFunctionFast is not before
    assert torch._C._profiler._RecordFunctionFast is before
    assert not torch.autograd.profiler._is_profiler_enabled


def test_one_that_was_made_in_a_window_works_after_it() -> None:
    with kymograph.profile(activities=CPU):
        kept = fast("kept")
    with kept:
        pass
    with pytest.raises(ValueError, match="through"), kept:
        raise ValueError("through")


def test_both_profilers_get_each_once() -> None:
    x = torch.ones(2)
    with kymograph.profile(activities=CPU, with_stack=False, record_shapes=True) as ours:
        with torch.profiler.profile(activities=CPU, record_shapes=True, acc_events=True) as theirs:
            with fast("kernel", [x, x]):
                x.add(x)
        with fast("alone", [x]):
            pass

    mine = [(e.name, e.input_shapes) for e in ours.events() if e.name in ("kernel", "alone")]
    assert mine == [("kernel", [[2], [2]]), ("alone", [[2]])]
    assert [e.name for e in theirs.events() if e.name in ("kernel", "alone")] == ["kernel"]


def test_wrong_arguments_are_refused() -> None:
    with kymograph.profile(activities=CPU):
        with pytest.raises(TypeError, match="name must be a str"):
            fast(3)
        with pytest.raises(TypeError, match="input_values"):
            fast("name", 3)
        with pytest.raises(TypeError, match="keyword_values"):
            fast("name", [], 3)


def test_reading_is_tried_without_the_threads_of_openmp(tmp_path: Path) -> None:
    # Checking sparse tensors runs in parallel, and a forked child has no threads to do so.
    program = tmp_path / "program.py"
    program.write_text(
        "import torch, kymograph\n"
        "torch.set_num_threads(2)\n"
        "torch.sparse.check_sparse_tensor_invariants.enable()\n"
        "torch.ones(1000000).sum()\n"
        "with kymograph.profile(record_shapes=True, with_stack=False) as prof:\n"
        "    torch.ones(3) + 1\n"
        "(add,) = [event for event in prof.events() if event.name == 'aten::add']\n"
        "assert add.input_shapes == [[3], [], []], add.input_shapes\n"
    )
    done = subprocess.run(
        [sys.executable, program], capture_output=True, text=True, timeout=400, check=True
    )
    assert "not understood" not in done.stderr


def test_kernels_in_execution_traces_are_as_torch_writes_them(tmp_path: Path) -> None:
    x = torch.ones(4)

    def launch() -> None:
        words = {
            "kernel_backend": "triton",
            "kernel_file": "/a/b/k.py",
            "grid": "g(1,)",
            "stream": 3,
        }
        with fast("triton_kernel", [x, x], words):
            pass

    theirs = torch.profiler.ExecutionTraceObserver()
    theirs.register_callback(str(tmp_path / "theirs.json"))
    with torch.profiler.profile(
        activities=CPU, record_shapes=True, execution_trace_observer=theirs
    ):
        launch()
    theirs.unregister_callback()
    ours = kymograph.ExecutionTraceObserver().register_callback(tmp_path / "ours.json")
    ours.start()
    launch()
    ours.stop()
    ours.unregister_callback()

    def kernel(file: str) -> dict[str, Any]:
        nodes = json.loads((tmp_path / file).read_text())["nodes"]
        (node,) = [node for node in nodes if node["name"] == "triton_kernel"]
        found = {a["name"]: a["value"] for a in node["attrs"]}
        wanted = ("kernel_backend", "kernel_file", "scope", "op_schema")
        return {
            "values": node["inputs"]["values"][2:],
            **{key: node["inputs"][key] for key in ("types", "shapes")},
            **{key: found.get(key) for key in wanted},
        }

    assert kernel("ours.json") == kernel("theirs.json")
    assert kernel("ours.json")["kernel_file"] == "k.py"
