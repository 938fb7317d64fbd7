"""Recorded programs with child processes, as tests look at them."""

from __future__ import annotations

import json
import subprocess
import sys
from collections import Counter
from typing import Any

import program
from ran import execute, recorded

import kymograph


def processes(path: str = "trace.kymo") -> list[dict[str, Any]]:
    listed: list[dict[str, Any]] = json.loads(program.good("info", "-j", path))["processes"]
    return listed


def family_calls(**options: Any) -> Counter[str]:
    """Calls of all processes."""
    with kymograph.open("trace.kymo", **options) as capture:
        return Counter(event.name for event in capture.events() if event.kind == "enter")


def same_as_python(*arguments: str) -> subprocess.CompletedProcess[str]:
    """Record a program; what it prints and returns is what it does without us."""
    plain = execute(sys.executable, *arguments)
    done = recorded(*arguments)
    found = (done.returncode, done.stdout, done.stderr)
    expected = (plain.returncode, plain.stdout, plain.stderr)
    assert found == expected, f"{found}, not {expected}"
    return done
