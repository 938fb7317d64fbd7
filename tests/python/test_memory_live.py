"""Captures of the live set: what they say, and what they do not know."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from program import good, run

PROGRAM = """
import mmap, os, signal, sys, time
import kymograph.memory
def load():
    return list(map(bytes, [10_000] * 100))
def more():
    return list(map(bytes, [20_000] * 100))
kymograph.memory.start(sys.argv[1], "live", domains="python,mappings", objects=True)
mmap.mmap(-1, 500 << 20).close()
kept = load()
kymograph.memory.snapshot("after loading")
kept = more()
kymograph.memory.snapshot("later")
if len(sys.argv) > 2:
    time.sleep(1)  # until the stacks are written, too
    os.kill(os.getpid(), signal.SIGKILL)
kymograph.memory.stop()
"""
LOADED, MORE = 100 * 10_033, 100 * 20_033


@pytest.fixture(scope="module", params=["whole", "killed"])
def capture(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("live") / f"{request.param}.kymo"
    killed = ["killed"] if request.param == "killed" else []
    done = subprocess.run([sys.executable, "-c", PROGRAM, path, *killed], check=False, timeout=400)
    assert done.returncode == (-signal.SIGKILL if killed else 0)
    return path


def of(path: Path, *options: object) -> dict[str, Any]:
    figures: dict[str, Any] = json.loads(good("report", "--memory", "--json", *options, path))
    return figures


def held_by(report: dict[str, Any], figure: str) -> dict[str, int]:
    lines = [line for line in report["lines"] if figure in line]
    return {line["name"]: line[figure]["bytes"] for line in lines if line["name"] != "<module>"}


def test_at_shows_what_was_held_at_a_snapshot(capture: Path) -> None:
    times = {shot["reason"]: shot["time_ns"] for shot in of(capture)["snapshots"]}
    for reason, expected in (("after loading", {"load": LOADED}), ("later", {"more": MORE})):
        held = held_by(of(capture, "--at", f"{times[reason]}ns"), "at_time")
        large = {name for name, size in held.items() if size > 4000}  # else Python keeps it
        assert large & {"load", "more"} == set(expected)
        for name, size in expected.items():
            assert size <= held[name] < size + 4000  # the list, and what Python keeps
        text = good("report", "--memory", "--at", f"{times[reason]}ns", capture)
        assert "AT TIME" in text and "AT PEAK" not in text
        assert f"--at {times[reason]}ns shows it" in text


def test_before_the_first_snapshot_nothing_is_known(capture: Path) -> None:
    done = run("report", "--memory", "--at", "0ns", capture)
    assert done.returncode == 2 and "has no snapshot before" in done.stderr
    done = run("export", "--memory", "--at", "0ns", "--to", "collapsed", "-o", "-", capture)
    assert done.returncode == 2 and "has no snapshot before" in done.stderr


def test_what_is_not_known_is_not_said_to_be_nothing(capture: Path) -> None:
    report, text = of(capture), good("report", "--memory", capture)
    assert report["allocated"] is None and report["old"] is None
    assert all(point["bytes"] is None for point in report["timeline"])
    if capture.stem == "killed":
        assert report["at_peak"] is None and report["at_end"] is None
        assert "peak      unknown" in text and " 0 bytes" not in text
    else:
        assert held_by(report, "at_end").keys() >= {"more"}
        # The mapping had gone before, but when the peak was is not known.
        assert report["at_peak"]["bytes"] < 10 << 20
        assert "without mappings, which were at most 500.0 MiB, at " in text
        assert "this report explains" in text
    most = report["mapped_most"]
    assert most["bytes"] == 500 << 20 and 0 < most["time_ns"] < report["duration_ns"]


def test_a_comparison_says_what_is_not_known(capture: Path) -> None:
    sides = json.loads(good("diff", "--memory", "--json", capture, capture))
    text = good("diff", "--memory", capture, capture)
    assert sides["before"]["allocated_bytes"] is None
    if capture.stem == "killed":
        assert sides["after"]["peak_bytes"] is None and sides["after"]["end_bytes"] is None
        assert "peak      unknown → unknown" in text and "no change" not in text
        assert "ended before its live set was written" in text
    else:
        assert sides["after"]["peak_bytes"] == of(capture)["at_peak"]["bytes"]
        assert "no change" in text and "unknown" not in text


def test_objects_are_those_of_one_moment(capture: Path) -> None:
    times = {shot["reason"]: shot["time_ns"] for shot in of(capture)["snapshots"]}
    text = good("report", "--memory", capture)
    few = f"100 bytes objects, {100 * (10_000 + sys.getsizeof(b'')) / 1024:.1f} KiB"
    assert "100 bytes objects, 1.9 MiB" in text and few not in text
    before = good("report", "--memory", "--at", f"{times['after loading']}ns", capture)
    assert few in before and "100 bytes objects, 1.9 MiB" not in before
    assert "Objects at the snapshot at" in before


def test_a_time_after_the_end_is_the_end(capture: Path) -> None:
    done = run("report", "--memory", "--at", "1000s", capture)
    assert done.returncode == 0 and "before --at 1000s" in done.stderr
    assert "Alive at 16 min" not in done.stdout


MAKERS = """
import re, sys, kymograph
class Row:
    __slots__ = ("text",)
def make(): return Row()
def one(): return make()
def two(): return make()
kymograph.memory.start(sys.argv[1], "live", objects=True)
rows = [one(), one(), two()]
sorted([3, 1, 2], key=lambda n: rows.append(make()) or n)
pattern = re.compile("a(b|c)*[d-f]")
kymograph.memory.stop()
"""


def test_objects_are_shown_by_type_and_line_of_the_program(capture_path: Path) -> None:
    script = capture_path.with_name("makers.py")
    script.write_text(MAKERS)
    subprocess.run([sys.executable, script, capture_path], check=True)
    stacks = [row for row in of(capture_path)["objects"] if row["type"] == "__main__.Row"]
    assert len(stacks) > 2 and sum(row["count"] for row in stacks) == 6

    shown = good("report", "--memory", "--filter", "Row", capture_path)
    whole = good("report", "--memory", "--limit", "1000", capture_path)
    unfolded = good("report", "--memory", "--unfold", "--limit", "1000", capture_path)
    rows = [line.strip() for line in shown.splitlines() if "made at" in line]
    assert len(rows) == 1 and rows[0].startswith("6 __main__.Row objects, ")
    assert rows[0].endswith("/makers.py:5")
    assert re.search(r"1 re\.Pattern object, .*, made at .*/makers\.py:11\n", whole)
    assert re.search(r"1 re\.Pattern object, .*, made at (?!.*makers).*\.py:", unfolded)
