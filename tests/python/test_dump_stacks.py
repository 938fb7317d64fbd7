"""kymograph.dump_stacks: where all threads are, Python and native calls together."""

from __future__ import annotations

import ctypes
import io
import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from conftest import RunCode

import kymograph
from kymograph.verbs.native import find

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="Linux only")


def dump() -> str:
    """What dump_stacks prints."""
    out = io.StringIO()
    kymograph.dump_stacks(out)
    return out.getvalue()


def parts(text: str, name: str) -> list[str]:
    return [p for p in text.split("\n\n") if re.match(rf'\n*Thread \d+ "{re.escape(name)}"', p)]


def part(text: str, name: str) -> str:
    """The part of TEXT about the thread called NAME."""
    found = parts(text, name)
    assert len(found) == 1, text
    return found[0]


def calls(text: str) -> list[str]:
    """The functions of a part, oldest first: Python's with their lines left out."""
    found = re.findall(r'^  (?:File ".*", line \d+, in (\S+)|native (\S+))', text, re.MULTILINE)
    return [python or native for python, native in found]


def wait_until_in(thread: threading.Thread, function: Callable[[], object]) -> None:
    """Wait until THREAD runs FUNCTION, and give it the time to get to where it stays."""
    inside = False
    while not inside:
        time.sleep(0.01)
        frame = sys._current_frames().get(thread.ident or 0)
        while frame is not None and not inside:
            inside = frame.f_code is function.__code__
            frame = frame.f_back
    time.sleep(0.1)


@contextmanager
def thread_in(
    function: Callable[[], object], name: str, end: Callable[[], object]
) -> Iterator[threading.Thread]:
    """A thread that runs FUNCTION during the block, and that calling END ends."""
    thread = threading.Thread(target=function, name=name, daemon=True)
    thread.start()
    try:
        wait_until_in(thread, function)
        yield thread
    finally:
        end()
        thread.join()


def in_order(found: list[str], *wanted: str) -> bool:
    at = iter(found)
    return all(word in at for word in wanted)


def test_the_thread_that_asks_comes_first() -> None:
    text = dump()

    assert re.match(r"Process \d+ \(.*\)\. \d+ threads?, most recent call last\.\n\nThread", text)
    assert re.search(r'^Thread \d+ "MainThread", which asked:$', text, re.MULTILINE)
    found = calls(part(text, "MainThread"))
    assert in_order(
        found, "test_the_thread_that_asks_comes_first", "dump", "dump_stacks", "stacks_text"
    )
    assert not [name for name in found if name.startswith("kymo_")]


def test_lines_are_those_of_the_calls() -> None:
    text = dump()
    line = sys._getframe().f_lineno - 1

    assert f'File "{__file__}", line {line}, in test_lines_are_those_of_the_calls' in text


def test_threads_in_sleep_lock_and_loop_are_dumped() -> None:
    stop = threading.Event()
    lock = threading.Lock()
    lock.acquire()

    def sleeps() -> None:
        while not stop.is_set():
            time.sleep(0.5)

    def waits() -> None:
        lock.acquire()

    def loops() -> None:
        while not stop.is_set():
            pass

    with (
        thread_in(sleeps, "sleeper", stop.set),
        thread_in(waits, "waiter", lock.release),
        thread_in(loops, "looper", stop.set),
    ):
        text = dump()

    sleeper, waiter = calls(part(text, "sleeper")), calls(part(text, "waiter"))
    assert in_order(sleeper, "_bootstrap", "run", "sleeps")
    assert sleeper[-1] != "sleeps"
    assert in_order(waiter, "run", "waits")
    assert waiter[-1] != "waits"  # in the function of C that waits
    assert in_order(calls(part(text, "looper")), "run", "loops")


def test_threads_that_wait_for_the_gil_answer() -> None:
    stop = threading.Event()

    def loops() -> None:
        while not stop.is_set():
            pass

    with (
        thread_in(loops, "one", stop.set),
        thread_in(loops, "two", stop.set),
        thread_in(loops, "three", stop.set),
    ):
        texts = [dump() for _ in range(5)]

    for text in texts:
        for name in ("one", "two", "three"):
            assert "loops" in calls(part(text, name))


def test_python_called_from_c_is_between_native_calls() -> None:
    texts: list[str] = []

    @ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p)
    def compare(_a: int, _b: int) -> int:
        texts.append(dump())
        return 0

    numbers = (ctypes.c_int * 2)(2, 1)
    ctypes.CDLL(None).qsort(numbers, 2, ctypes.sizeof(ctypes.c_int), compare)

    found = calls(part(texts[0], "MainThread"))
    test = "test_python_called_from_c_is_between_native_calls"
    between = found[found.index(test) : found.index("compare")]
    assert [name for name in between if "qsort" in name or "msort" in name]


def test_a_thread_that_blocks_signals_is_reported_as_silent() -> None:
    release = threading.Event()

    def deaf() -> None:
        signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
        release.wait()

    with thread_in(deaf, "deaf", release.set):
        text = dump()

    assert re.search(r"It did not answer: it blocks signals\. It is sleeping", part(text, "deaf"))


def test_many_threads_are_dumped() -> None:
    release = threading.Event()
    threads = [
        threading.Thread(target=release.wait, name=f"t{i}-", daemon=True) for i in range(200)
    ]
    for thread in threads:
        thread.start()
    try:
        text = dump()
    finally:
        release.set()
        for thread in threads:
            thread.join()

    for i in range(200):
        assert "wait" in calls(part(text, f"t{i}-"))


def test_threads_may_start_and_end_during_a_dump() -> None:
    stop = threading.Event()

    def starts() -> None:
        while not stop.is_set():
            thread = threading.Thread(target=time.sleep, args=(0.001,))
            thread.start()
            thread.join()

    with thread_in(starts, "starter", stop.set):
        for _ in range(20):
            # A thread that has just begun is still called as the one that started it; on a busy
            # machine one may not come to answer in time, and that is reported.
            found = parts(dump(), "starter")
            assert any("starts" in calls(each) or "did not answer" in each for each in found)


def test_several_threads_may_ask_at_once() -> None:
    texts: list[str] = []
    threads = [threading.Thread(target=lambda: texts.append(dump())) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert len(texts) == 4
    for text in texts:
        assert "MainThread" in text
        assert text.count("which asked") == 1


def test_a_file_that_asks_itself_while_written_to_is_served() -> None:
    class Recursive(io.StringIO):
        inner = ""

        def write(self, text: str, /) -> int:
            if not self.inner:
                self.inner = dump()
            return super().write(text)

    out = Recursive()
    kymograph.dump_stacks(out)

    assert "write" in calls(part(out.inner, "MainThread"))
    assert "write" not in calls(part(out.getvalue(), "MainThread"))


def test_without_a_file_it_goes_to_stderr(capsys: pytest.CaptureFixture[str]) -> None:
    kymograph.dump_stacks()

    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith("Process ")


def test_a_forked_child_reports_its_own_crash(run_code: RunCode) -> None:
    done = run_code(
        """
import io, os, sys, threading, time, warnings
warnings.simplefilter("ignore")
import kymograph
threading.Thread(target=time.sleep, args=(60,), daemon=True).start()
kymograph.dump_stacks(io.StringIO())
pid = os.fork()
if pid == 0:
    out = io.StringIO()
    kymograph.dump_stacks(out)
    print(out.getvalue(), flush=True)
    os._exit(0)
assert os.waitpid(pid, 0)[1] == 0
"""
    )

    assert ". 1 thread, " in done.stdout
    assert '"MainThread", which asked:' in done.stdout


def test_names_of_all_kinds_of_characters_are_read() -> None:
    stop = threading.Event()
    names = {"plain": "plain", "grün": "grün", "日本": "日本", "𝕏": "X"}
    space: dict[str, Callable[[], None]] = {}
    for name in names:
        code = f"def {name}():\n    stop.wait()\n"
        exec(compile(code, f"/{name}.py", "exec"), {"stop": stop}, space)
    threads = [threading.Thread(target=f, daemon=True) for f in space.values()]
    for thread in threads:
        thread.start()
    time.sleep(0.1)
    try:
        text = dump()
    finally:
        stop.set()
        for thread in threads:
            thread.join()

    for name, shown in names.items():
        assert f'File "/{name}.py", line 2, in {shown}\n' in text


def test_a_raw_dump_is_read_by_the_command(tmp_path: Path) -> None:
    program = find()
    if program is None:
        pytest.skip("the program kymograph is not installed")
    path = tmp_path / "dump.txt"
    path.write_text(kymograph._core.stacks_text([(os.getpid(), "me")], True), "utf-8")

    done = subprocess.run([program, "stacks", path], capture_output=True, text=True, timeout=400)

    assert done.returncode == 0, done.stderr
    assert "test_a_raw_dump_is_read_by_the_command" in calls(part(done.stdout, "me"))


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (None, "dump.txt: No such file or directory"),
        ("something", "not a dump of stacks; a stack dump starts with the line 'kymo stacks 1'"),
    ],
)
def test_a_file_that_is_not_a_dump_is_refused(
    tmp_path: Path, content: str | None, message: str
) -> None:
    program = find()
    if program is None:
        pytest.skip("the program kymograph is not installed")
    path = tmp_path / "dump.txt"
    if content is not None:
        path.write_text(content)

    done = subprocess.run([program, "stacks", path], capture_output=True, text=True, timeout=400)

    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith(f"kymograph: {path}")
    assert message in done.stderr
    assert done.stderr.count("\n") == 1
