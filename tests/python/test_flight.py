"""The flight recorder from Python: what is kept, and what makes it write."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

import kymograph

SPIN = """if True:
    import time, threading, os, sys, signal
    def leaf(): pass
    def spin(seconds):
        end = time.monotonic() + seconds
        while time.monotonic() < end: leaf()
"""


def marks(path: Path) -> list[str]:
    with kymograph.open(path) as capture:
        return [
            event.name.removeprefix("kymograph flight: ")
            for event in capture.events()
            if event.kind == "instant" and event.name.startswith("kymograph flight: ")
        ]


def fly(path: Path, code: str, *options: str) -> subprocess.CompletedProcess[str]:
    command = [
        sys.executable,
        "-m",
        "kymograph",
        "run",
        "-o",
        str(path),
        *options,
        "-c",
        SPIN + code,
    ]
    return subprocess.run(command, capture_output=True, text=True, timeout=400)


@pytest.mark.timing
def test_only_the_last_part_is_kept(capture_path: Path) -> None:
    done = fly(capture_path, "    spin(1)\n    print('done')\n", "--flight", "200ms")
    assert (done.returncode, done.stdout) == (0, "done\n")
    assert "older events not kept" in done.stderr and "nothing lost" in done.stderr
    with kymograph.open(capture_path) as capture:
        info = capture.info
        assert info.expired_records > 0 and info.lost_records == 0
        # What the program did after the loop is in it, and the clock runs on meanwhile.
        assert 0.15e9 < info.end - info.start < 0.6e9


def test_a_size_bounds_it_too(capture_path: Path) -> None:
    done = fly(capture_path, "    spin(1)\n", "--flight", "100K", "--budget", "1M")
    assert done.returncode == 0
    with kymograph.open(capture_path) as capture:
        assert capture.info.expired_records > 0
    assert capture_path.stat().st_size < 600_000  # definitions are all there


@pytest.mark.timing
def test_a_slow_call_has_it_written(capture_path: Path) -> None:
    code = "    time.sleep(.3)\n    spin(.6)\n    spin(.4)\n"
    assert fly(capture_path, code, "--flight", "50M", "--slow", "250ms").returncode == 0
    found = marks(capture_path)
    assert found and set(found) == {"slow call"}
    with kymograph.open(capture_path) as capture:
        assert "sleep" in {event.name for event in capture.events() if event.kind == "enter"}


def test_a_signal_writes_it_and_the_program_continues(capture_path: Path) -> None:
    code = """
    spin(.05)
    os.kill(os.getpid(), signal.SIGUSR2)
    spin(.3)
    print('alive')
    """
    done = fly(capture_path, code, "--flight", "10s")
    assert (done.returncode, done.stdout) == (0, "alive\n")
    assert marks(capture_path) == ["signal"]


@pytest.mark.parametrize("name", ["SIGTERM", "SIGHUP", "SIGABRT", "SIGSEGV"])
def test_a_signal_that_ends_the_program_leaves_what_was_kept(capture_path: Path, name: str) -> None:
    code = f"    spin(.05)\n    os.kill(os.getpid(), signal.{name})\n    spin(5)\n"
    done = fly(capture_path, code, "--flight", "10s")
    assert done.returncode == -getattr(signal, name)
    assert marks(capture_path) == ["signal"]
    with kymograph.open(capture_path) as capture:
        assert sum(event.name == "leaf" for event in capture.events()) > 100


def test_a_signal_that_the_program_handles_is_its_own(capture_path: Path) -> None:
    code = """
    def handle(number, frame):
        print('handled')
        sys.exit(5)
    signal.signal(signal.SIGTERM, handle)
    os.kill(os.getpid(), signal.SIGTERM)
    spin(5)
    """
    done = fly(capture_path, code, "--flight", "10s")
    assert (done.returncode, done.stdout) == (5, "handled\n")
    assert marks(capture_path) == []


def test_an_uncaught_exception_has_it_written(capture_path: Path) -> None:
    done = fly(capture_path, "    raise LookupError('no')\n", "--flight", "10s")
    assert done.returncode == 1
    assert done.stderr.count("LookupError: no") == 1
    assert marks(capture_path) == ["uncaught LookupError"]


def test_an_uncaught_exception_of_a_thread_has_it_written(capture_path: Path) -> None:
    code = """
    thread = threading.Thread(target=lambda: 1 // 0)
    thread.start()
    thread.join()
    """
    done = fly(capture_path, code, "--flight", "10s")
    assert done.returncode == 0
    assert done.stderr.count("ZeroDivisionError") == 1
    assert marks(capture_path) == ["uncaught ZeroDivisionError"]


def test_a_child_does_not_write_into_its_parents_file(capture_path: Path) -> None:
    code = """
    child = os.fork()
    if child == 0:
        os.kill(os.getpid(), signal.SIGTERM)
        os._exit(3)
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
    """
    done = fly(capture_path, code, "--children", "off", "--flight", "10s")
    assert (done.returncode, done.stdout) == (0, f"-{int(signal.SIGTERM)}\n")
    assert marks(capture_path) == []


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (
            ["--flight", "10x"],
            "--flight 10x is not a time or size to keep like 10s or 100M, of at least 64K; see",
        ),
        (["--flight", "10m"], "--flight 10m is not"),
        (["--flight", "0s"], "--flight 0s is not"),
        (
            ["--flight", "10s", "--slow", "soon"],
            "--slow soon is not a time like 200ms or 1s, or PATTERN=200ms; see",
        ),
        (["--slow", "1s"], "--slow works only with --flight"),
        (["--flight", "10"], "--flight 10 is not a time or size to keep"),
        (["--flight", "1K"], "--flight 1K is not a time or size to keep"),
        (["--flight", "10s", "--slow", "1"], "--slow 1 is not a time"),
        (["--flight", "10s", "--slow", "=1s"], "--slow =1s is not a time"),
        (["--flight", "10s", "--slow", "f="], "--slow f= is not a time"),
    ],
)
def test_invalid_options_are_refused(capture_path: Path, options: list[str], said: str) -> None:
    done = fly(capture_path, "    print('ran')\n", *options)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.count("\n") == 1 and said in done.stderr
    assert not capture_path.exists()


WAITING = """    import select, threading
    def poll(): select.select([], [], [], .4)
    def request(): poll()
    lock = threading.Lock()
    lock.acquire()
    request()
    time.sleep(.4)
    lock.acquire(timeout=.4)
"""


@pytest.mark.timing
def test_waiting_is_not_a_slow_call(capture_path: Path) -> None:
    assert fly(capture_path, WAITING, "--flight", "50M", "--slow", "300ms").returncode == 0
    assert marks(capture_path) == []


@pytest.mark.timing
def test_a_pattern_chooses_the_slow_calls_and_counts_all_of_their_time(capture_path: Path) -> None:
    slow = ("--flight", "50M", "--slow", "*request=300ms")
    assert fly(capture_path, WAITING, *slow).returncode == 0
    assert marks(capture_path) == ["slow call"]
    with kymograph.open(capture_path) as capture:
        texts = [event.text for event in capture.events() if event.kind == "arg_text"]
    assert [text for text in texts if "request" in text], texts


def test_the_program_can_ask_for_it(capture_path: Path) -> None:
    kymograph.start(capture_path, flight="10s", calls=False)
    try:
        kymograph.instant("first")
        kymograph.flight_write("größe \udcff")
        assert kymograph.stats().written_records == 2
        kymograph.instant("second")
        assert kymograph.stats().written_records == 2
        kymograph.flight_write()
    finally:
        kymograph.stop()
    assert marks(capture_path) == ["größe \\udcff", ""]


def test_only_a_flight_recorder_can_be_written(capture_path: Path) -> None:
    with pytest.raises(kymograph.SessionError):
        kymograph.flight_write("none runs")
    with kymograph.trace(capture_path), pytest.raises(kymograph.SessionError, match="flight"):
        kymograph.flight_write()
    with pytest.raises(TypeError):
        kymograph.flight_write(3)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="slow works only with flight"):
        kymograph.start(capture_path, slow="1s")
    assert not kymograph.running()


@pytest.mark.timing
def test_memory_is_bounded_however_long_it_runs(capture_path: Path) -> None:
    if "coverage" in sys.modules:
        pytest.skip("coverage changes what is measured")
    with kymograph.trace(capture_path, flight="1M", budget="4M", gc=False):
        before = resident()
        for _ in range(3000):
            for _ in range(1000):
                abs(1)
            if kymograph.stats().expired_records > 500_000:
                break
        assert resident() - before < 12 << 20
        assert kymograph.stats().expired_records > 100_000
    assert capture_path.stat().st_size < 2 << 20


def resident() -> int:
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")
