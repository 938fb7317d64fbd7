"""export_memory_history while recording: the file has everything up to the call."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import snapshots
from allocated import replay
from program import good

import kymograph
from kymograph import _scratch, memory

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


START = "import os, signal, sys, kymograph; kymograph.memory.start(); "


def ended(folder: Path, code: str) -> int:
    """Run CODE in a process whose temporary files are in FOLDER, while memory is recorded."""
    environment = {**os.environ, "TMPDIR": str(folder)}
    return subprocess.run([sys.executable, "-c", START + code], env=environment).returncode


@pytest.mark.parametrize(
    "code",
    [
        "sys.exit(3)",
        "kymograph.memory.stop(); kymograph.memory.start()",
        "os.fork() or sys.exit(); os.wait()",
    ],
)
def test_no_temporary_file_outlives_its_process(tmp_path: Path, code: str) -> None:
    ended(tmp_path, code)
    assert list(tmp_path.iterdir()) == []


def test_a_forked_child_leaves_the_temporary_capture_of_its_parent(tmp_path: Path) -> None:
    output = tmp_path / "trace.kymo"
    export = f"kymograph.memory.export_memory_history({str(output)!r})"
    assert ended(tmp_path, f"os.fork() or sys.exit(); os.wait(); {export}") == 0
    assert output.exists()


@pytest.mark.parametrize(
    "ending",
    ["os._exit(0)", "os.kill(os.getpid(), signal.SIGKILL)", "os.execv('/bin/true', ['true'])"],
)
def test_the_next_process_removes_what_a_killed_one_left(tmp_path: Path, ending: str) -> None:
    ended(tmp_path, ending)
    assert len(list(tmp_path.iterdir())) == 1
    ended(tmp_path, "")
    assert list(tmp_path.iterdir()) == []


def test_only_what_is_ours_and_in_nobodys_use_is_removed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setattr(_scratch, "_folder", None)
    memory.start()  # of a living process
    memory.stop()
    (used,) = tmp_path.iterdir()
    gone = ended(tmp_path, "os._exit(0)")
    assert gone == 0
    theirs = next(path for path in tmp_path.iterdir() if path != used)
    (theirs / "notes.txt").write_text("the user's")
    without_owner = tmp_path / "kymograph-memory-x"
    without_owner.mkdir(mode=0o700)
    link = tmp_path / "kymograph-memory-link"
    link.symlink_to(theirs)
    before = sorted(str(path) for path in tmp_path.rglob("*"))
    ended(tmp_path, "")
    assert sorted(str(path) for path in tmp_path.rglob("*")) == before
    memory.export_memory_history(tmp_path / "x.html")
