"""`kymograph index`: results with an index are those without, and a stale index is ignored."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from command import bad, good, kymograph

pytestmark = pytest.mark.native

WINDOWS = [("0s", "1ms"), ("2ms", "2500us"), ("5ms", "20ms")]
SCRIPT = """
import asyncio, threading

def leaf(n):
    return n

def numbers(n):
    for i in range(n):
        yield leaf(i)

async def task(n):
    for _ in range(n):
        sum(numbers(20))
        await asyncio.sleep(0)

async def main():
    await asyncio.gather(task(150), task(150))

def work():
    for _ in range(2000):
        sum(numbers(20))

thread = threading.Thread(target=work, name="worker")
thread.start()
asyncio.run(main())
thread.join()
"""


def record(tmp_path: Path, *options: str) -> Path:
    script, capture = tmp_path / "script.py", tmp_path / "trace.kymo"
    script.write_text(SCRIPT)
    done = kymograph("run", "-o", capture, *options, script)
    assert done.returncode == 0, done
    return capture


def shown(*args: object) -> str:
    """What it printed; a window in which nothing was recorded comes with a note."""
    done = kymograph(*args)
    assert done.returncode == 0, done
    return done.stdout


def answers(capture: Path, tmp_path: Path) -> list[str]:
    """What every verb with a time window says about the capture."""
    said = []
    for since, until in WINDOWS:
        out = tmp_path / "out.json"
        said.append(good("report", "--json", "--from", since, "--to", until, capture))
        said.append(shown("dump", "--from", since, "--to", until, "-a", capture))
        good("export", "--to", "speedscope", "-o", out, "--from", since, "--until", until, capture)
        said.append(out.read_text())
        part = tmp_path / "part.kymo"
        good("cut", "--from", since, "--until", until, "-o", part, capture)
        said.append(good("dump", "-a", part))
    return said


@pytest.mark.parametrize("options", [[], ["--flight", "4MB"]], ids=["whole", "flight"])
def test_an_index_changes_no_answer(tmp_path: Path, options: list[str]) -> None:
    capture = record(tmp_path, *options)
    before = answers(capture, tmp_path)
    good("index", capture)
    assert Path(f"{capture}.index").stat().st_size > 64
    assert answers(capture, tmp_path) == before


def test_a_stale_index_is_ignored_with_a_note(tmp_path: Path) -> None:
    capture = record(tmp_path)
    good("index", capture)
    other = tmp_path / "other.kymo"
    good("cut", "-o", other, capture)
    shutil.copy(f"{capture}.index", f"{other}.index")
    result = kymograph("report", other)
    assert result.returncode == 0
    assert f"{other}.index does not match {other} and is ignored" in result.stderr


def test_a_file_that_is_not_an_index_is_left_alone(tmp_path: Path) -> None:
    capture = record(tmp_path)
    letter = Path(f"{capture}.index")
    letter.write_text("a letter")
    assert f"{letter} exists and is not an index" in bad("index", capture)
    assert letter.read_text() == "a letter"
