"""A session leaves the interpreter as it was; forks, exits and other interpreters go well."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import RunCode
from traced import names

import kymograph

GUESTS = """if True:
    import gc, os, sys, threading, kymograph
    seen = []
    def profile(frame, event, arg): seen.append("profile")
    def callback(phase, info): seen.append("gc")
    def trace(frame, event, arg): seen.append("trace"); return trace
    gc.callbacks.append(callback)

    monitoring = getattr(sys, "monitoring", None)
    def on_start(code, offset): seen.append("start")
    def on_line(code, line): seen.append("line")
    if monitoring:
        E = monitoring.events
        monitoring.use_tool_id(monitoring.COVERAGE_ID, "another tool")
        monitoring.register_callback(monitoring.COVERAGE_ID, E.PY_START, on_start)
        monitoring.register_callback(monitoring.COVERAGE_ID, E.LINE, on_line)
        monitoring.set_events(monitoring.COVERAGE_ID, E.PY_START)

    def called():
        return 1
    if monitoring:
        monitoring.set_local_events(monitoring.COVERAGE_ID, called.__code__, E.LINE)

    def tools():
        if not monitoring:
            return None
        return [
            (monitoring.get_tool(i), monitoring.get_tool(i) and monitoring.get_events(i))
            for i in range(6)
        ]

    def threads():
        return sorted(os.listdir("/proc/self/task")), threading.enumerate()

    def state():
        return tools(), list(gc.callbacks), sys.getprofile(), sys.gettrace(), threads()

    def behaviour():
        seen.clear()
        called()
        gc.collect()
        return sorted(set(seen))

    set_before = sys.argv[2]
    if set_before == "profile":
        sys.setprofile(profile)
    if set_before == "trace":
        sys.settrace(trace)
    before, done_before = state(), behaviour()
    for _ in range(3):
        kymograph.start(sys.argv[1])
        called()
        during = behaviour()
        kymograph.stop()
        after, done_after = state(), behaviour()
        assert after == before, (after, before)
        assert done_after == done_before, (done_after, done_before)
        assert set(done_before) <= set(during), during
    sys.setprofile(None)
    sys.settrace(None)
    if monitoring:
        assert monitoring.register_callback(monitoring.COVERAGE_ID, E.PY_START, None) is on_start
        assert monitoring.register_callback(monitoring.COVERAGE_ID, E.LINE, None) is on_line
        monitoring.free_tool_id(monitoring.COVERAGE_ID)
"""


@pytest.mark.parametrize("guest", ["nobody", "profile", "trace"])
def test_tools_of_others_are_as_before_and_nothing_of_ours_is_left(
    run_code: RunCode, capture_path: Path, guest: str
) -> None:
    run_code(GUESTS, capture_path, guest)


@pytest.mark.skipif(sys.version_info < (3, 12), reason="sys.monitoring is new in 3.12")
def test_no_free_tool_is_one_clear_error(run_code: RunCode, capture_path: Path) -> None:
    code = """if True:
        import sys, kymograph
        for tool in (3, 4):
            sys.monitoring.use_tool_id(tool, "another")
        try:
            kymograph.start(sys.argv[1])
        except RuntimeError as error:
            assert "no free tool" in str(error), error
        else:
            raise AssertionError
        assert not kymograph.running()
        sys.monitoring.free_tool_id(3)
        with kymograph.trace(sys.argv[1]):
            pass
        assert sys.monitoring.get_tool(3) is None and sys.monitoring.get_tool(4) == "another"
    """
    run_code(code, capture_path)


BLOCKED = """if True:
    import sys, threading, time, kymograph
    lock = threading.Lock()
    def blocked():
        inner()
        afterwards()
    def inner():
        with lock:
            pass
        lock.acquire()
        lock.release()
    def afterwards():
        len("x")
    for c_calls in (True, False):
        lock.acquire()
        thread = threading.Thread(target=blocked, name="blocked")
        thread.start()
        time.sleep(0.05)
        kymograph.start(sys.argv[1], c_calls=c_calls)
        time.sleep(0.02)
        kymograph.stop()
        kymograph.start(sys.argv[2], c_calls=c_calls)
        time.sleep(0.02)
        lock.release()
        thread.join()
        kymograph.stop()
        for path in sys.argv[1:]:
            with kymograph.open(path) as capture:
                for number in range(len(capture.threads)):
                    stack = []
                    for event in capture.events(number):
                        if event.kind == "enter":
                            stack.append(event.name)
                        elif event.kind == "leave":
                            assert stack.pop() == event.name, (path, event)
        with kymograph.open(sys.argv[2]) as capture:
            seen = {event.name for event in capture.events()}
            assert {"blocked", "inner", "afterwards"} <= seen, seen
"""


def test_a_thread_blocked_across_sessions_shifts_no_stack(
    run_code: RunCode, tmp_path: Path
) -> None:
    run_code(BLOCKED, tmp_path / "first.kymo", tmp_path / "second.kymo")


def test_hundreds_of_sessions_leave_nothing_behind(run_code: RunCode, capture_path: Path) -> None:
    code = """if True:
        import gc, os, sys, threading, kymograph
        def measure():
            gc.collect()
            with open("/proc/self/statm") as file:
                pages = int(file.read().split()[1])
            return pages, len(os.listdir("/proc/self/fd")), len(os.listdir("/proc/self/task"))
        def called(): return len("abc")
        def cycles(count):
            for _ in range(count):
                kymograph.start(sys.argv[1])
                called()
                kymograph.stop()
        lock = threading.Lock()
        with lock:
            other = threading.Thread(target=lock.acquire, daemon=True)
            other.start()
            cycles(100)
            before = measure()
            cycles(300)
            after = measure()
        grown = (after[0] - before[0]) * os.sysconf("SC_PAGE_SIZE")
        assert grown < 768 << 10, f"{grown} bytes more"
        assert after[1:] == before[1:]
        other.join()
    """
    run_code(code, capture_path)


EVERYTHING = """if True:
    import asyncio, atexit, gc, queue, sys, threading, time, weakref, kymograph
    kymograph.start(sys.argv[1])
    def called(): return sorted([2, 1], key=lambda x: x)
    class Ends:
        def __init__(self, *others): self.others = others
        # Late in the exit of a free-threaded interpreter there are no globals any more.
        def __del__(self, called=called): called()
    keep = Ends(Ends())
    cycle = Ends(); cycle.self = cycle
    def spin():
        while True:
            called()
            with kymograph.span("spin"): pass
    def wait(lock=threading.Lock()):
        lock.acquire(); lock.acquire()
    def loop():
        async def forever():
            while True: await asyncio.sleep(0.001)
        asyncio.run(forever())
    # Older interpreters themselves crash now and then when such threads run at exit.
    busy = (spin, spin, loop) if sys.version_info >= (3, 12) else ()
    called()
    for target in (wait, *busy):
        threading.Thread(target=target, daemon=True).start()
    def numbers(called=called):
        try: yield 1
        finally: called()
    generator = numbers(); next(generator)
    @kymograph.record_function("decorated")
    def decorated(called=called):
        try: yield 1
        finally: called()
    other = decorated(); next(other)
    atexit.register(called)
    weakref.finalize(keep, called)
    time.sleep(0.05)
    if sys.argv[2] == "in a span":
        kymograph.span("open").__enter__()
"""


def test_a_destructor_may_run_when_all_modules_are_gone(
    run_code: RunCode, capture_path: Path
) -> None:
    # The interpreter keeps what is registered here until after it has dropped the modules.
    run_code(
        """if True:
        import codecs, sys, kymograph
        class Last:
            def __call__(self, name): return None
            def __del__(self, exec=exec): exec("def new(): pass\\nnew()", {})
        codecs.register(Last())
        kymograph.start(sys.argv[1])
        """,
        capture_path,
    )

    with kymograph.open(capture_path) as capture:
        assert (capture.info.ending, capture.info.lost_records) == ("clean", 0)


@pytest.mark.parametrize("how", ["as it is", "in a span"])
def test_the_interpreter_may_exit_with_everything_running(
    run_code: RunCode, capture_path: Path, how: str
) -> None:
    for _ in range(4):
        run_code(EVERYTHING, capture_path, how)

        with kymograph.open(capture_path) as capture:
            assert (capture.info.ending, capture.info.lost_records) == ("clean", 0)
        assert names(capture_path)["called"] > 1


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system cannot fork")
def test_a_child_forked_inside_a_trace_is_not_traced(run_code: RunCode, tmp_path: Path) -> None:
    code = """if True:
        import os, sys, threading, kymograph
        def parent(): pass
        def child(): pass
        def later(): pass
        with kymograph.trace(sys.argv[1]):
            parent()
            pid = os.fork()
            if pid == 0:
                for _ in range(1000): child()
                thread = threading.Thread(target=child)
                thread.start()
                thread.join()
                assert not kymograph.running()
            else:
                assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
                parent()
        if pid == 0:
            with kymograph.trace(sys.argv[2]):
                later()
    """
    run_code(code, tmp_path / "parent.kymo", tmp_path / "child.kymo")

    parents, childs = names(tmp_path / "parent.kymo"), names(tmp_path / "child.kymo")
    assert (parents["parent"], parents["child"], parents["later"]) == (2, 0, 0)
    assert (childs["parent"], childs["child"], childs["later"]) == (0, 0, 1)


INTERPRETERS = """if True:
    import sys, threading, kymograph
    try:
        import _interpreters as interpreters
    except ImportError:
        import _xxsubinterpreters as interpreters
    def run(code):
        made = interpreters.create()
        try:
            error = interpreters.run_string(made, code)
            assert error is None, error
        finally:
            interpreters.destroy(made)
    code = "def f(n): return n if n < 2 else f(n - 1) + f(n - 2)\\nassert f(12) == 144"
    code += "\\nimport json"
    def called(): pass
    run(code)
    with kymograph.trace(sys.argv[1]):
        run(code)
        called()
        thread = threading.Thread(target=run, args=(code,))
        thread.start()
        thread.join()
        called()
    run(code)
"""


def test_other_interpreters_are_not_disturbed(run_code: RunCode, capture_path: Path) -> None:
    run_code(INTERPRETERS, capture_path)

    assert names(capture_path)["called"] == 2


def test_interpreters_that_are_not_recorded_are_counted(
    run_code: RunCode, capture_path: Path
) -> None:
    run_code(INTERPRETERS, capture_path)

    with kymograph.open(capture_path) as capture:
        assert capture.metadata["python.subinterpreters"] == "2"
    text = subprocess.run(
        [sys.executable, "-m", "kymograph", "report", capture_path], capture_output=True, text=True
    ).stdout
    assert "2 subinterpreters: calls in them are not recorded" in text
