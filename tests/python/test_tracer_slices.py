"""Generators and coroutines are recorded in slices, each from where it runs to where it waits."""

from __future__ import annotations

import asyncio
import contextlib
import types
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from traced import MONITORING, Python, Traced, trace

# ---- generators


def counting(n: int) -> Iterator[int]:
    for i in range(n):
        yield i


def test_a_generator_is_a_slice_for_each_time_it_runs(python: Python) -> None:
    def program() -> None:
        generator = counting(2)
        next(generator)
        next(generator)
        next(generator, None)

    assert python(program) == [
        "program",
        "  counting call>yield",
        "  counting resume>yield",
        "  counting resume>return",
    ]


def test_the_slices_of_a_generator_have_its_id(traced: Traced) -> None:
    def program() -> None:
        one, two = counting(3), counting(3)
        for _ in range(4):
            next(one, None)
            next(two, None)

    ids = [call.id for call in traced(program).find("counting")]

    one, two = ids[:2]
    assert one and two and one != two
    assert ids == [one, two] * 4


def test_functions_have_no_id(traced: Traced) -> None:
    def program() -> None: ...

    assert traced(program).only("program").id == 0


def test_a_generator_that_never_ran_is_entered_at_its_end_where_the_interpreter_does(
    python: Python,
) -> None:
    def program() -> None:
        counting(1)
        counting(1).close()

    entered = [] if MONITORING else ["  counting throw>unwind"] * 2
    assert python(program) == ["program", *entered]


def test_throw_enters_a_generator(python: Python) -> None:
    def stubborn() -> Iterator[int]:
        try:
            yield 1
        except ValueError:
            yield 2

    def program() -> None:
        generator = stubborn()
        next(generator)
        generator.throw(ValueError())
        with contextlib.suppress(KeyError):
            generator.throw(KeyError())
        with contextlib.suppress(KeyError):
            stubborn().throw(KeyError())

    calls = [line for line in python(program) if "stubborn" in line]

    assert calls == [
        "  stubborn call>yield",
        "  stubborn throw>yield",
        "  stubborn throw>unwind",
        "  stubborn throw>unwind",
    ]


def cleaning_up() -> Iterator[int]:
    try:
        yield 1
    finally:
        int("1")


def test_close_throws_into_a_generator(python: Python) -> None:
    def program() -> None:
        generator = cleaning_up()
        next(generator)
        generator.close()

    assert python(program) == [
        "program",
        "  cleaning_up call>yield",
        "  cleaning_up throw>unwind",
    ]


def test_a_dropped_generator_is_closed_where_it_is_dropped(python: Python) -> None:
    def program() -> None:
        generator = cleaning_up()
        next(generator)
        del generator

    assert python(program) == [
        "program",
        "  cleaning_up call>yield",
        "  cleaning_up throw>unwind",
    ]


def test_cleaning_up_may_close_other_generators(python: Python) -> None:
    def outer() -> Iterator[int]:
        inner = cleaning_up()
        next(inner)
        try:
            yield 1
        finally:
            inner.close()

    def program() -> None:
        generator = outer()
        next(generator)
        generator.close()

    assert python(program) == [
        "program",
        "  outer call>yield",
        "    cleaning_up call>yield",
        "  outer throw>unwind",
        "    cleaning_up throw>unwind",
    ]


def test_yield_from_nests_generators(python: Python) -> None:
    def outer() -> Iterator[int]:
        yield from counting(1)

    def program() -> None:
        for _ in outer():
            pass

    assert python(program) == [
        "program",
        "  outer call>yield",
        "    counting call>yield",
        "  outer resume>return",
        "    counting resume>return",
    ]


def test_a_generator_alive_when_tracing_begins_is_continued(
    traced: Traced, capture_path: Path, tmp_path: Path
) -> None:
    generator = counting(4)
    next(generator)
    one = trace(tmp_path / "one.kymo", lambda: next(generator))
    two = trace(tmp_path / "two.kymo", lambda: next(generator))

    assert str(one.only("counting")) == "counting resume>yield"
    assert str(two.only("counting")) == "counting resume>yield"
    assert one.only("counting").id == two.only("counting").id


def test_generator_expressions_are_generators(python: Python) -> None:
    def program() -> None:
        sum(x for x in (1, 2))

    assert python(program) == [
        "program",
        "  <genexpr> call>yield",
        "  <genexpr> resume>yield",
        "  <genexpr> resume>return",
    ]


# ---- coroutines


@types.coroutine
def pause() -> Iterator[None]:
    yield


def test_a_coroutine_is_a_slice_for_each_time_it_runs(python: Python) -> None:
    async def inner() -> None:
        await pause()

    async def outer() -> None:
        await inner()

    def program() -> None:
        coroutine = outer()
        coroutine.send(None)
        with contextlib.suppress(StopIteration):
            coroutine.send(None)

    calls = [line for line in python(program) if "suppress" not in line and "__" not in line]

    assert calls == [
        "program",
        "  outer call>yield",
        "    inner call>yield",
        "      pause call>yield",
        "  outer resume>return",
        "    inner resume>return",
        "      pause resume>return",
    ]


def test_gathered_coroutines_interleave_by_slices(traced: Traced) -> None:
    async def worker(n: int) -> None:
        for _ in range(n):
            await asyncio.sleep(0)

    async def main() -> None:
        await asyncio.gather(worker(2), worker(2))

    slices = traced(lambda: asyncio.run(main())).find("worker")

    one, two = slices[0].id, slices[1].id
    assert [(call.id, str(call)) for call in slices] == [
        (one, "worker call>yield"),
        (two, "worker call>yield"),
        (one, "worker resume>yield"),
        (two, "worker resume>yield"),
        (one, "worker resume>return"),
        (two, "worker resume>return"),
    ]


def test_a_cancelled_task_is_thrown_into(traced: Traced) -> None:
    async def worker() -> None:
        await asyncio.sleep(10)

    async def main() -> None:
        task = asyncio.ensure_future(worker())
        await asyncio.sleep(0)
        task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await task

    slices = traced(lambda: asyncio.run(main())).find("worker")

    assert [str(call) for call in slices] == ["worker call>yield", "worker throw>unwind"]


def test_an_async_generator_is_a_slice_for_each_time_it_runs(python: Python) -> None:
    async def numbers() -> Any:
        for i in range(2):
            await pause()
            yield i

    async def read() -> None:
        async for _ in numbers():
            pass

    def program() -> None:
        coroutine = read()
        while True:
            try:
                coroutine.send(None)
            except StopIteration:
                return

    assert python(program) == [
        "program",
        "  read call>yield",
        "    numbers call>yield",
        "      pause call>yield",
        "  read resume>yield",
        "    numbers resume>yield",  # a value,
        "      pause resume>return",
        "    numbers resume>yield",  # which lets the reader go on until the next pause
        "      pause call>yield",
        "  read resume>return",
        "    numbers resume>yield",
        "      pause resume>return",
        "    numbers resume>return",
    ]
