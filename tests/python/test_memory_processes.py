"""The memory of a program with child processes: that of a process is gone when it ends."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from program import good

MIB = 1 << 20
EACH = 50 * MIB

SEQUENCE = """
import os
for _ in range(3):
    pid = os.fork()
    if not pid:
        held = bytes(50 << 20)
        os._exit(0)
    os.waitpid(pid, 0)
"""

AT_ONCE = """
import os
ready, go = os.pipe(), os.pipe()
pids = []
for _ in range(3):
    pid = os.fork()
    if not pid:
        held = bytes(50 << 20)
        os.write(ready[1], b"x")
        os.close(go[1])
        os.read(go[0], 1)
        os._exit(0)
    pids.append(pid)
for _ in pids:
    os.read(ready[0], 1)
os.close(go[1])
for pid in pids:
    os.waitpid(pid, 0)
"""


def record(tmp_path: Path, program: str, *options: str) -> Path:
    script, path = tmp_path / "family.py", tmp_path / "family.kymo"
    script.write_text(program)
    good("run", "-q", "--memory", "--calls", "off", *options, "-o", path, script)
    return path


def of(path: Path, *options: str) -> dict[str, Any]:
    figures: dict[str, Any] = json.loads(good("report", "--memory", "--json", *options, path))
    return figures


def most_at_once(figures: dict[str, Any]) -> int:
    """The highest point of the timeline."""
    return max(
        sum(bytes_ for kind, bytes_ in point["bytes"].items() if kind != "arenas")
        for point in figures["timeline"]
    )


def test_children_one_after_another_have_the_peak_of_one(tmp_path: Path) -> None:
    figures = of(record(tmp_path, SEQUENCE))
    assert EACH <= figures["at_peak"]["bytes"] < EACH + 20 * MIB
    assert most_at_once(figures) == figures["at_peak"]["bytes"]
    assert 3 * EACH <= figures["at_end"]["bytes"] < 3 * EACH + 20 * MIB
    assert figures["disorder"] == 0


def test_after_its_end_a_child_holds_nothing(tmp_path: Path) -> None:
    path = record(tmp_path, SEQUENCE)
    last = of(path)["duration_ns"]
    assert of(path, "--at", f"{last}ns")["at_time"]["bytes"] < 20 * MIB


@pytest.mark.parametrize("mode", [(), ("--memory=sampled",)])
def test_children_at_once_are_added_up(tmp_path: Path, mode: tuple[str, ...]) -> None:
    figures = of(record(tmp_path, AT_ONCE, *mode))
    assert 3 * EACH <= figures["at_peak"]["bytes"] < 3 * EACH + 20 * MIB
    assert 3 * EACH <= figures["at_end"]["bytes"] < 3 * EACH + 20 * MIB
