"""export_memory_history while recording: the file has everything up to the call."""

from __future__ import annotations

import json
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import snapshots
from allocated import replay
from program import good

import kymograph
from kymograph import memory

SIZE, THREADS, EACH = 70_001, 4, 25
ASKED = sys.getsizeof(b"") + SIZE


@pytest.fixture(autouse=True)
def stopped() -> Iterator[None]:
    yield
    if memory.running():
        memory.stop()


def hold(count: int) -> list[bytes]:
    """Blocks whose size nobody else asks for."""
    return [bytes(SIZE) for _ in range(count)]


def blocks_in(path: Path) -> int:
    return sum(block.size == ASKED for block in replay(path).live.values())


class Holders:
    """Threads that hold blocks and go on running."""

    def __init__(self) -> None:
        self.kept: list[bytes] = []
        self.ended = threading.Event()
        self.ready = threading.Barrier(THREADS + 1)
        self.threads = [threading.Thread(target=self.run) for _ in range(THREADS)]

    def run(self) -> None:
        self.kept += hold(EACH)
        self.ready.wait()
        while not self.ended.wait(0.001):
            [bytes(1000) for _ in range(20)]

    def __enter__(self) -> None:
        for thread in self.threads:
            thread.start()
        self.ready.wait()

    def __exit__(self, *exception: object) -> None:
        self.ended.set()
        for thread in self.threads:
            thread.join()


def test_a_copy_has_every_block_of_every_thread_up_to_the_call(tmp_path: Path) -> None:
    memory.start(tmp_path / "all.kymo", domains="python")
    kept = hold(10)
    holders = Holders()
    with holders:
        memory.export_memory_history(tmp_path / "first.kymo")
        kept += hold(7)
        memory.export_memory_history(tmp_path / "second.kymo")
        del kept[:5]
        memory.export_memory_history(tmp_path / "third.kymo")
    kept += hold(3)
    memory.stop()
    counts = [blocks_in(tmp_path / f"{name}.kymo") for name in ("first", "second", "third", "all")]
    before = 10 + len(holders.kept)
    assert counts == [before, before + 7, before + 2, before + 5]


def test_a_copy_is_a_finished_capture_with_the_permissions_of_the_original(tmp_path: Path) -> None:
    session = memory.start(tmp_path / "all.kymo", domains="python")
    kept = hold(10)
    Path(session.path).chmod(0o640)
    memory.export_memory_history(tmp_path / "copy.kymo")
    with kymograph.open(tmp_path / "copy.kymo") as capture:
        assert capture.info.ending == "clean"
        assert capture.metadata["memory.mode"] == "exact"
    assert (tmp_path / "copy.kymo").stat().st_mode & 0o777 == 0o640
    good("report", "--memory", "--check", tmp_path / "copy.kymo")
    assert len(kept) == 10


def test_other_formats_have_every_block_up_to_the_call(tmp_path: Path) -> None:
    memory.start(tmp_path / "all.kymo", domains="python")
    kept = hold(10)
    with Holders():
        memory.export_memory_history(tmp_path / "x.pickle")
        memory.export_memory_history(tmp_path / "x.timeline.json")
    snapshot = snapshots.check(tmp_path / "x.pickle")
    alive = [
        block
        for segment in snapshot["segments"]
        for block in segment["blocks"]
        if block["state"] == "active_allocated" and block["requested_size"] == ASKED
    ]
    assert len(alive) == len(kept) + THREADS * EACH
    assert largest(json.loads((tmp_path / "x.timeline.json").read_text())) >= len(alive) * SIZE


def largest(timeline: dict[str, Any]) -> int:
    return int(timeline["peak"]["bytes"])


def test_in_the_live_mode_the_call_takes_a_snapshot(tmp_path: Path) -> None:
    memory.start(tmp_path / "all.kymo", "live", domains="python")
    kept = hold(10)
    memory.export_memory_history(tmp_path / "copy.kymo")
    figures = json.loads(good("report", "--memory", "--json", tmp_path / "copy.kymo"))
    (shot,) = figures["snapshots"]
    assert shot["reason"] == "export"
    assert shot["held"]["bytes"] >= len(kept) * SIZE
