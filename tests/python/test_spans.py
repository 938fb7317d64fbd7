"""kymograph.record_function: a span for a block, or for every call of a function, in its slices."""

from __future__ import annotations

import asyncio
import contextlib
import inspect
import pickle
import threading
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable, Generator, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from conftest import Read, Record
from traced import work

import kymograph


def shape(found: list[kymograph.Event]) -> list[str]:
    """Every event as "kind name detail", without the details of plain calls."""
    plain = {"call", "return", ""}
    return [
        f"{event.kind} {event.name} {'' if event.detail in plain else event.detail}".strip()
        for event in found
    ]


def test_record_function_is_the_span_of_the_torch_profiler() -> None:
    assert type(kymograph.record_function("a")) is type(kymograph.span("a")) is kymograph.Span
    assert kymograph.record_function("load").name == "load"


def test_spans_nest_and_end_with_their_exceptions(record: Record, read: Read) -> None:
    with record():
        with pytest.raises(KeyError), kymograph.record_function("outer"):
            with kymograph.record_function("inner"):
                raise KeyError("x")
        with kymograph.record_function("after"):
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
    assert isinstance(kymograph.span("x"), contextlib.AbstractContextManager)
    with record():
        with contextlib.ExitStack() as stack:
            entered = stack.enter_context(kymograph.span("first"))
            assert isinstance(entered, kymograph.Span)
        by_hand = kymograph.span("second")
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
            kymograph.Span.__enter__(*wrong)  # type: ignore[arg-type]


def test_spans_may_be_many_at_once(record: Record, read: Read) -> None:
    with record():
        spans = [kymograph.span(f"span {i}") for i in range(100)]
        for span in spans:
            span.__enter__()
        for span in reversed(spans):
            span.__exit__(None, None, None)
        del spans, span
        for i in range(100):
            with kymograph.span(f"again {i}"):
                pass

    assert Counter(event.kind for event in read()) == {"enter": 200, "leave": 200}
    assert len({event.name for event in read()}) == 200


def test_a_decorated_function_is_a_span_for_every_call(record: Record, read: Read) -> None:
    @kymograph.record_function("fib")
    def fib(n: int) -> int:
        """Rabbits."""
        return n if n < 2 else fib(n - 1) + fib(n - 2)

    @kymograph.record_function("fail")
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
    @kymograph.record_function("forward")
    def forward(self, x: int) -> int:
        return x + 1

    @classmethod
    @kymograph.record_function("make")
    def make(cls) -> Model:
        return cls()

    @staticmethod
    @kymograph.record_function("static")
    def static(x: int) -> int:
        return x

    @property
    @kymograph.record_function("value")
    def value(self) -> int:
        return 7


@kymograph.record_function("at the top")
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
    assert kymograph.record_function("partial")(partial(pow, 2))(5) == 32


def test_a_decorated_generator_is_recorded_in_slices(record: Record, read: Read) -> None:
    @kymograph.record_function("numbers")
    def numbers(count: int) -> Generator[int, int | None, str]:
        for i in range(count):
            with kymograph.span("inside"):
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
        kymograph.instant("between")
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

    @kymograph.record_function("slow")
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
    @kymograph.record_function("step")
    async def step(name: str) -> str:
        kymograph.instant(name)
        await asyncio.sleep(0)
        kymograph.instant(name)
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
    @kymograph.record_function("endless")
    async def endless() -> None:
        await asyncio.sleep(60)

    @kymograph.record_function("failing")
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

    @kymograph.record_function("pages")
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
    @kymograph.record_function("numbers")
    def numbers() -> Iterator[int]:
        yield 1
        kymograph.stop()
        kymograph.start(tmp_path / "second.kymo", calls=False)
        yield 2
        yield 3

    generator = numbers()
    kymograph.start(tmp_path / "first.kymo", calls=False)
    next(generator)
    next(generator)
    next(generator)
    kymograph.stop()
    assert list(generator) == []

    with kymograph.open(tmp_path / "first.kymo") as capture:
        assert shape(list(capture)) == [
            "enter numbers",
            "leave numbers yield",
            "enter numbers resume",
        ]
    with kymograph.open(tmp_path / "second.kymo") as capture:
        assert shape(list(capture)) == ["enter numbers resume", "leave numbers yield"]


@pytest.mark.parametrize("thing", [7, "text", classmethod(work), property(work)])
def test_only_functions_can_be_decorated(thing: Any, capture_path: Path) -> None:
    for decorator in (kymograph.record_function("x"), kymograph.trace(capture_path)):
        with pytest.raises(TypeError, match="only a function can be decorated"):
            decorator(thing)
    with pytest.raises(TypeError):
        kymograph.record_function("x")(work, work)  # type: ignore[call-arg]
    with pytest.raises(TypeError):
        kymograph.record_function("x")(function=work)  # type: ignore[call-arg]


def test_spans_lie_properly_between_the_calls_around_them(capture_path: Path) -> None:
    def outer() -> None:
        with kymograph.record_function("span"):
            work()
            kymograph.counter("count", 1)
        decorated()

    with kymograph.trace(capture_path):
        outer()

    with kymograph.open(capture_path) as capture:
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


@pytest.mark.timing
def test_a_trace_is_cheap_to_leave_in_the_program() -> None:
    """Without a session a span is a few function calls; a slow one would show."""

    def spans(count: int) -> float:
        start = time.perf_counter()
        for _ in range(count):
            with kymograph.record_function("x"):
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


# ---- the ways to write one


def texts(path: Path) -> list[tuple[str, str]]:
    with kymograph.open(path) as capture:
        return [(e.name, e.text) for e in capture.events() if e.kind == "arg_text"]


def test_values_given_by_keyword_are_recorded_with_a_span(
    record: Record, capture_path: Path
) -> None:
    with record():
        with kymograph.span("load", rows=3, name_of="x", ratio=0.5):
            pass
        with kymograph.span(name="store", args="all"):
            pass

        @kymograph.span("call", kind="decorated")
        def call() -> None: ...

        call()

    assert texts(capture_path) == [
        ("rows", "3"),
        ("name_of", "x"),
        ("ratio", "0.5"),
        ("args", "all"),
        ("kind", "decorated"),
    ]


@pytest.mark.parametrize("decorate", [kymograph.span, kymograph.record_function])
def test_without_parentheses_a_span_has_the_functions_name(
    record: Record, read: Read, decorate: Any
) -> None:
    @decorate
    def work(x: int) -> int:
        return x + 1

    with record():
        assert work(1) == 2

    name = work.__qualname__
    assert [(e.kind, e.name) for e in read()] == [("enter", name), ("leave", name)]


def test_record_function_is_a_class() -> None:
    assert isinstance(kymograph.record_function, type)
    assert isinstance(kymograph.record_function("x"), kymograph.record_function)
    assert isinstance(kymograph.span("x"), kymograph.Span)
    assert not isinstance("x", kymograph.record_function)


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: kymograph.span(),  # type: ignore[call-overload]
        lambda: kymograph.span(3),  # type: ignore[call-overload]
        lambda: kymograph.span("a", "b", "c"),  # type: ignore[call-overload]
        lambda: kymograph.span("a", name="b"),  # type: ignore[call-overload]
        lambda: kymograph.instant(),  # type: ignore[call-arg]
        lambda: kymograph.instant("a", 1),  # type: ignore[call-arg]
        lambda: kymograph.counter("a"),  # type: ignore[call-arg]
        lambda: kymograph.counter("a", value=1),  # type: ignore[call-arg]
        lambda: kymograph.metadata("a"),  # type: ignore[call-arg]
        lambda: kymograph.thread_name(),  # type: ignore[call-arg]
    ],
)
def test_errors_name_what_the_program_called(wrong: Callable[[], object]) -> None:
    with pytest.raises(TypeError) as error:
        wrong()

    assert "_core" not in str(error.value)


def test_metadata_may_be_any_value(record: Record, capture_path: Path) -> None:
    with record():
        kymograph.metadata("epoch", 3)
        kymograph.metadata("path", Path("x"))

    with kymograph.open(capture_path) as capture:
        assert (capture.metadata["epoch"], capture.metadata["path"]) == ("3", "x")
