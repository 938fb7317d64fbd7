"""Memory in merged captures, and the estimates of sampled ones."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import snapshots
from program import good, run
from test_memory_exports import export, make

import kymograph

SAMPLED = """
import sys
import kymograph.memory
kymograph.memory.start(sys.argv[1], "sampled", rate="16K")
kept = [bytes(2000) for _ in range(10000)]
kymograph.memory.snapshot("full")
del kept
kymograph.memory.stop()
"""
KEPT = 10000 * (2000 + 33)


def of(path: Path) -> dict[str, Any]:
    figures: dict[str, Any] = json.loads(good("report", "--memory", "--json", path))
    return figures


def merge(path: Path, *parts: Path) -> Path:
    good("merge", "-o", path, *parts)
    return path


@pytest.fixture(scope="module")
def places(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("merged")


@pytest.fixture(scope="module")
def sampled(places: Path) -> Path:
    path = places / "sampled.kymo"
    subprocess.run([sys.executable, "-c", SAMPLED, path], check=True, timeout=400)
    return path


@pytest.fixture(scope="module")
def calls(places: Path) -> Path:
    path = places / "calls.kymo"
    kymograph.start(path)
    kymograph.stop()
    return path


def near(sum_: dict[str, Any], bytes_: int) -> bool:
    return bool(abs(sum_["bytes"] - bytes_) <= 6 * sum_["error"])


def test_a_sampled_snapshot_is_an_estimate_with_an_error(sampled: Path) -> None:
    (full,) = (shot for shot in of(sampled)["snapshots"] if shot["reason"] == "full")
    held = full["held"]
    assert near(held, KEPT)
    assert 0.005 < held["error"] / held["bytes"] < 0.1


def test_the_snapshot_of_a_sampled_capture_says_so(sampled: Path) -> None:
    settings = snapshots.check(export(sampled, "sampled.pickle"))["allocator_settings"]
    assert settings["mode"] == "sampled" and settings["rate"] == 16384


def test_samples_count_as_before_when_another_capture_is_merged(sampled: Path, calls: Path) -> None:
    alone, merged = of(sampled), of(merge(sampled.with_name("both.kymo"), calls, sampled))
    for field in ("mode", "rate", "domains", "stacks", "at_peak", "at_end", "allocated"):
        assert merged[field] == alone[field], field
    assert not merged["missed"]


def test_merged_processes_are_added_up(places: Path) -> None:
    parts = [make(places / name, "few") for name in ("one.kymo", "two.kymo")]
    one, both = of(parts[0]), of(merge(places / "twice.kymo", *parts))
    for field in ("at_end", "allocated"):
        assert both[field]["bytes"] == 2 * one[field]["bytes"]
    assert both["resident"]["end"] == 2 * one["resident"]["end"]
    assert both["events"] == 2 * one["events"] and both["disorder"] == 0
    snapshots.check(export(places / "twice.kymo", "twice.pickle"))


def test_a_merge_of_different_modes_is_reported_as_incomplete(places: Path) -> None:
    parts = [make(places / f"{kind}.kymo", kind) for kind in ("few", "live")]
    mixed = merge(places / "mixed.kymo", *parts)
    assert "different modes" in of(mixed)["missed"]
    checked = run("report", "--memory", "--check", mixed)
    assert checked.returncode == 1 and "different modes" in checked.stderr


CHURN = """
import sys
import kymograph.memory
kymograph.memory.start(sys.argv[1])
kept = []
for i in range(150000):
    kept.append(bytes(i % 5000))
    if i % 7 == 0:
        kept.clear()
kymograph.memory.stop()
"""


def test_events_keep_their_times_wherever_blocks_of_the_file_begin(
    places: Path, calls: Path
) -> None:
    alone = places / "churn.kymo"
    subprocess.run([sys.executable, "-c", CHURN, alone], check=True, timeout=400)
    merged = merge(places / "churned.kymo", calls, alone)
    for field in ("at_peak", "at_end", "allocated", "temporary", "frees", "disorder"):
        assert of(merged)[field] == of(alone)[field], field
    good("report", "--memory", "--check", merged)
