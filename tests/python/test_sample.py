"""Sampled stacks, by `kymograph run --sample` and `kymograph.start(sample=...)`."""

from __future__ import annotations

import json
import os
import runpy
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

# Time is that of the thread, so that a busy machine changes little. Where the machine is a guest
# whose host takes its cores away, that counts as time of the thread, in pieces of a tenth of a
# second: so the program says how much each function and its caller really spent.
WORK = """
import asyncio, atexit, collections, hashlib, json, os, select, signal, subprocess, sys, threading
import time

spent = collections.Counter()

def write_spent(pid=os.getpid()):
    if os.getpid() == pid:
        with open(__file__ + ".spent", "w") as file:
            json.dump(spent, file)
if "__file__" in globals():
    atexit.register(write_spent)

def turn(seconds):
    began = now = time.thread_time()
    while now < began + seconds:
        for i in range(2000):
            i * i
        now = time.thread_time()
    for name in "turn", sys._getframe(1).f_code.co_name:
        spent[name] += now - began

def digest(seconds):
    data = bytes(1_000_000)
    began = now = time.thread_time()
    while now < began + seconds:
        hashlib.sha256(data).digest()
        now = time.thread_time()
    for name in "digest", sys._getframe(1).f_code.co_name:
        spent[name] += now - began
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
        timeout=400,
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
        timeout=400,
        check=True,
    )
    report = json.loads(done.stdout)
    assert report["lost_records"] <= most_lost
    samples: dict[str, Any] = report["samples"]
    return samples


def seconds(samples: dict[str, Any], name: str, key: str = "total_ns") -> float:
    found = [each[key] for each in samples["functions"] if each["name"] == name]
    return float(sum(found)) / 1e9


def part_seen(path: Path, samples: dict[str, Any], name: str, key: str = "total_ns") -> float:
    """The time that the samples give function NAME, as a part of what it really spent."""
    spent = json.loads(path.with_suffix(".py.spent").read_text())
    return seconds(samples, name, key) / float(spent[name])


@pytest.mark.timing
def test_the_hot_function_and_the_c_code_that_it_calls_are_found(capture_path: Path) -> None:
    done = run(capture_path, "turn(0.4)\ndigest(0.4)", "--sample", "1000", "--calls", "off")
    assert "recorded " in done.stderr and " samples on 1 thread in " in done.stderr
    samples = sampled(capture_path)
    assert 0.85 < part_seen(capture_path, samples, "turn") < 1.5
    assert 0.85 < part_seen(capture_path, samples, "digest") < 1.5
    # sha256 runs in C, in whichever library has it.
    assert part_seen(capture_path, samples, "digest", "self_ns") < 0.25
    inside = [each for each in samples["functions"] if each["class"] == "native"]
    assert sum(each["self_ns"] for each in inside) / 1e9 > 0.75 * seconds(samples, "digest")
    with kymograph.open(capture_path) as capture:
        assert capture.metadata["sample.period_ns"] == "1000000"
        assert capture.metadata["sample.clock"] == "cpu"
        assert int(capture.metadata["sample.count"]) == capture.info.records == samples["count"]


@pytest.mark.timing
def test_time_in_the_kernel_counts_for_the_function_that_made_the_call(
    capture_path: Path,
) -> None:
    code = """
        def read_zeros(seconds):
            began = now = time.thread_time()
            while now < began + seconds:
                os.read(zeros, 1_000_000)
                now = time.thread_time()
            spent["read_zeros"] += now - began

        zeros = os.open("/dev/zero", os.O_RDONLY)

        for _ in range(100):
            read_zeros(0.003)
            turn(0.003)
    """
    run(capture_path, code, "--sample", "1000", "--calls", "off")
    samples = sampled(capture_path)
    assert 0.7 < part_seen(capture_path, samples, "read_zeros") < 1.3
    assert 0.7 < part_seen(capture_path, samples, "turn") < 1.3
    with kymograph.open(capture_path) as capture:
        assert capture.metadata["sample.timer"] in ("perf_event_open", "timer_create")


def test_frames_that_run_the_program_are_hidden(capture_path: Path) -> None:
    run(capture_path, "turn(0.2)", "--sample", "1000", "--calls", "off")
    functions = sampled(capture_path)["functions"]
    files = {each["file"] for each in functions if each["class"] == "function"}
    assert str(capture_path.with_suffix(".py")) in files
    ours = os.path.dirname(kymograph.__file__) + os.sep
    assert not [file for file in files if file == runpy.__file__ or file.startswith(ours)]


def test_a_generator_is_never_seen_without_its_caller(capture_path: Path) -> None:
    # While it yields, the interpreter has unlinked its frame from the caller's for a moment.
    code = """
        def count(most):
            for i in range(most):
                yield i

        def add_up():
            began = time.thread_time()
            while time.thread_time() < began + 1:
                for _ in count(1000):
                    pass

        add_up()
    """
    run(capture_path, code, "--sample", "5000", "--calls", "off")
    written = capture_path.with_suffix(".txt")
    command = [find(), "export", capture_path, "--to", "collapsed", "-o", written]
    subprocess.run(command, capture_output=True, check=True, timeout=400)
    stacks = [line for line in written.read_text().splitlines() if ";count (" in line]
    assert stacks and not [line for line in stacks if ";add_up (" not in line]


def test_the_profilers_own_functions_within_the_program_are_hidden(capture_path: Path) -> None:
    code = """
        def look():
            ours = [each for each in sys.meta_path if "kymograph" in type(each).__module__]
            assert ours  # which waits for the import of multiprocessing
            began = time.thread_time()
            while time.thread_time() < began + 0.2:
                for _ in range(1000):
                    ours[0].find_spec("nothing")

        look()
    """
    run(capture_path, code, "--sample", "1000", "--calls", "off")
    names = {each["name"] for each in sampled(capture_path)["functions"]}
    assert "look" in names
    assert "_Finder.find_spec" not in names


@pytest.mark.timing
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


@pytest.mark.timing
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
    assert 0.15 < part_seen(capture_path, samples, "one") < 1.5
    assert 0.15 < part_seen(capture_path, samples, "two") < 1.5


@pytest.mark.timing
def test_coroutines_are_sampled_where_they_run(capture_path: Path) -> None:
    code = """
        async def part(): turn(0.05); await asyncio.sleep(0.01)
        async def whole():
            await asyncio.gather(*(part() for _ in range(6)))
        asyncio.run(whole())
    """
    run(capture_path, code, "--sample", "1000", "--calls", "off")
    assert 0.65 < part_seen(capture_path, sampled(capture_path), "part") < 1.5


@pytest.mark.timing
def test_time_spent_waiting_counts_by_the_wall_clock(capture_path: Path) -> None:
    code = """
        def doze():
            began = time.monotonic()
            time.sleep(0.4)
            print(time.monotonic() - began)
        doze()
    """
    slept = float(run(capture_path, code, "--sample", "200,wall", "--calls", "off").stdout)
    by_the_wall = seconds(sampled(capture_path), "doze")
    assert slept / 2 < by_the_wall < slept * 1.5
    run(capture_path, code, "--sample", "200", "--calls", "off")
    assert seconds(sampled(capture_path), "doze") < slept / 4


@pytest.mark.parametrize("options", [["--calls", "off"], []])
def test_the_exit_code_is_the_programs(capture_path: Path, options: list[str]) -> None:
    done = run(capture_path, "turn(0.1); sys.exit(3)", "--sample", "1000", *options, check=False)
    assert done.returncode == 3
    done = run(capture_path, "turn(0.1); 1 / 0", "--sample", "1000", *options, check=False)
    assert done.returncode == 1 and "ZeroDivisionError" in done.stderr


def test_a_program_that_waits_and_has_children_is_not_disturbed(capture_path: Path) -> None:
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


@pytest.mark.timing
def test_a_forked_child_is_not_sampled_and_causes_no_warning(capture_path: Path) -> None:
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
    assert 0.6 < part_seen(capture_path, sampled(capture_path), "turn") < 1.6


@pytest.mark.timing
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


@pytest.mark.timing
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
        timeout=400,
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


@pytest.mark.timing
def test_threads_have_their_python_names_without_calls(tmp_path: Path) -> None:
    capture = tmp_path / "named.kymo"
    run(
        capture,
        """
        class Shy(threading.Thread):
            def __getattribute__(self, name):
                if threading.get_ident() != self_ident and name in ("name", "_name"):
                    print("the program's code ran")
                return super().__getattribute__(name)

        self_ident = threading.get_ident()
        stop = threading.Event()
        def work():
            while not stop.is_set(): turn(0.02)
        threads = [threading.Thread(target=work, name="böse Arbeit"), Shy(target=work, name="shy")]
        for thread in threads: thread.start()
        turn(0.1)
        time.sleep(1)
        stop.set()
        for thread in threads: thread.join()
        """,
        "--calls",
        "off",
        "--sample",
        "500",
    )
    with kymograph.open(capture) as opened:
        names = {thread.name for thread in opened.threads}
    assert {"MainThread", "böse Arbeit", "shy"} <= names
