"""What the Python tests share: a place for captures, recording helpers, other processes."""

from __future__ import annotations

import functools
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any

import pytest
from command import start_recorder
from traced import Python, Traced, shown, trace

import kymograph

Record = Callable[..., AbstractContextManager[Path]]
Read = Callable[[], list[kymograph.Event]]
RunCode = Callable[..., subprocess.CompletedProcess[str]]
Maker = Callable[..., Path]


@pytest.fixture(autouse=True)
def no_session_left() -> Iterator[None]:
    """A test that fails half-way must not leave its session to the next one."""
    yield
    if kymograph.running():
        kymograph.stop()


@pytest.fixture
def capture_path(tmp_path: Path) -> Path:
    return tmp_path / "trace.kymo"


@pytest.fixture
def record(capture_path: Path) -> Record:
    """`with record(**options):` records the block into `capture_path`."""

    @contextmanager
    def recording(**options: Any) -> Iterator[Path]:
        kymograph.start(capture_path, **options, calls=False)
        try:
            yield capture_path
        finally:
            if kymograph.running():
                kymograph.stop()

    return recording


@pytest.fixture
def read(capture_path: Path) -> Read:
    """`read()`: all events of `capture_path`."""

    def events() -> list[kymograph.Event]:
        with kymograph.open(capture_path) as capture:
            return list(capture.events())

    return events


@pytest.fixture
def run_code() -> RunCode:
    """`run_code(code, *arguments)`: run `code` in a Python of its own; it must succeed silently."""

    def run(code: str, *arguments: object, check: bool = True) -> subprocess.CompletedProcess[str]:
        done = subprocess.run(
            [sys.executable, "-W", "error", "-c", code, *map(str, arguments)],
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        if check:
            assert done.returncode == 0, f"exit {done.returncode}\n{done.stdout}{done.stderr}"
            assert done.stderr == ""  # warnings of destructors only go here
        return done

    return run


@pytest.fixture
def make(tmp_path: Path) -> Maker:
    """`make(code)`: the capture of a process that ran `code`."""

    def maker(code: str, name: str = "trace.kymo") -> Path:
        path = tmp_path / name
        with start_recorder(path, code) as process:
            process.communicate(timeout=60)
        return path

    return maker


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The test has a folder of its own, and is in it."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("PYTHONPATH", raising=False)
    monkeypatch.setenv("PYTHONDONTWRITEBYTECODE", "1")
    return tmp_path


@pytest.fixture
def traced(capture_path: Path) -> Traced:
    """`traced(function, **options)`: call it once, traced; the trace has its result."""
    return functools.partial(trace, capture_path)


@pytest.fixture
def python(capture_path: Path) -> Python:
    """`python(function)`: the Python calls that calling it made."""

    def calls(function: Callable[[], Any]) -> list[str]:
        result = trace(capture_path, function, c_calls=False, gc=False)
        return shown(result, function.__name__)

    return calls
