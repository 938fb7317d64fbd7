"""Programs under `kymograph run` as its tests look at them: written, run, recorded, read."""

from __future__ import annotations

import subprocess
import sys
import textwrap
from collections import Counter
from pathlib import Path
from typing import Any

import kymograph

Done = subprocess.CompletedProcess[str]
RUN = [sys.executable, "-m", "kymograph", "run"]


def execute(*command: object, **options: Any) -> Done:
    return subprocess.run(
        [str(word) for word in command],
        capture_output=True,
        encoding="utf-8",
        timeout=400,
        check=False,
        **options,
    )


def recorded(*arguments: object, **options: Any) -> Done:
    """Run without a summary, into trace.kymo."""
    return execute(*RUN, "-q", "-o", "trace.kymo", *arguments, **options)


def write(path: str, code: str) -> None:
    file = Path(path)
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(textwrap.dedent(code), "utf-8")


def events(path: str = "trace.kymo") -> list[kymograph.Event]:
    with kymograph.open(path) as capture:
        return list(capture.events())


def calls(path: str = "trace.kymo") -> Counter[str]:
    return Counter(event.name for event in events(path) if event.kind == "enter")


def ending(path: str = "trace.kymo") -> str:
    with kymograph.open(path) as capture:
        return capture.info.ending
