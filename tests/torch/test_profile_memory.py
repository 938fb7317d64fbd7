"""profile(profile_memory=True) beside torch.profiler, both recording the same code at once."""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn

import kymograph
from kymograph import _core

TORCH = torch.profiler
CPU = [TORCH.ProfilerActivity.CPU]


def network() -> Callable[[], None]:
    model = nn.Sequential(nn.Conv2d(3, 4, 3), nn.ReLU(), nn.Flatten(), nn.Linear(4 * 36, 5))
    adam = torch.optim.Adam(model.parameters())

    def work() -> None:
        kept = torch.empty(1000)  # freed outside of every operator
        with TORCH.record_function("step"):
            model(torch.ones(2, 3, 8, 8)).sum().backward()
            adam.step()
            # Last, so that no block from before is freed: torch counts those whose address it
            # knows from an earlier profile.
            adam.zero_grad()
        del kept

    return work


def both(work: Callable[[], None]) -> tuple[Any, Any]:
    work()
    theirs = TORCH.profile(activities=CPU, profile_memory=True, acc_events=True)
    ours = kymograph.profile(activities=CPU, profile_memory=True, with_stack=False)
    ours.start()
    theirs.start()
    work()
    theirs.stop()
    ours.stop()
    return ours, theirs


def usage(rows: Any) -> dict[tuple[str, bool], tuple[int, int, int]]:
    return {
        (row.key, row.is_user_annotation): (
            row.count,
            row.cpu_memory_usage,
            row.self_cpu_memory_usage,
        )
        for row in rows
    }


def test_bytes_are_those_of_torch(tmp_path: Path) -> None:
    ours, theirs = both(network())

    mine, wanted = usage(ours.key_averages()), usage(theirs.key_averages())
    assert mine == wanted
    assert mine["[memory]", False] == (1, -4000, -4000)
    assert any(total > 0 for _, total, _ in mine.values())
    for event, other in zip(ours.events(), theirs.events(), strict=True):
        assert event.name == other.name
        assert event.cpu_memory_usage == other.cpu_memory_usage, event.name
        assert event.self_cpu_memory_usage == other.self_cpu_memory_usage, event.name
    total, other_total = ours.key_averages().total_average(), theirs.key_averages().total_average()
    assert total.self_cpu_memory_usage == other_total.self_cpu_memory_usage


def test_a_block_outside_every_call_has_no_calls_inside() -> None:
    ours, theirs = both(network())

    mine, wanted = ([e for e in prof.events() if e.name == "[memory]"] for prof in (ours, theirs))
    assert [event.cpu_children for event in wanted] == [[]]
    assert [event.cpu_children for event in mine] == [[]]


def test_tables_have_the_columns_of_torch() -> None:
    ours, theirs = both(network())

    def cells(prof: Any) -> list[list[str]]:
        lines = prof.key_averages().table(sort_by="cpu_memory_usage", row_limit=3).splitlines()
        return [[w.strip() for w in line.split("  ") if w.strip()] for line in lines]

    mine, wanted = cells(ours), cells(theirs)
    assert mine[1] == wanted[1]
    at = mine[1].index("CPU Mem")
    assert [row[at] for row in mine[3:6]] == [row[at] for row in wanted[3:6]]


def test_traces_have_the_blocks_of_torch(tmp_path: Path) -> None:
    ours, theirs = both(network())
    ours.export_chrome_trace(tmp_path / "ours.json")
    theirs.export_chrome_trace(str(tmp_path / "theirs.json"))

    def blocks(name: str) -> list[Any]:
        events = json.loads((tmp_path / name).read_text())["traceEvents"]
        found = sorted((e for e in events if e["name"] == "[memory]"), key=lambda e: e["ts"])
        wanted = ("Bytes", "Addr", "Device Type", "Device Id", "Total Reserved")
        return [
            [e["ph"], e["cat"], e["s"], e["tid"], *(e["args"][key] for key in wanted)]
            for e in found
        ]

    mine = blocks("ours.json")
    assert mine == blocks("theirs.json")
    assert len(mine) > 20


def test_blocks_of_every_thread_are_recorded_and_totals_add_up() -> None:
    def work() -> None:
        for _ in range(50):
            torch.empty(100).neg()

    with kymograph.profile(activities=CPU, profile_memory=True, with_stack=False) as prof:
        threads = [threading.Thread(target=work) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    blocks = [
        event.fields
        for event in prof.capture.events()
        if event.kind == "payload" and event.name == "[memory]"
    ]
    assert len(blocks) == 4 * 50 * 4
    assert sum(block["Bytes"] for block in blocks) == 0
    assert min(block["Total Allocated"] for block in blocks) == 0
    rows = {row.key: row for row in prof.key_averages()}
    assert rows["aten::empty"].self_cpu_memory_usage == 4 * 50 * 400
    assert rows["aten::neg"].self_cpu_memory_usage == 4 * 50 * 400
    assert rows["[memory]"].cpu_memory_usage == -4 * 50 * 800


def test_a_block_that_existed_before_is_not_counted() -> None:
    before = torch.ones(1000)
    with kymograph.profile(activities=CPU, profile_memory=True, with_stack=False) as prof:
        del before
        after = torch.empty(10)

    assert {row.key: row.cpu_memory_usage for row in prof.key_averages()} == {"aten::empty": 40}
    del after


def test_functions_have_the_memory_of_the_operators_they_call() -> None:
    def allocate() -> Any:
        return torch.empty(1000)

    with kymograph.profile(activities=CPU, profile_memory=True, with_stack=True) as prof:
        kept = allocate()

    (row,) = [row for row in prof.key_averages() if row.key.endswith("allocate")]
    assert (row.cpu_memory_usage, row.self_cpu_memory_usage) == (4000, 0)
    del kept


def sealed() -> list[str]:
    maps = Path("/proc/self/maps").read_text().splitlines()
    return [" ".join(line.split()[:2]) for line in maps if "/libc10" in line or "libtorch" in line]


def test_everything_is_put_back() -> None:
    torch.empty(1)
    before = sealed()
    for _ in range(3):
        with kymograph.profile(activities=CPU, profile_memory=True, with_stack=False):
            torch.empty(10)
    assert sealed() == before
    with kymograph.profile(activities=CPU, with_stack=False) as prof:
        torch.empty(10)
    assert "[memory]" not in {event.name for event in prof.capture.events()}
    assert _core.torch_memory(False) is False  # nobody is left


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_a_forked_child_records_its_own_memory(tmp_path: Path) -> None:
    out = tmp_path / "rows"
    with kymograph.profile(activities=CPU, profile_memory=True, with_stack=False) as prof:
        kept = torch.empty(10)
        pid = os.fork()
        if pid == 0:
            status = 1
            try:
                kept = torch.empty(20)
                with kymograph.profile(
                    activities=CPU, profile_memory=True, with_stack=False
                ) as own:
                    kept = torch.empty(30)  # frees one that it does not know
                out.write_text(str([row.cpu_memory_usage for row in own.key_averages()]))
                status = 0
            finally:
                os._exit(status)
        assert os.waitpid(pid, 0)[1] == 0

    assert out.read_text() == "[120]"
    assert {row.key: row.cpu_memory_usage for row in prof.key_averages()} == {"aten::empty": 40}
    del kept


def test_memory_that_torch_does_not_get_is_an_event(tmp_path: Path) -> None:
    too_much = 1 << 52

    def fails() -> None:
        kept = torch.empty(10)
        with pytest.raises(RuntimeError):
            torch.empty(too_much, dtype=torch.uint8)
        kept.neg()

    with torch.profiler.profile(activities=CPU, profile_memory=True) as theirs:
        fails()
    with kymograph.profile(activities=CPU, profile_memory=True, with_stack=False) as ours:
        fails()

    def told(prof: Any) -> list[Any]:
        parents = [(e.name, e.cpu_parent.name if e.cpu_parent else "") for e in prof.events()]
        usage = [(e.name, e.cpu_memory_usage, e.self_cpu_memory_usage) for e in prof.events()]
        rows = sorted((r.key, r.count, r.cpu_memory_usage) for r in prof.key_averages())
        return [parents, usage, rows]

    assert told(ours) == told(theirs)
    assert ("[OutOfMemory]", "aten::empty") in told(ours)[0]

    def in_trace(prof: Any) -> list[Any]:
        prof.export_chrome_trace(str(tmp_path / "trace.json"))
        events = json.loads((tmp_path / "trace.json").read_text())["traceEvents"]
        wanted = ("Bytes", "Device Type", "Device Id", "Total Reserved")
        return [
            [e["ph"], e["cat"], e["s"], *(e["args"][key] for key in wanted)]
            for e in events
            if e["name"] == "[OutOfMemory]"
        ]

    assert (
        in_trace(ours) == in_trace(theirs) == [["i", "cpu_instant_event", "t", too_much, 0, -1, 0]]
    )

    roots = ours.profiler.kineto_results.experimental_event_tree()
    of_empty = [child for root in roots if root.name == "aten::empty" for child in root.children]
    (node,) = [child for child in of_empty if child.name == "[OutOfMemory]"]
    assert isinstance(node.extra_fields, torch._C._profiler._ExtraFields_OutOfMemory)
    assert node.tag.name == "OutOfMemory"
