"""What programs under kymograph.profile do in the tests, and what their traces tell."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import kymograph


def trace_of(prof: kymograph.profile, path: Path) -> dict[str, Any]:
    prof.export_chrome_trace(path)
    trace: dict[str, Any] = json.loads(path.read_bytes())
    return trace


def names_of(prof: kymograph.profile, path: Path, category: str = "user_annotation") -> list[str]:
    events = trace_of(prof, path)["traceEvents"]
    return [event["name"] for event in events if event.get("cat") == category]


def leaf() -> int:
    return 1


def branch() -> int:
    return leaf() + leaf()


def captures_in(directory: str) -> list[str]:
    return [name for name in os.listdir(directory) if name.startswith("kymograph-profile-")]
