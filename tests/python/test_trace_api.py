"""Recording from Python: sessions for blocks and functions, spans as decorators, and what is
left behind in the interpreter, which is nothing."""

from __future__ import annotations

import asyncio
import contextlib
import inspect
import os
import pickle
import sys
import threading
import time
from collections import Counter
from collections.abc import AsyncIterator, Generator, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from conftest import Read, Record, RunCode

import kymo


def names(path: Path) -> Counter[str]:
    with kymo.open(path) as capture:
        return Counter(event.name for event in capture.events() if event.kind == "enter")


def shape(found: list[kymo.Event]) -> list[str]:
    """Every event as "kind name detail", without the details of plain calls."""
    plain = {"call", "return", ""}
    return [
        f"{event.kind} {event.name} {'' if event.detail in plain else event.detail}".strip()
        for event in found
    ]


# --------------------------------------------------------------------- kymo.trace


def work() -> str:
    return "done"


def test_a_block_is_traced_from_its_begin_to_its_end(capture_path: Path) -> None:
    work()
    with kymo.trace(capture_path) as trace:
        assert kymo.running()
        work()
    work()

    assert not kymo.running()
    assert trace.path == capture_path
    assert names(capture_path)["work"] == 1


def test_the_options_of_a_trace_are_those_of_start(capture_path: Path) -> None:
    with kymo.trace(capture_path, c_calls=False, exclude=["work"], budget="8M"):
        assert kymo.stats().budget_bytes == 8 << 20
        work()
        len("")
        test_sizes()

    assert names(capture_path).keys() & {"work", "len", "test_sizes"} == {"test_sizes"}
    with pytest.raises(ValueError, match="level"), kymo.trace(capture_path, level=0):
        pass
    with pytest.raises(TypeError, match="no_such_option"):
        with kymo.trace(capture_path, no_such_option=1):  # type: ignore[call-arg]
            pass


def test_sizes() -> None:
    """Something to call."""


def test_a_block_that_fails_is_traced_and_its_exception_goes_on(capture_path: Path) -> None:
    with pytest.raises(ZeroDivisionError), kymo.trace(capture_path):
        work()
        _ = 1 / 0

    assert not kymo.running()
    assert names(capture_path)["work"] == 1


def test_a_trace_inside_another_is_a_session_error(capture_path: Path, tmp_path: Path) -> None:
    with kymo.trace(capture_path):
        with pytest.raises(kymo.SessionError, match="already running"):
            with kymo.trace(tmp_path / "second.kymo"):
                pytest.fail("the block was entered")
        with pytest.raises(kymo.SessionError, match="already running"):
            kymo.start(tmp_path / "third.kymo")
        assert kymo.running()
        work()

    assert names(capture_path)["work"] == 1
    assert [path.name for path in tmp_path.iterdir()] == [capture_path.name]


def test_a_session_may_be_stopped_inside_its_block(capture_path: Path) -> None:
    with kymo.trace(capture_path):
        kymo.stop()
    with pytest.raises(kymo.SessionError, match="no session"):
        kymo.stop()


def test_a_decorated_function_has_a_session_for_every_call(capture_path: Path) -> None:
    @kymo.trace(capture_path)
    def traced(argument: int, *, keyword: int = 0) -> int:
        """Its own words."""
        work()
        return argument + keyword

    assert traced(1, keyword=2) == 3
    assert names(capture_path)["work"] == 1
    assert traced(2) == 2
    assert names(capture_path)["work"] == 1  # the capture of the last call
    assert not kymo.running()
    assert (traced.__name__, traced.__doc__) == ("traced", "Its own words.")
    assert str(inspect.signature(traced)).startswith("(argument:")


def test_a_decorated_function_may_fail(capture_path: Path) -> None:
    @kymo.trace(capture_path)
    def traced() -> None:
        raise LookupError("not here")

    with pytest.raises(LookupError, match="not here"):
        traced()
    assert not kymo.running()


def test_a_decorated_coroutine_is_traced_to_its_end(capture_path: Path) -> None:
    @kymo.trace(capture_path)
    async def traced() -> str:
        await asyncio.sleep(0)
        assert kymo.running()
        return work()

    assert inspect.iscoroutinefunction(traced)
    assert asyncio.run(traced()) == "done"
    assert not kymo.running()
    assert names(capture_path)["work"] == 1


def test_a_decorated_generator_is_traced_to_its_end(capture_path: Path) -> None:
    @kymo.trace(capture_path)
    def traced() -> Generator[int, str, str]:
        sent = yield 1
        return sent + work()

    generator = traced()
    assert next(generator) == 1
    assert kymo.running()
    with pytest.raises(StopIteration) as stop:
        generator.send("well ")
    assert stop.value.value == "well done"
    assert not kymo.running()


def test_an_async_generator_is_not_traced_as_a_whole(capture_path: Path) -> None:
    async def generator() -> AsyncIterator[int]:
        yield 1

    with pytest.raises(TypeError, match="async generator"):
        kymo.trace(capture_path)(generator)


def test_the_standard_library_may_be_left_out(capture_path: Path) -> None:
    import json

    json.loads("1")
    for stdlib in (True, False):
        with kymo.trace(capture_path, stdlib=stdlib):
            json.loads("1")
            work()
            pytest.approx(1)  # what is installed below the library is none of it
        found = names(capture_path)
        assert (found["loads"], found["work"]) == (int(stdlib), 1)
        assert found["approx"] == 1


# ---------------------------------------------------------------- record_function


def test_record_function_is_the_span_of_the_torch_profiler() -> None:
    assert type(kymo.record_function("a")) is type(kymo.span("a")) is kymo.Span
    assert kymo.record_function("load").name == "load"


def test_spans_nest_and_end_with_their_exceptions(record: Record, read: Read) -> None:
    with record():
        with pytest.raises(KeyError), kymo.record_function("outer"):
            with kymo.record_function("inner"):
                raise KeyError("x")
        with kymo.record_function("after"):
            pass

    assert shape(read()) == [
        "enter outer",
        "enter inner",
        "leave inner",
        "leave outer",
        "enter after",
        "leave after",
    ]


def test_a_span_is_a_context_manager_for_everybody(record: Record, read: Read) -> None:
    assert isinstance(kymo.span("x"), contextlib.AbstractContextManager)
    with record():
        with contextlib.ExitStack() as stack:
            entered = stack.enter_context(kymo.span("first"))
            assert isinstance(entered, kymo.Span)
        by_hand = kymo.span("second")
        assert by_hand.__enter__() is by_hand
        with pytest.raises(RuntimeError, match="open already"):
            by_hand.__enter__()
        assert by_hand.__exit__(None, None, None) is None
        with by_hand:  # once more
            pass

    assert shape(read()) == [
        *("enter first", "leave first"),
        *("enter second", "leave second") * 2,
    ]
    for wrong in ((), (7,)):
        with pytest.raises(TypeError):
            kymo.Span.__enter__(*wrong)  # type: ignore[arg-type]


def test_spans_may_be_many_at_once(record: Record, read: Read) -> None:
    with record():
        spans = [kymo.span(f"span {i}") for i in range(100)]
        for span in spans:
            span.__enter__()
        for span in reversed(spans):
            span.__exit__(None, None, None)
        del spans, span
        for i in range(100):
            with kymo.span(f"again {i}"):
                pass

    assert Counter(event.kind for event in read()) == {"enter": 200, "leave": 200}
    assert len({event.name for event in read()}) == 200


def test_a_decorated_function_is_a_span_for_every_call(record: Record, read: Read) -> None:
    @kymo.record_function("fib")
    def fib(n: int) -> int:
        """Rabbits."""
        return n if n < 2 else fib(n - 1) + fib(n - 2)

    @kymo.record_function("fail")
    def fail() -> None:
        raise KeyError("x")

    assert fib(5) == 5  # without a session too
    with record():
        assert fib(2) == 1
        with pytest.raises(KeyError):
            fail()

    assert shape(read()) == [
        "enter fib",
        *("enter fib", "leave fib") * 2,
        "leave fib",
        "enter fail",
        "leave fail",
    ]
    assert (fib.__name__, fib.__doc__) == ("fib", "Rabbits.")
    assert str(inspect.signature(fib)).startswith("(n:")


class Model:
    @kymo.record_function("forward")
    def forward(self, x: int) -> int:
        return x + 1

    @classmethod
    @kymo.record_function("make")
    def make(cls) -> Model:
        return cls()

    @staticmethod
    @kymo.record_function("static")
    def static(x: int) -> int:
        return x

    @property
    @kymo.record_function("value")
    def value(self) -> int:
        return 7


@kymo.record_function("at the top")
def decorated() -> int:
    return 1


def test_methods_of_every_kind_can_be_decorated(record: Record, read: Read) -> None:
    with record():
        model = Model.make()
        assert (model.forward(1), Model.static(2), model.value) == (2, 2, 7)

    found = [event.name for event in read() if event.kind == "enter"]
    assert found == ["make", "forward", "static", "value"]


def test_a_decorated_function_can_be_pickled_and_be_partial() -> None:
    assert pickle.loads(pickle.dumps(decorated)) is decorated
    assert kymo.record_function("partial")(partial(pow, 2))(5) == 32


def test_a_decorated_generator_is_recorded_in_slices(record: Record, read: Read) -> None:
    @kymo.record_function("numbers")
    def numbers(count: int) -> Generator[int, int | None, str]:
        for i in range(count):
            with kymo.span("inside"):
                pass
            got = yield i
            assert got is None or got == i
        return "end"

    def collect() -> Generator[int, int | None, None]:
        assert (yield from numbers(2)) == "end"

    assert inspect.isgeneratorfunction(numbers)
    with record():
        generator = collect()
        assert next(generator) == 0
        kymo.instant("between")
        assert generator.send(0) == 1
        assert list(generator) == []

    assert shape(read()) == [
        "enter numbers",
        "enter inside",
        "leave inside",
        "leave numbers yield",
        "instant between",
        "enter numbers resume",
        "enter inside",
        "leave inside",
        "leave numbers yield",
        "enter numbers resume",
        "leave numbers",
    ]
    ids = {event.id for event in read() if event.kind == "enter" and event.name == "numbers"}
    assert len(ids) == 1 and ids != {0}


def test_a_decorated_generator_may_be_closed_and_thrown_into(record: Record, read: Read) -> None:
    closed = []

    @kymo.record_function("slow")
    def slow() -> Generator[str, None, None]:
        try:
            yield "first"
            yield "second"
        except LookupError:
            yield "caught"
        finally:
            closed.append(True)

    with record():
        generator = slow()
        next(generator)
        assert generator.throw(LookupError("x")) == "caught"
        generator.close()
        other = slow()
        next(other)
        with pytest.raises(ZeroDivisionError):
            other.throw(ZeroDivisionError("y"))
        del generator, other

    assert closed == [True, True]
    assert shape(read()) == [
        "enter slow",
        "leave slow yield",
        "enter slow throw",
        "leave slow yield",
        "enter slow throw",
        "leave slow unwind",
        "enter slow",
        "leave slow yield",
        "enter slow throw",
        "leave slow unwind",
    ]


def test_decorated_coroutines_take_turns_in_slices(record: Record, read: Read) -> None:
    @kymo.record_function("step")
    async def step(name: str) -> str:
        kymo.instant(name)
        await asyncio.sleep(0)
        kymo.instant(name)
        return name

    async def main() -> None:
        assert await asyncio.gather(step("a"), step("b")) == ["a", "b"]

    assert inspect.iscoroutinefunction(step)
    with record():
        asyncio.run(main())

    found = [event for event in read() if event.name in ("step", "a", "b")]
    assert shape(found) == [
        *("enter step", "instant a", "leave step yield"),
        *("enter step", "instant b", "leave step yield"),
        *("enter step resume", "instant a", "leave step"),
        *("enter step resume", "instant b", "leave step"),
    ]
    enters = [event.id for event in found if event.kind == "enter"]
    assert enters[0] == enters[2] != enters[1] == enters[3]


def test_a_decorated_coroutine_may_fail_and_be_cancelled(record: Record, read: Read) -> None:
    @kymo.record_function("endless")
    async def endless() -> None:
        await asyncio.sleep(60)

    @kymo.record_function("failing")
    async def failing() -> None:
        await asyncio.sleep(0)
        raise KeyError("x")

    async def main() -> None:
        task = asyncio.create_task(endless())
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        with pytest.raises(KeyError):
            await failing()

    with record():
        asyncio.run(main())

    assert shape([event for event in read() if event.name in ("endless", "failing")]) == [
        "enter endless",
        "leave endless yield",
        "enter endless throw",
        "leave endless unwind",
        "enter failing",
        "leave failing yield",
        "enter failing resume",
        "leave failing unwind",
    ]


def test_a_decorated_async_generator_is_recorded_in_slices(record: Record, read: Read) -> None:
    closed = []

    @kymo.record_function("pages")
    async def pages() -> AsyncIterator[int]:
        try:
            for i in range(3):
                await asyncio.sleep(0)
                yield i
        finally:
            closed.append(True)

    async def main() -> None:
        assert [page async for page in pages()] == [0, 1, 2]
        generator: Any = pages()
        assert await generator.__anext__() == 0
        with pytest.raises(LookupError):
            await generator.athrow(LookupError("x"))
        other: Any = pages()
        await other.asend(None)
        await other.aclose()

    assert inspect.isasyncgenfunction(pages)
    with record():
        asyncio.run(main())

    assert closed == [True] * 3
    found = [event for event in read() if event.name == "pages"]
    assert [event.kind for event in found] == ["enter", "leave"] * (len(found) // 2)
    calls = Counter(event.detail for event in found if event.kind == "enter")
    assert (calls["call"], calls["throw"]) == (3, 2)


def test_a_session_may_end_between_two_slices(tmp_path: Path) -> None:
    @kymo.record_function("numbers")
    def numbers() -> Iterator[int]:
        yield 1
        kymo.stop()
        kymo.start(tmp_path / "second.kymo", calls=False)
        yield 2
        yield 3

    generator = numbers()
    kymo.start(tmp_path / "first.kymo", calls=False)
    next(generator)
    next(generator)
    next(generator)
    kymo.stop()
    assert list(generator) == []

    with kymo.open(tmp_path / "first.kymo") as capture:
        assert shape(list(capture)) == [
            "enter numbers",
            "leave numbers yield",
            "enter numbers resume",
        ]
    with kymo.open(tmp_path / "second.kymo") as capture:
        assert shape(list(capture)) == ["enter numbers resume", "leave numbers yield"]


@pytest.mark.parametrize("thing", [7, "text", classmethod(work), property(work)])
def test_only_functions_can_be_decorated(thing: Any, capture_path: Path) -> None:
    for decorator in (kymo.record_function("x"), kymo.trace(capture_path)):
        with pytest.raises(TypeError, match="only a function can be decorated"):
            decorator(thing)
    with pytest.raises(TypeError):
        kymo.record_function("x")(work, work)  # type: ignore[call-arg]
    with pytest.raises(TypeError):
        kymo.record_function("x")(function=work)  # type: ignore[call-arg]


def test_spans_lie_properly_between_the_calls_around_them(capture_path: Path) -> None:
    def outer() -> None:
        with kymo.record_function("span"):
            work()
            kymo.counter("count", 1)
        decorated()

    with kymo.trace(capture_path):
        outer()

    with kymo.open(capture_path) as capture:
        found = [e for e in capture.events() if e.kind in ("enter", "leave")]
    start = next(i for i, event in enumerate(found) if event.name.endswith("outer"))
    end = next(i for i, e in enumerate(found) if e.kind == "leave" and e.name == found[start].name)
    assert [f"{e.kind} {e.name.rpartition('.')[2]}" for e in found[start : end + 1]] == [
        "enter outer",
        "enter span",
        "enter work",
        "leave work",
        "leave span",
        "enter at the top",
        "enter decorated",
        "leave decorated",
        "leave at the top",
        "leave outer",
    ]


# ---------------------------------------------------- what is left in the interpreter

GUESTS = """if True:
    import gc, os, sys, threading, kymo
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
        kymo.start(sys.argv[1])
        called()
        during = behaviour()
        kymo.stop()
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
        import sys, kymo
        for tool in (3, 4):
            sys.monitoring.use_tool_id(tool, "another")
        try:
            kymo.start(sys.argv[1])
        except RuntimeError as error:
            assert "no free tool" in str(error), error
        else:
            raise AssertionError
        assert not kymo.running()
        sys.monitoring.free_tool_id(3)
        with kymo.trace(sys.argv[1]):
            pass
        assert sys.monitoring.get_tool(3) is None and sys.monitoring.get_tool(4) == "another"
    """
    run_code(code, capture_path)


BLOCKED = """if True:
    import sys, threading, time, kymo
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
        kymo.start(sys.argv[1], c_calls=c_calls)
        time.sleep(0.02)
        kymo.stop()
        kymo.start(sys.argv[2], c_calls=c_calls)
        time.sleep(0.02)
        lock.release()
        thread.join()
        kymo.stop()
        for path in sys.argv[1:]:
            with kymo.open(path) as capture:
                for number in range(len(capture.threads)):
                    stack = []
                    for event in capture.events(number):
                        if event.kind == "enter":
                            stack.append(event.name)
                        elif event.kind == "leave":
                            assert stack.pop() == event.name, (path, event)
        with kymo.open(sys.argv[2]) as capture:
            seen = {event.name for event in capture.events()}
            assert {"blocked", "inner", "afterwards"} <= seen, seen
"""


def test_a_thread_blocked_across_sessions_shifts_no_stack(
    run_code: RunCode, tmp_path: Path
) -> None:
    run_code(BLOCKED, tmp_path / "first.kymo", tmp_path / "second.kymo")


def test_a_thousand_sessions_leave_nothing_behind(run_code: RunCode, capture_path: Path) -> None:
    code = """if True:
        import gc, os, sys, threading, kymo
        def measure():
            gc.collect()
            with open("/proc/self/statm") as file:
                pages = int(file.read().split()[1])
            return pages, len(os.listdir("/proc/self/fd")), len(os.listdir("/proc/self/task"))
        def called(): return len("abc")
        def cycles(count):
            for _ in range(count):
                kymo.start(sys.argv[1])
                called()
                kymo.stop()
        lock = threading.Lock()
        with lock:
            other = threading.Thread(target=lock.acquire, daemon=True)
            other.start()
            cycles(200)
            before = measure()
            cycles(800)
            after = measure()
        grown = (after[0] - before[0]) * os.sysconf("SC_PAGE_SIZE")
        assert grown < 2 << 20, f"{grown} bytes more"
        assert after[1:] == before[1:]
        other.join()
    """
    run_code(code, capture_path)


EVERYTHING = """if True:
    import asyncio, atexit, gc, queue, sys, threading, time, weakref, kymo
    kymo.start(sys.argv[1])
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
            with kymo.span("spin"): pass
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
    @kymo.record_function("decorated")
    def decorated(called=called):
        try: yield 1
        finally: called()
    other = decorated(); next(other)
    atexit.register(called)
    weakref.finalize(keep, called)
    time.sleep(0.05)
    if sys.argv[2] == "in a span":
        kymo.span("open").__enter__()
"""


@pytest.mark.parametrize("how", ["as it is", "in a span"])
def test_the_interpreter_may_exit_with_everything_running(
    run_code: RunCode, capture_path: Path, how: str
) -> None:
    for _ in range(4):
        run_code(EVERYTHING, capture_path, how)

        with kymo.open(capture_path) as capture:
            assert (capture.info.ending, capture.info.lost_records) == ("clean", 0)
        assert names(capture_path)["called"] > 1


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system cannot fork")
def test_a_child_forked_inside_a_trace_is_not_traced(run_code: RunCode, tmp_path: Path) -> None:
    code = """if True:
        import os, sys, threading, kymo
        def parent(): pass
        def child(): pass
        def later(): pass
        with kymo.trace(sys.argv[1]):
            parent()
            pid = os.fork()
            if pid == 0:
                for _ in range(1000): child()
                thread = threading.Thread(target=child)
                thread.start()
                thread.join()
                assert not kymo.running()
            else:
                assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
                parent()
        if pid == 0:
            with kymo.trace(sys.argv[2]):
                later()
    """
    run_code(code, tmp_path / "parent.kymo", tmp_path / "child.kymo")

    parents, childs = names(tmp_path / "parent.kymo"), names(tmp_path / "child.kymo")
    assert (parents["parent"], parents["child"], parents["later"]) == (2, 0, 0)
    assert (childs["parent"], childs["child"], childs["later"]) == (0, 0, 1)


INTERPRETERS = """if True:
    import sys, threading, kymo
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
    with kymo.trace(sys.argv[1]):
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


def test_a_trace_is_cheap_to_leave_in_the_program() -> None:
    """Without a session a span is a few function calls; a slow one would show."""

    def spans(count: int) -> float:
        start = time.perf_counter()
        for _ in range(count):
            with kymo.record_function("x"):
                pass
        return (time.perf_counter() - start) / count

    def locks(count: int) -> float:
        lock = threading.Lock()
        start = time.perf_counter()
        for _ in range(count):
            with lock:
                pass
        return (time.perf_counter() - start) / count

    ratio = min(spans(10_000) for _ in range(9)) / min(locks(10_000) for _ in range(9))
    assert ratio < 4
