"""What `kymograph report` keeps in memory for each function of a program."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest
from conftest import RunCode
from program import PROGRAM

pytestmark = pytest.mark.native

MOST_BYTES = 340  # for a function and its path

CODE = """
import kymograph, sys
kymograph.start(sys.argv[1], calls=False)
for i in range(int(sys.argv[2])):
    with kymograph.span(f"span {i}"):
        pass
kymograph.stop()
"""


def memory(path: Path) -> int:
    """The most memory that a report of the capture needed, in bytes."""
    with subprocess.Popen([PROGRAM, "report", path], stdout=subprocess.DEVNULL) as report:
        _, status, usage = os.wait4(report.pid, 0)
        report.returncode = os.waitstatus_to_exitcode(status)
    assert report.returncode == 0
    return usage.ru_maxrss * 1024


def test_memory_per_function_is_bounded(tmp_path: Path, run_code: RunCode) -> None:
    few, many = tmp_path / "few.kymo", tmp_path / "many.kymo"
    run_code(CODE, few, "1000")
    run_code(CODE, many, "100000")

    assert memory(many) - memory(few) < MOST_BYTES * 99_000
