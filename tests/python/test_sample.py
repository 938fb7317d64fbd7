"""Sampled stacks: `kymograph run --sample`, `kymograph.start(sample=...)`."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path
from typing import Any

import pytest

import kymograph
from kymograph._sample import parse
from kymograph.verbs.native import find

Done = subprocess.CompletedProcess[str]

# Time is that of the thread, so that a busy machine changes nothing.
WORK = """
import asyncio, hashlib, os, select, signal, subprocess, sys, threading, time

def turn(seconds):
    end = time.thread_time() + seconds
    while time.thread_time() < end:
        for i in range(2000):
            i * i

def digest(seconds):
    data = bytes(1_000_000)
    end = time.thread_time() + seconds
    while time.thread_time() < end:
        hashlib.sha256(data).digest()
"""


def run(path: Path, code: str, *options: str, check: bool = True) -> Done:
    script = path.with_suffix(".py")
    script.write_text(WORK + textwrap.dedent(code))
    done = subprocess.run(
        [
            sys.executable,
            "-W",
            "error",
            "-m",
            "kymograph",
            "run",
            "-o",
            str(path),
            *options,
            script,
        ],
        capture_output=True,
        text=True,
        timeout=60,
    )
    if check:
        assert done.returncode == 0, done.stderr
        assert "Traceback" not in done.stderr and "Warning" not in done.stderr
    return done


def sampled(path: Path, most_lost: int = 0) -> dict[str, Any]:
    """What `kymograph report` says of the samples."""
    done = subprocess.run(
        [str(find()), "report", "--json", str(path)],
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    report = json.loads(done.stdout)
    assert report["lost_records"] <= most_lost
    samples: dict[str, Any] = report["samples"]
    return samples


def seconds(samples: dict[str, Any], name: str, key: str = "total_ns") -> float:
    found = [each[key] for each in samples["functions"] if each["name"] == name]
    return float(sum(found)) / 1e9


def test_the_hot_function_and_the_c_code_that_it_calls_are_found(capture_path: Path) -> None:
    done = run(capture_path, "turn(0.4)\ndigest(0.4)", "--sample", "1000", "--calls", "off")
    assert "recorded " in done.stderr and " samples on 1 thread in " in done.stderr
    samples = sampled(capture_path)
    assert 0.35 < seconds(samples, "turn") < 0.6
    assert 0.35 < seconds(samples, "digest") < 0.6
    # sha256 runs in C, in whichever library has it.
    assert seconds(samples, "digest", "self_ns") < 0.1
    inside = [each for each in samples["functions"] if each["class"] == "native"]
    assert sum(each["self_ns"] for each in inside) / 1e9 > 0.3
    with kymograph.open(capture_path) as capture:
        assert capture.metadata["sample.period_ns"] == "1000000"
        assert capture.metadata["sample.clock"] == "cpu"
        assert int(capture.metadata["sample.count"]) == capture.info.records == samples["count"]


def test_what_runs_the_program_is_not_in_its_stacks(capture_path: Path) -> None:
    run(capture_path, "turn(0.2)", "--sample", "1000", "--calls", "off")
    functions = sampled(capture_path)["functions"]
    files = {each["file"] for each in functions if each["class"] == "function"}
    assert str(capture_path.with_suffix(".py")) in files
    assert not [file for file in files if "runpy" in file or "/kymograph/" in file]


def test_samples_and_calls_go_together(capture_path: Path) -> None:
    done = run(capture_path, "turn(0.3)", "--sample", "1000")
    assert " calls and " in done.stderr and " samples on 1 thread" in done.stderr
    # Those that interrupt the recording of a call are lost, and counted.
    assert seconds(sampled(capture_path, most_lost=20), "turn") > 0.15
    with kymograph.open(capture_path) as capture:
        assert "turn" in {event.name for event in capture.events() if event.kind == "enter"}


def test_without_calls_there_are_none(capture_path: Path) -> None:
    run(capture_path, "turn(0.1)", "--calls", "off", "--sample", "1000")
    with kymograph.open(capture_path) as capture:
        assert not [event for event in capture.events() if event.kind in ("enter", "leave")]


def test_every_thread_is_sampled(capture_path: Path) -> None:
    code = """
        def one(): turn(0.3)
        def two(): digest(0.3)
        threads = [threading.Thread(target=each) for each in (one, two)]
        for thread in threads: thread.start()
        turn(0.2)
        for thread in threads: thread.join()
    """
    done = run(capture_path, code, "--sample", "1000", "--calls", "off")
    assert " on 3 threads" in done.stderr
    samples = sampled(capture_path)
    # On a busy machine it may take a while until a thread is found.
    assert 0.05 < seconds(samples, "one") < 0.45
    assert 0.05 < seconds(samples, "two") < 0.45


def test_coroutines_are_sampled_where_they_run(capture_path: Path) -> None:
    code = """
        async def part(): turn(0.05); await asyncio.sleep(0.01)
        async def whole():
            await asyncio.gather(*(part() for _ in range(6)))
        asyncio.run(whole())
    """
    run(capture_path, code, "--sample", "1000", "--calls", "off")
    assert 0.2 < seconds(sampled(capture_path), "part") < 0.45


def test_time_spent_waiting_counts_by_the_wall_clock(capture_path: Path) -> None:
    code = """
        def doze():
            began = time.monotonic()
            time.sleep(0.4)
            assert time.monotonic() - began >= 0.4
        doze()
    """
    run(capture_path, code, "--sample", "200,wall", "--calls", "off")
    assert 0.25 < seconds(sampled(capture_path), "doze") < 1.5
    run(capture_path, code, "--sample", "200", "--calls", "off")
    assert seconds(sampled(capture_path), "doze") < 0.1


@pytest.mark.parametrize("options", [["--calls", "off"], []])
def test_the_exit_code_is_the_programs(capture_path: Path, options: list[str]) -> None:
    done = run(capture_path, "turn(0.1); sys.exit(3)", "--sample", "1000", *options, check=False)
    assert done.returncode == 3
    done = run(capture_path, "turn(0.1); 1 / 0", "--sample", "1000", *options, check=False)
    assert done.returncode == 1 and "ZeroDivisionError" in done.stderr


def test_a_program_that_waits_and_has_children_goes_on_as_ever(capture_path: Path) -> None:
    code = """
        readable, writable = os.pipe()
        thread = threading.Timer(0.2, os.write, (writable, b"x"))
        thread.start()
        assert select.select([readable], [], [], 10)[0] == [readable]
        assert os.read(readable, 1) == b"x"
        thread.join()
        for _ in range(5):
            assert subprocess.run([sys.executable, "-Sc", "print(1)"], capture_output=True).stdout
        lock = threading.Lock()
        lock.acquire()
        assert not lock.acquire(timeout=0.1)
        print("done")
    """
    done = run(capture_path, code, "--sample", "1000,wall", "--calls", "off")
    assert done.stdout == "done\n"


def test_a_program_may_measure_itself_with_sigprof(capture_path: Path) -> None:
    code = """
        ticks = []
        signal.signal(signal.SIGPROF, lambda *_: ticks.append(1))
        signal.setitimer(signal.ITIMER_PROF, 0.01, 0.01)
        turn(0.4)
        signal.setitimer(signal.ITIMER_PROF, 0)
        print(len(ticks) > 0)
    """
    done = run(capture_path, code, "--sample", "1000", "--calls", "off")
    assert done.stdout == "True\n"
    assert seconds(sampled(capture_path), "turn") > 0.2


@pytest.mark.skipif(not hasattr(signal, "pthread_sigmask"), reason="no signal masks here")
def test_a_program_that_blocks_every_signal_is_not_harmed(capture_path: Path) -> None:
    code = """
        signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
        turn(0.2)
        print("done")
    """
    done = run(capture_path, code, "--sample", "1000", "--calls", "off")
    assert done.stdout == "done\n"


def test_a_forked_child_is_not_sampled_and_nobody_is_warned(capture_path: Path) -> None:
    code = """
        for _ in range(5):
            turn(0.03)
            child = os.fork()
            if child == 0:
                turn(0.02)
                os._exit(7)
            assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
        turn(0.1)
        print("done")
    """
    done = run(capture_path, code, "--sample", "1000", "--calls", "off")
    assert done.stdout == "done\n"
    assert 0.15 < seconds(sampled(capture_path), "turn") < 0.4


def test_functions_that_are_gone_have_their_names(capture_path: Path) -> None:
    code = """
        for i in range(20):
            space = {"turn": turn}
            exec(f"def made_{i}(): turn(0.02)", space)
            space[f"made_{i}"]()
            del space
    """
    run(capture_path, code, "--sample", "1000", "--calls", "off")
    names = {each["name"] for each in sampled(capture_path)["functions"]}
    assert len({name for name in names if name.startswith("made_")}) >= 10
    assert "(unknown)" not in names


@pytest.mark.parametrize("sample", [100, "100", "100,wall"])
def test_start_and_trace_take_the_same(capture_path: Path, sample: int | str) -> None:
    with kymograph.trace(capture_path, calls=False, sample=sample):
        end = time.thread_time() + 0.2
        while time.thread_time() < end:
            pass
    assert 5 <= sampled(capture_path)["periods"] <= 500


def test_pause_pauses_samples_too(capture_path: Path) -> None:
    def spin(seconds: float) -> None:
        end = time.thread_time() + seconds
        while time.thread_time() < end:
            pass

    kymograph.start(capture_path, calls=False, sample=1000)
    kymograph.instant("known from now on")
    spin(0.1)
    kymograph.pause()
    spin(0.5)
    kymograph.resume()
    spin(0.1)
    kymograph.stop()
    assert 120 <= sampled(capture_path)["periods"] <= 350


def test_a_session_that_nobody_stops_ends_with_the_program(
    capture_path: Path, run_code: Any
) -> None:
    code = (
        WORK + f"import kymograph; kymograph.start({str(capture_path)!r}, sample=1000); turn(0.2)"
    )
    run_code(code)
    with kymograph.open(capture_path) as capture:
        assert capture.info.ending == "clean"
    assert seconds(sampled(capture_path, most_lost=20), "turn") > 0.1


def test_sessions_may_start_and_stop_while_others_ask_for_figures(run_code: Any) -> None:
    """Naming functions takes the GIL, for which nobody who is waited for may wait."""
    code = (
        WORK
        + """
import kymograph, tempfile
over = False
def ask():
    while not over:
        try: kymograph.stats()
        except kymograph.SessionError: pass
        exec("def f(): turn(0.001)\\nf()", {"turn": turn})
threads = [threading.Thread(target=ask) for _ in range(3)]
for thread in threads: thread.start()
with tempfile.TemporaryDirectory() as folder:
    for i in range(6):
        kymograph.start(folder + "/c.kymo", sample=1000, calls=i % 2 == 0)
        turn(0.01 if i % 3 else 0.12)
        kymograph.stop()
over = True
for thread in threads: thread.join()
"""
    )
    run_code(code)


@pytest.mark.parametrize("word", ["0", "-1", "10001", "abc", "100,cpu", "100,", "", "1e3", "٣"])
def test_a_wrong_rate_is_refused_in_one_line(tmp_path: Path, word: str) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "kymograph", "run", "--sample", word, "-c", "pass"],
        capture_output=True,
        text=True,
        timeout=60,
        cwd=tmp_path,
    )
    assert done.returncode == 2 and done.stdout == ""
    assert done.stderr.startswith(f"kymograph: --sample {word} is not a rate from 1 to 10000")
    assert done.stderr.count("\n") == 1
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("sample", [0, -5, 10001, True, 1.5, "x", "1000,cpu"])
def test_a_wrong_rate_raises(capture_path: Path, sample: Any) -> None:
    with pytest.raises(ValueError, match="sample must be a rate from 1 to 10000"):
        kymograph.start(capture_path, sample=sample)
    assert not kymograph.running() and not capture_path.exists()


def test_rates_are_read() -> None:
    assert parse(1000) == parse("1000") == (1000, 0)
    assert parse("100,wall") == (100, 1)
