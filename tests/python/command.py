"""The command `kymograph` as its own tests use it, and captures for it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from program import PROGRAM, without_written

NESTED = """
with kymograph.span("outer"):
    with kymograph.span("inner"):
        kymograph.counter("bytes", 4096.5)
    kymograph.instant("moment")
kymograph.flow_out("arrow", 7); kymograph.flow_in("arrow", 7)
kymograph.async_begin("request", 8); kymograph.async_end("request", 8)
kymograph.stop()
"""


def kymograph(
    *arguments: object, environment: dict[str, str] | None = None, **options: Any
) -> subprocess.CompletedProcess[str]:
    options.setdefault("stdout", subprocess.PIPE)
    return subprocess.run(
        [PROGRAM, *map(str, arguments)],
        stderr=subprocess.PIPE,
        encoding="utf-8",
        timeout=400,
        check=False,
        env={**os.environ, **(environment or {})},
        **options,
    )


def good(*arguments: object, **options: Any) -> str:
    done = kymograph(*arguments, **options)
    assert (done.returncode, without_written(done.stderr)) == (0, ""), done
    return done.stdout


def bad(*arguments: object, code: int = 2, **options: Any) -> str:
    """The one line with which the program refuses."""
    done = kymograph(*arguments, **options)
    assert done.returncode == code, done
    assert done.stdout == "", done
    assert done.stderr.startswith("kymograph: ") and done.stderr.count("\n") == 1, done.stderr
    return done.stderr.removeprefix("kymograph: ").removesuffix("\n")


def start_recorder(path: Path, code: str) -> subprocess.Popen[bytes]:
    """A Python of its own that records into `path` and runs `code`."""
    prelude = (
        "import os, resource, signal, sys, threading, time, kymograph\n"
        "kymograph.start(sys.argv[1], calls=False)\n"
    )
    return subprocess.Popen(
        [sys.executable, "-c", prelude + code, path], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )


def info_of(path: Path) -> dict[str, Any]:
    return json.loads(good("info", "--json", path))


def events_of(path: Path, *options: object) -> list[dict[str, Any]]:
    return [json.loads(line) for line in good("dump", "--json", *options, path).splitlines()]
