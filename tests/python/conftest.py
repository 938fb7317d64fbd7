"""What the Python tests share: a place for captures, recording helpers, other processes."""

from __future__ import annotations

import functools
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any

import pytest
import starved
from _pytest.runner import runtestprotocol
from command import start_recorder
from judges import Browser
from traced import Python, Traced, shown, trace

import kymograph

ROOT = Path(__file__).parents[2]
Record = Callable[..., AbstractContextManager[Path]]
Read = Callable[[], list[kymograph.Event]]
RunCode = Callable[..., subprocess.CompletedProcess[str]]
Maker = Callable[..., Path]


# Programs that tests run behave as anywhere: their output is buffered, and they do not inherit that
# a shell has its background jobs ignore one signal, and nohup the other.
os.environ.pop("PYTHONUNBUFFERED", None)
signal.signal(signal.SIGINT, signal.default_int_handler)
signal.signal(signal.SIGHUP, signal.SIG_DFL)


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item, nextitem: pytest.Item | None) -> bool:
    """Run a test, and again if it fails where it may: a test marked `timing` compares times that
    the program measured, and one figure may be wrong on a busy machine. See starved.py."""
    timing = item.get_closest_marker("timing") is not None
    item.ihook.pytest_runtest_logstart(nodeid=item.nodeid, location=item.location)
    for left in reversed(range(starved.TRIES)):
        cores = starved.Cores.so_far()
        reports = runtestprotocol(item, nextitem=nextitem, log=False)
        failed = [report for report in reports if report.failed]
        stolen = cores.stolen_since()
        if not failed or (not timing and stolen < starved.STARVED):
            break
        if not left:
            if timing and stolen >= starved.STARVED:
                skip_starved(item, failed, stolen)
            break
        print(f"\n{item.nodeid} failed and is tried again:\n{failed[0].longreprtext}")
        item.session._setupstate.teardown_exact(None)  # what its module shares is made anew, too
        item._initrequest()  # type: ignore[attr-defined]  # and its own fixtures
    for report in reports:
        item.ihook.pytest_runtest_logreport(report=report)
    item.ihook.pytest_runtest_logfinish(nodeid=item.nodeid, location=item.location)
    return True


def skip_starved(item: pytest.Item, failed: list[pytest.TestReport], stolen: float) -> None:
    """No try had the cores it asked for: nothing can be said."""
    print(f"\n{item.nodeid} failed {starved.TRIES} times:\n{failed[0].longreprtext}")
    why = f"failed {starved.TRIES} times while the host kept {stolen:.0%} of the cores for itself"
    path, line, _ = item.location
    for report in failed:
        report.outcome = "skipped"
        report.longrepr = (path, line or 0, f"Skipped: {why}")


@pytest.fixture(autouse=True)
def nothing_left_behind() -> Iterator[None]:
    """What a test leaves behind breaks others, far away: a session ends here, and a thread of
    Python's that goes on is a failure of the test that started it."""
    before = set(threading.enumerate())
    yield
    if kymograph.running():
        kymograph.stop()
    left = [thread for thread in threading.enumerate() if thread not in before]
    for thread in left:
        thread.join(10)  # one that is about to end may still be there
    assert [thread for thread in left if thread.is_alive()] == []


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """A browser as large as a small screen."""
    browser = Browser()
    browser.resize(1280, 800)
    yield browser
    browser.close()


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
            timeout=400,
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
            process.communicate(timeout=400)
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


def analysis_python(wanted: str) -> str:
    """A Python that has what is WANTED to read our exports; without one, the test is skipped."""
    done = subprocess.run(
        [ROOT / "tools" / "analysis-venv.sh"],
        capture_output=True,
        text=True,
        timeout=590,
        check=False,
    )
    if done.returncode:
        pytest.skip(f"no {wanted}: " + done.stderr.strip().splitlines()[-1])
    return done.stdout.strip()


@pytest.fixture(scope="module")
def analysis() -> tuple[str, dict[str, str]]:
    """A Python with DuckDB, and an environment in which ours has pyarrow."""
    python = analysis_python("pyarrow and DuckDB")
    version = f"{sys.version_info.major}.{sys.version_info.minor}"
    packages = Path(python).parents[1] / "lib" / f"python{version}" / "site-packages"
    if not packages.is_dir():
        pytest.skip(f"pyarrow is not there for Python {version}, only for that of .venv")
    return python, {**os.environ, "PYTHONPATH": str(packages), "KYMO_PYTHON": sys.executable}
