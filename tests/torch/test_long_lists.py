"""Operators with very many inputs and outputs, beside torch's own execution traces."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from nodes import attribute, check_same

import kymograph


def optimizer_of(count: int) -> torch.optim.Optimizer:
    parameters = [torch.nn.Parameter(torch.ones(1 + i % 7, 2)) for i in range(count)]
    for each in parameters:
        each.grad = torch.ones_like(each)
    optimizer = torch.optim.AdamW(parameters, foreach=True)
    optimizer.step()  # makes the state
    return optimizer


def traced(tmp_path: Path, run: Callable[[], object]) -> list[dict[str, Any]]:
    """The operators of RUN as we write them, after a comparison with those that torch writes."""
    theirs, ours = tmp_path / "theirs.json", tmp_path / "ours.json"
    observer = kymograph.ExecutionTraceObserver().register_callback(str(ours))
    other = torch.profiler.ExecutionTraceObserver().register_callback(str(theirs))
    observer.start()
    other.start()
    run()
    other.stop()
    observer.stop()
    observer.unregister_callback()
    other.unregister_callback()
    return list(check_same(ours, theirs).values())


@pytest.mark.parametrize("count", [300, 2000])
def test_operators_on_lists_have_all_inputs_and_outputs(tmp_path: Path, count: int) -> None:
    optimizer = optimizer_of(count)

    def run() -> None:
        optimizer.step()
        torch._foreach_add([torch.ones(i % 5, 2) for i in range(count)], 1.5)

    found = traced(tmp_path, run)

    assert {attribute(node, "incomplete") for node in found} == {None}
    longest = max(sum(map(len, node["inputs"]["shapes"])) for node in found)
    assert longest >= 3 * count  # _foreach_addcdiv_ has three lists of tensors
    returned = [node for node in found if node["name"] == "aten::_foreach_add"]
    assert max(len(node["outputs"]["values"][0]) for node in returned) == count


def test_a_thread_with_a_small_stack_records_long_lists(tmp_path: Path) -> None:
    tensors = [torch.ones(2) for _ in range(1000)]
    before = threading.stack_size(256 * 1024)
    try:
        thread = threading.Thread(target=lambda: torch._foreach_add_(tensors, 1.0))

        def run() -> None:
            thread.start()
            thread.join()

        found = traced(tmp_path, run)
    finally:
        threading.stack_size(before)
    lists = [node["inputs"]["values"][0] for node in found if node["name"] == "aten::_foreach_add_"]
    assert [len(each) for each in lists] == [1000]


def test_a_chrome_trace_has_what_torch_s_own_has(tmp_path: Path) -> None:
    """Of a list of more than 30 tensors, torch writes no shapes."""
    some, many = ([torch.ones(2, 3) for _ in range(count)] for count in (30, 300))
    shown = []
    for profile in (torch.profiler.profile, kymograph.profile):
        with profile(record_shapes=True) as prof:
            torch._foreach_addcmul_(some, some, some, 0.5)
            torch._foreach_addcmul_(many, many, many, 0.5)
            torch._foreach_add_(many, [0.5] * 300)
        prof.export_chrome_trace(str(tmp_path / "trace.json"))
        events = json.loads((tmp_path / "trace.json").read_text())["traceEvents"]
        keys = ("Input Dims", "Input type", "Input Strides", "Concrete Inputs")
        shown.append(
            [
                (event["name"], *(event["args"][key] for key in keys))
                for event in events
                if event["name"].startswith("aten::_foreach")
            ]
        )
    assert shown[1] == shown[0]
    assert len(shown[0]) == 3


def test_a_profile_has_the_shapes_of_long_lists() -> None:
    many = [torch.ones(2, 3) for _ in range(300)]
    found = []
    for profile in (torch.profiler.profile, kymograph.profile):
        with profile(record_shapes=True) as prof:
            torch._foreach_addcmul_(many, many, many, 0.5)
        events = [event for event in prof.events() if event.name == "aten::_foreach_addcmul_"]
        found.append([(event.input_shapes, event.concrete_inputs) for event in events])
    assert found[1] == found[0]
