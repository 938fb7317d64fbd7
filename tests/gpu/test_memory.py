"""profile(profile_memory=True) with a GPU beside torch.profiler, both recording at once."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
import torch.profiler

import kymograph

pytestmark = pytest.mark.skipif(not torch.cuda.is_available(), reason="no GPU")

CPU = [torch.profiler.ProfilerActivity.CPU]
CUDA = 1  # "Device Type" in a trace


def network() -> Callable[[], None]:
    model = torch.nn.Sequential(
        torch.nn.Linear(64, 128), torch.nn.ReLU(), torch.nn.Linear(128, 10)
    ).cuda()
    adam = torch.optim.Adam(model.parameters())

    def work() -> None:
        kept = torch.empty(1000, device="cuda")  # freed outside of every operator
        model(torch.ones(32, 64).cuda()).sum().backward()
        adam.step()
        adam.zero_grad()  # last, so that no block from before is freed
        del kept

    return work


def both(work: Callable[[], None], **asked: Any) -> tuple[Any, Any]:
    work()
    asked |= {"activities": CPU, "profile_memory": True}
    theirs = torch.profiler.profile(**asked, acc_events=True)
    ours = kymograph.profile(**asked)
    ours.start()
    theirs.start()
    work()
    theirs.stop()
    ours.stop()
    return ours, theirs


def test_bytes_are_those_of_torch() -> None:
    ours, theirs = both(network(), with_stack=False)

    def usage(rows: Any) -> dict[str, tuple[int, ...]]:
        return {
            row.key: (
                row.count,
                row.cpu_memory_usage,
                row.self_cpu_memory_usage,
                row.device_memory_usage,
                row.self_device_memory_usage,
            )
            for row in rows
            if "::" in row.key or row.key == "[memory]"
        }

    mine = usage(ours.key_averages())
    assert mine == usage(theirs.key_averages())
    assert mine["[memory]"][3] < 0
    assert any(row[3] > 0 for row in mine.values())
    assert "Device Mem" in ours.key_averages().table(row_limit=1)


def test_traces_have_the_blocks_of_torch(tmp_path: Path) -> None:
    ours, theirs = both(network(), with_stack=False)
    ours.export_chrome_trace(tmp_path / "ours.json")
    theirs.export_chrome_trace(str(tmp_path / "theirs.json"))

    def blocks(name: str) -> list[list[int]]:
        events = json.loads((tmp_path / name).read_text())["traceEvents"]
        found = sorted((e for e in events if e["name"] == "[memory]"), key=lambda e: e["ts"])
        wanted = ("Bytes", "Addr", "Device Id", "Total Allocated", "Total Reserved")
        return [
            [e["args"][key] for key in wanted] for e in found if e["args"]["Device Type"] == CUDA
        ]

    mine = blocks("ours.json")
    assert mine == blocks("theirs.json")
    assert len(mine) > 20


@pytest.mark.filterwarnings("ignore::FutureWarning")
def test_the_timeline_has_the_blocks_and_categories_of_torch(tmp_path: Path) -> None:
    def rows(prof: Any, name: str) -> list[list[int]]:
        path = tmp_path / name
        prof.export_memory_timeline(str(path), "cuda:0")
        found = json.loads(gzip.decompress(path.read_bytes()))
        before = sorted(row[1:] for row in found if row[0] < 0)
        return before + [row[1:] for row in found if row[0] >= 0]

    ours, theirs = both(network(), record_shapes=True, with_stack=True)
    mine = rows(ours, "ours.raw.json.gz")
    assert mine == rows(theirs, "theirs.raw.json.gz")
    assert len(mine) > 30
    assert {category for *_, category in mine} >= {0, 1, 4, 5, 6}
