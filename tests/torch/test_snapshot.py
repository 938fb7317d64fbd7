"""Memory snapshots that kymograph exports, read by PyTorch's own tools."""

from __future__ import annotations

import json
import os
import pickle
import shutil
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest
from torch.cuda import _memory_viz

PROGRAM = os.environ.get("KYMO_PROGRAM") or str(Path(sys.executable).with_name("kymograph"))


@pytest.fixture(scope="module")
def snapshot(tmp_path_factory: pytest.TempPathFactory) -> Path:
    built = Path(__file__).parents[2].glob("build/*/tests/programs/heap_history")
    program = max(built, key=lambda one: one.stat().st_mtime, default=None)
    if not program:
        pytest.skip("heap_history is not built")
    capture = tmp_path_factory.mktemp("snapshot") / "many.kymo"
    subprocess.run([program, capture, "many", "5000"], check=True, timeout=400)
    subprocess.run([PROGRAM, "export", "-q", "--to", "snapshot", capture], check=True, timeout=400)
    return capture.with_suffix(".pickle")


def viz(*arguments: object) -> str:
    done = subprocess.run(
        [sys.executable, _memory_viz.__file__, *map(str, arguments)],
        capture_output=True,
        encoding="utf-8",
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_stats_finds_segments_filled_exactly(snapshot: Path) -> None:
    said = viz("stats", snapshot)
    assert "segments: " in said and "total_allocated: " in said


def test_trace_finds_a_segment_for_every_block(snapshot: Path) -> None:
    said = viz("trace", snapshot)
    assert " = cudaMalloc(" in said and "# free completed for " in said
    assert "MEM[" not in said


@pytest.mark.parametrize("plot", ["trace_plot", "segment_plot"])
def test_the_page_of_the_viewer_is_made(snapshot: Path, tmp_path: Path, plot: str) -> None:
    page = tmp_path / "page.html"
    viz(plot, snapshot, "-o", page)
    assert "MemoryViz" in page.read_text()


def test_flame_graphs_of_its_blocks_have_our_stacks(snapshot: Path) -> None:
    loaded = pickle.loads(snapshot.read_bytes())
    lines = _memory_viz.memory(loaded, format_flamegraph=lambda text: text)
    assert "app.py:5:main;app.py:" in lines


def memory_viz() -> Path:
    """The viewer's script: torch's wheel does not have it, so tools/test-torch.sh fetches it."""
    given = os.environ.get("KYMO_MEMORY_VIZ", "")
    if not given or not Path(given).exists():
        pytest.skip("MemoryViz.js could not be fetched; set KYMO_MEMORY_VIZ to a copy")
    if not shutil.which("node"):
        pytest.skip("no node")
    return Path(given)


def test_the_viewer_of_the_browser_loads_every_event_and_block(snapshot: Path) -> None:
    script = Path(__file__).with_name("load_in_viewer.mjs")
    done = subprocess.run(
        ["node", script, memory_viz(), snapshot],
        capture_output=True,
        encoding="utf-8",
        timeout=400,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    shown = json.loads(done.stdout)
    ours = pickle.loads(snapshot.read_bytes())
    events = [event for trace in ours["device_traces"] for event in trace]
    expected = Counter(event["action"] for event in events)
    # It joins the two events of a free.
    frees = expected.pop("free_requested")
    assert frees == expected.pop("free_completed") == shown["actions"].pop("free")
    assert shown["actions"] == expected
    kept = [event for event in events if event["action"] != "free_completed"]
    assert shown["frames"] == sum(len(event.get("frames", ())) for event in kept)
    assert shown["segments"] == len(ours["segments"])
    blocks = [block for segment in ours["segments"] for block in segment["blocks"]]
    assert shown["blocks"] == [[b["address"], b["size"], b["state"]] for b in blocks]
    assert "unknown" in shown["categories"] or not shown["categories"]
