"""The program `kymograph` as the tests run it."""

from __future__ import annotations

import contextlib
import os
import pty
import re
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

PROGRAM = os.environ.get("KYMO_PROGRAM") or str(Path(sys.executable).with_name("kymograph"))


def run(*arguments: object, **options: Any) -> subprocess.CompletedProcess[str]:
    options.setdefault("timeout", 400)
    return subprocess.run(
        [PROGRAM, *map(str, arguments)],
        capture_output=True,
        encoding="utf-8",
        check=False,
        **options,
    )


def good(*arguments: object, said: str = "", **options: Any) -> str:
    """What it prints; on stderr there is nothing but what it wrote, or what begins with `said`."""
    done = run(*arguments, **options)
    assert done.returncode == 0, done
    told = without_written(done.stderr)
    assert told.startswith("kymograph: " + said) if said else told == "", done
    return done.stdout


def without_written(messages: str) -> str:
    """Messages without the one that names the file that was written."""
    return re.sub(r"^kymograph: wrote .*\n", "", messages, flags=re.M)


def on_terminal(
    *arguments: object, width: int = 80, stderr: bool = False, **environment: str
) -> str:
    """What it prints on a terminal `width` cells wide, without colours; `stderr`: messages, too."""
    master, slave = pty.openpty()
    columns = {"TERM": "xterm", "COLUMNS": str(width), "NO_COLOR": "1"}
    with os.fdopen(master, "rb", closefd=True) as screen:
        process = subprocess.Popen(
            [PROGRAM, *map(str, arguments)],
            stdout=slave,
            stderr=slave if stderr else None,
            env={**os.environ, **columns, **environment},
        )
        os.close(slave)
        text = b""
        with contextlib.suppress(OSError):  # EIO: the program has gone
            while block := screen.read1(4096):
                text += block
        assert process.wait(timeout=400) == 0
    return text.decode().replace("\r\n", "\n")


def refused(*arguments: object, **options: Any) -> str:
    """The one line with which it refuses."""
    done = run(*arguments, **options)
    assert (done.returncode, done.stdout) == (2, ""), done
    assert done.stderr.startswith("kymograph: ") and done.stderr.count("\n") == 1, done.stderr
    return done.stderr.removeprefix("kymograph: ").removesuffix("\n")


def interrupted(folder: Path, number: int, *arguments: object) -> None:
    """Signal `number` comes while it writes a file in `folder`: what was there is all there is."""
    before = sorted(folder.iterdir())
    for _ in range(10):  # it may be finished before we see that it has begun to write
        with subprocess.Popen([PROGRAM, *map(str, arguments)]) as process:
            deadline = time.monotonic() + 30
            while process.poll() is None and time.monotonic() < deadline:
                if any(".part" in name for name in os.listdir(folder)):
                    process.send_signal(number)
                    break
            process.wait(30)
        if process.returncode:
            break
        for path in set(folder.iterdir()) - set(before):
            path.unlink()
    assert process.returncode == -number
    assert sorted(folder.iterdir()) == before


def fib(n: int) -> int:
    """Many calls, for captures that are not small."""
    return n if n < 2 else fib(n - 1) + fib(n - 2)
