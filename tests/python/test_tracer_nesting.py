"""Enters and leaves pair on every thread, whatever programs do. See `check` in traced.py."""

from __future__ import annotations

import _thread
import asyncio
import contextlib
import ctypes
import functools
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from traced import Traced, check, read_trace

import kymograph

# 2000 calls by default; KYMO_CALLS=1000000 for the long run.
CALLS = int(os.environ.get("KYMO_CALLS", "2000"))
FREE_THREADED = not getattr(sys, "_is_gil_enabled", lambda: True)()


@pytest.fixture
def quick_switches() -> Iterator[None]:
    """Threads change places as often as they can."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    yield
    sys.setswitchinterval(before)


def entered(path: Path, name: str) -> Counter[int]:
    """How often NAME was called on each thread; the capture is checked event by event."""
    counts: Counter[int] = Counter()

    def counted(events: Iterator[kymograph.Event]) -> Iterator[kymograph.Event]:
        for event in events:
            if event.kind == "enter" and event.detail == "call" and event.name.endswith(name):
                counts[event.thread] += 1
            yield event

    with kymograph.open(path) as capture:
        check(counted(capture.events()))
    return counts


def leaf() -> None: ...


# ---- the checker itself


class Fake:
    """An event that says what it is told to."""

    def __init__(self, kind: str, key: int, time: int, detail: str = "", id: int = 0) -> None:
        self.kind, self.key, self.time, self.detail, self.id = kind, key, time, detail, id
        self.thread, self.name = 0, f"f{key}"

    def __str__(self) -> str:
        return f"{self.kind} {self.name}"


@pytest.mark.parametrize(
    ("events", "complaint"),
    [
        ([Fake("leave", 1, 1)], "nothing is open"),
        ([Fake("enter", 1, 1), Fake("enter", 2, 2), Fake("leave", 1, 3)], "innermost open is 'f2'"),
        ([Fake("enter", 1, 5), Fake("leave", 1, 4)], "1 ns back in time"),
        ([Fake("gap", 0, 1, "budget", 7)], "7 records are missing"),
        (
            [Fake("enter", 1, 1, "call", 9), Fake("enter", 1, 2, "resume", 9)],
            "goes on but was not suspended",
        ),
    ],
)
def test_the_checker_finds(events: Any, complaint: str) -> None:
    with pytest.raises(AssertionError, match=complaint):
        check(events)


def test_the_checker_lets_the_last_calls_stay_open() -> None:
    check([Fake("enter", 1, 1), Fake("enter", 2, 1), Fake("leave", 2, 1)])  # type: ignore[list-item]


# ---- depth


def test_recursion_to_the_limit(traced: Traced) -> None:
    def down(n: int) -> int:
        return 1 + down(n - 1) if n else 0

    def program() -> int:
        return down(sys.getrecursionlimit() - 200)

    result = traced(program)

    assert result.result == sys.getrecursionlimit() - 200
    assert len(result.find("down")) == result.result + 1


def test_recursion_beyond_the_limit_again_and_again(traced: Traced) -> None:
    def down() -> None:
        len(())
        down()

    def program() -> None:
        for _ in range(20):
            with contextlib.suppress(RecursionError):
                down()

    for c_calls in (True, False):
        assert len(traced(program, c_calls=c_calls).find("down")) > 20 * 100


@pytest.mark.skipif(sys.version_info < (3, 11), reason="every Python call uses C stack before 3.11")
@pytest.mark.parametrize("c_calls", [True, False])
def test_recursion_as_deep_as_it_goes_without_us(
    run_code: Any, tmp_path: Path, c_calls: bool
) -> None:
    code = """
import sys, kymograph
def down(n):
    return 1 + down(n - 1) if n else 0
sys.setrecursionlimit(60_000)
kymograph.start(sys.argv[1], c_calls=sys.argv[2] == "True")
assert down(50_000) == 50_000
assert down(10) == 10
kymograph.stop()
"""
    run_code(code, tmp_path / "deep.kymo", c_calls)

    assert sum(entered(tmp_path / "deep.kymo", "down").values()) == 50_001 + 11


def test_deep_recursion_sees_the_threads_that_begin_meanwhile(
    run_code: Any, tmp_path: Path
) -> None:
    code = """
import sys, threading, kymograph
def leaf(): pass
def down(n):
    if n:
        return down(n - 1)
    thread = threading.Thread(target=leaf)
    thread.start()
    thread.join()
sys.setrecursionlimit(5_000)
threading.stack_size(64 << 20)
kymograph.start(sys.argv[1])
down(3_000)
kymograph.stop()
"""
    run_code(code, tmp_path / "deep.kymo")

    assert sum(entered(tmp_path / "deep.kymo", "leaf").values()) == 1


@pytest.mark.parametrize("c_calls", [False, True])
def test_a_session_may_follow_another_inside_functions_that_both_know(
    tmp_path: Path, c_calls: bool
) -> None:
    first, second = tmp_path / "first.kymo", tmp_path / "second.kymo"

    def inner(change: bool) -> None:
        leaf()
        if change:
            kymograph.stop()
            kymograph.start(second, c_calls=c_calls)
        leaf()

    def outer(change: bool) -> None:
        inner(change)
        leaf()

    kymograph.start(first, c_calls=c_calls)
    for _ in range(3):
        outer(False)
    outer(True)
    outer(False)
    kymograph.stop()

    assert sum(entered(first, "leaf").values()) == 3 * 3 + 1
    assert sum(entered(second, "leaf").values()) == 2 + 3
    assert sum(entered(first, "inner").values()) == 4
    assert sum(entered(second, "inner").values()) == 1  # and one that was open
    with kymograph.open(second) as capture:
        ends = [event.name for event in capture.events() if event.kind == "leave"]
    assert [name.rsplit(".")[-1] for name in ends if "er" in name.rsplit(".")[-1]][:3] == [
        "inner",
        "outer",
        "inner",
    ]


def test_exceptions_through_many_kinds_of_frames(traced: Traced) -> None:
    def generator(n: int) -> Iterator[int]:
        try:
            yield from generator(n - 1) if n else iter([1 // 0])
        finally:
            leaf()

    class Thing:
        def __init__(self, n: int) -> None:
            list(generator(n))

        def __getattr__(self, name: str) -> Any:
            raise KeyError(name)

    def program() -> int:
        caught = 0
        for n in range(10):
            for attempt in (
                lambda: Thing(n),  # noqa: B023
                lambda: sorted([1, 2], key=lambda _: Thing(n)),  # type: ignore[return-value] # noqa: B023
                lambda: [*map(Thing, [n])],  # noqa: B023
                lambda: functools.reduce(lambda a, b: Thing(n), [1, 2]),  # type: ignore # noqa: B023
                lambda: object.__new__(Thing).missing,
                lambda: exec("raise KeyError"),
            ):
                try:
                    attempt()
                except (ZeroDivisionError, KeyError):
                    caught += 1
        return caught

    assert traced(program).result == 60


# ---- signals


class Alarm(Exception):
    pass


def ring(*_: object) -> None:
    raise Alarm


@pytest.mark.skipif(
    threading.current_thread() is not threading.main_thread(),
    reason="signals are the main thread's",
)
@pytest.mark.parametrize("c_calls", [True, False])
def test_exceptions_of_signal_handlers(traced: Traced, c_calls: bool) -> None:
    def numbers() -> Iterator[int]:
        for i in range(5):
            yield i

    def work() -> None:
        while True:
            leaf()
            for _ in numbers():
                leaf()
            len(())

    def program() -> int:
        rung = 0
        while rung < 100:
            try:
                signal.setitimer(signal.ITIMER_REAL, 0.0001, 1)  # again, if it comes to nothing
                work()
            except Alarm:
                rung += 1
        signal.setitimer(signal.ITIMER_REAL, 0)
        return rung

    before = signal.signal(signal.SIGALRM, ring)
    try:
        result = traced(program, c_calls=c_calls)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)

    assert result.result == 100


@pytest.mark.skipif(
    threading.current_thread() is not threading.main_thread(),
    reason="signals are the main thread's",
)
@pytest.mark.parametrize("c_calls", [True, False])
def test_generators_that_handle_the_exceptions_of_signal_handlers(
    traced: Traced, c_calls: bool
) -> None:
    """A signal may come after a generator was asked to go on and before that is reported."""
    handled = 0

    def ring_inside(_: int, frame: Any) -> None:
        if frame.f_code in (inner.__code__, outer.__code__):
            raise Alarm

    def inner(n: int) -> Iterator[int]:
        nonlocal handled
        if n:
            yield from inner(n - 1)
        for i in range(5):
            try:
                yield i
            except Alarm:
                handled += 1

    def outer() -> Iterator[int]:
        nonlocal handled
        try:
            yield from inner(2)
        except Alarm:
            handled += 1
            yield 1

    def program() -> None:
        while handled < 60:
            with contextlib.suppress(Alarm):
                for _ in outer():
                    len(())

    before = signal.signal(signal.SIGALRM, ring_inside)
    signal.setitimer(signal.ITIMER_REAL, 0.0002, 0.0002)
    try:
        traced(program, c_calls=c_calls)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)

    assert handled >= 60


def test_exceptions_sent_to_a_thread(traced: Traced) -> None:
    # No lock: the exception may come while it is held, and then nobody gets it any more.
    ready, alarms = False, 0

    def work() -> None:
        nonlocal alarms, ready
        while alarms < 20:
            try:
                ready = True
                while True:
                    leaf()
            except Alarm:
                alarms += 1

    def program() -> None:
        thread = threading.Thread(target=work)
        thread.start()
        while not ready:
            time.sleep(0.001)
        while thread.is_alive() and alarms < 20:
            ctypes.pythonapi.PyThreadState_SetAsyncExc(
                ctypes.c_ulong(thread.ident or 0), ctypes.py_object(Alarm)
            )
            time.sleep(0.001)
        thread.join()

    with contextlib.suppress(Alarm):  # the last one may meet the thread on its way out
        traced(program)
    assert alarms == 20


# ---- threads


def test_many_threads_with_many_calls(capture_path: Path, quick_switches: None) -> None:
    def work() -> None:
        for _ in range(CALLS):
            leaf()

    def program() -> None:
        threads = [threading.Thread(target=work) for _ in range(64)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    kymograph.start(capture_path, c_calls=False, gc=False)
    program()
    kymograph.stop()

    counts = entered(capture_path, "leaf")
    assert sorted(counts.values()) == [CALLS] * 64


def test_threads_with_c_calls_and_generators(capture_path: Path, quick_switches: None) -> None:
    def numbers() -> Iterator[int]:
        for i in range(3):
            yield i

    def work() -> None:
        for _ in range(300):
            sorted([2, 1], key=lambda x: -x)
            sum(numbers())
            with contextlib.suppress(ValueError):
                int("x")
            leaf()

    def program() -> None:
        with ThreadPoolExecutor(8) as pool:
            for future in [pool.submit(work) for _ in range(16)]:
                future.result()

    kymograph.start(capture_path)
    program()
    kymograph.stop()

    assert sum(entered(capture_path, "leaf").values()) == 16 * 300


def test_threads_that_run_when_tracing_begins_and_ends(
    tmp_path: Path, quick_switches: None
) -> None:
    done = threading.Event()
    paths = [tmp_path / f"{i}.kymo" for i in range(6)]

    def inner(n: int) -> None:
        leaf()
        if n:
            inner(n - 1)

    def work() -> None:
        while not done.is_set():
            inner(5)
            [*map(inner, [1, 2])]

    threads = [threading.Thread(target=work) for _ in range(6)]
    for thread in threads:
        thread.start()
    try:
        for i, path in enumerate(paths):
            kymograph.start(path, c_calls=i % 2 == 0)
            time.sleep(0.005)
            kymograph.stop()
    finally:
        done.set()
        for thread in threads:
            thread.join()

    # Not before they ended: whoever reads while six threads want the GIL waits for minutes.
    for path in paths:
        read_trace(path)


def test_calls_of_one_session_that_end_in_the_next(tmp_path: Path) -> None:
    paths = [tmp_path / f"{i}.kymo" for i in range(2)]
    began, go_on = threading.Lock(), threading.Lock()  # calls of C only
    began.acquire()
    go_on.acquire()

    def waiting() -> None:
        leaf()
        began.release()
        go_on.acquire()

    def work() -> None:
        waiting()
        leaf()

    kymograph.start(paths[0], c_calls=False)
    thread = threading.Thread(target=work)
    thread.start()
    began.acquire()
    kymograph.stop()
    kymograph.start(paths[1], c_calls=False)
    go_on.release()
    thread.join()
    kymograph.stop()

    assert read_trace(paths[0]).only("waiting").left == "never"
    (recorded,) = read_trace(paths[1]).find("work")
    assert [call.plain for call in recorded.calls][-1] == "leaf"


def test_a_thread_that_runs_when_tracing_begins_has_its_frames_open(capture_path: Path) -> None:
    begun, go_on = threading.Event(), threading.Event()

    def waiting() -> None:
        begun.set()
        go_on.wait()
        leaf()

    def outer() -> None:
        waiting()
        leaf()

    thread = threading.Thread(target=outer)
    thread.start()
    begun.wait()
    kymograph.start(capture_path)
    go_on.set()
    thread.join()
    kymograph.stop()
    result = read_trace(capture_path)

    assert str(result.only("outer")) == "outer open>return"
    assert str(result.only("waiting")) == "waiting open>return"
    assert result.only("outer").calls[0] is result.only("waiting")
    assert [str(call) for call in result.only("outer").calls if call.plain == "leaf"] == ["leaf"]
    assert "leaf" in [str(call) for call in result.only("waiting").calls]


def test_threads_without_the_threading_module(capture_path: Path) -> None:
    lock = threading.Lock()
    left = 20

    def work() -> None:
        nonlocal left
        for _ in range(100):
            leaf()
        with lock:
            left -= 1

    kymograph.start(capture_path)
    for _ in range(20):
        _thread.start_new_thread(work, ())
    while left:
        time.sleep(0.001)
    kymograph.stop()

    assert sum(entered(capture_path, "leaf").values()) == 2000


def test_short_lived_threads(capture_path: Path) -> None:
    kymograph.start(capture_path)
    for _ in range(200):
        thread = threading.Thread(target=leaf)
        thread.start()
        thread.join()
    kymograph.stop()

    assert sum(entered(capture_path, "leaf").values()) == 200


NATIVE = """
#include <pthread.h>
#include <stddef.h>
static void *run(void *callback) { ((void (*)(void))callback)(); return NULL; }
void call_on_threads(void (*callback)(void), int count) {
    pthread_t threads[64];
    for (int i = 0; i < count; i++) pthread_create(&threads[i], NULL, run, (void *)callback);
    for (int i = 0; i < count; i++) pthread_join(threads[i], NULL);
}
"""


@pytest.fixture(scope="module")
def native(tmp_path_factory: pytest.TempPathFactory) -> ctypes.CDLL:
    """A library that calls back from threads of its own."""
    compiler = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
    if not compiler:
        pytest.skip("there is no C compiler here")
    place = tmp_path_factory.mktemp("native")
    (place / "native.c").write_text(NATIVE)
    subprocess.run(
        [compiler, "-shared", "-fPIC", "-pthread", "-o", "native.so", "native.c"],
        cwd=place,
        check=True,
    )
    return ctypes.CDLL(str(place / "native.so"))


@pytest.mark.parametrize("c_calls", [True, False])
def test_threads_that_python_did_not_make(
    native: ctypes.CDLL, capture_path: Path, c_calls: bool
) -> None:
    def work() -> None:
        for _ in range(100):
            leaf()

    callback = ctypes.CFUNCTYPE(None)(work)

    kymograph.start(capture_path, c_calls=c_calls)
    native.call_on_threads(callback, 8)
    kymograph.stop()

    assert sorted(entered(capture_path, "leaf").values()) == [100] * 8


def test_a_generator_that_continues_on_another_thread(capture_path: Path) -> None:
    def numbers() -> Iterator[int]:
        for i in range(20):
            leaf()
            yield i

    generator = numbers()

    def step() -> None:
        next(generator)

    kymograph.start(capture_path)
    for _ in range(20):
        thread = threading.Thread(target=step)
        thread.start()
        thread.join()
    kymograph.stop()
    slices = read_trace(capture_path).find("numbers")

    assert len(slices) == 20
    assert len({call.id for call in slices}) == 1
    assert [str(call) for call in slices[:2]] == ["numbers call>yield", "numbers resume>yield"]


def test_asyncio_with_many_tasks_and_threads(traced: Traced) -> None:
    async def worker(n: int) -> int:
        for _ in range(n % 7):
            await asyncio.sleep(0)
            leaf()
        if n % 5 == 0:
            raise ValueError(n)
        await asyncio.get_running_loop().run_in_executor(None, leaf)
        return n

    async def main() -> int:
        tasks = [asyncio.ensure_future(worker(n)) for n in range(100)]
        tasks[3].cancel()
        results = await asyncio.gather(*tasks, return_exceptions=True)
        return sum(isinstance(result, BaseException) for result in results)

    assert traced(lambda: asyncio.run(main())).result == 21
