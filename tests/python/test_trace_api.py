"""kymograph.trace: a session for a block, or for every call of a function."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import AsyncIterator, Generator
from pathlib import Path

import pytest
from ran import recorded, write
from traced import QUALIFIED, names, work

import kymograph


def ranges(path: Path) -> list[str]:
    with kymograph.open(path) as capture:
        return [event.name for event in capture.events() if event.kind == "async_begin"]


def test_a_block_is_traced_from_its_begin_to_its_end(capture_path: Path) -> None:
    work()
    with kymograph.trace(capture_path) as trace:
        assert kymograph.running()
        work()
    work()

    assert not kymograph.running()
    assert trace.path == capture_path
    assert names(capture_path)["work"] == 1


def test_the_options_of_a_trace_are_those_of_start(capture_path: Path) -> None:
    with kymograph.trace(capture_path, c_calls=False, exclude=["work"], budget="8M"):
        assert kymograph.stats().budget_bytes == 8 << 20
        work()
        len("")
        test_sizes()

    assert names(capture_path).keys() & {"work", "len", "test_sizes"} == {"test_sizes"}
    with pytest.raises(ValueError, match="level"), kymograph.trace(capture_path, level=0):
        pass
    with pytest.raises(TypeError, match="no_such_option"):
        with kymograph.trace(capture_path, no_such_option=1):  # type: ignore[call-arg]
            pass


def test_sizes() -> None:
    """Something to call."""


def test_a_block_that_fails_is_traced_and_its_exception_propagates(capture_path: Path) -> None:
    with pytest.raises(ZeroDivisionError), kymograph.trace(capture_path):
        work()
        _ = 1 / 0

    assert not kymograph.running()
    assert names(capture_path)["work"] == 1


def test_a_trace_inside_another_is_a_range_of_it(capture_path: Path, tmp_path: Path) -> None:
    with kymograph.trace(capture_path):
        with kymograph.trace(tmp_path / "second.kymo"):
            work()
        assert kymograph.running()
        work()

    assert names(capture_path)["work"] == 2
    assert ranges(capture_path) == [f"session {tmp_path / 'second.kymo'}"]
    assert [path.name for path in tmp_path.iterdir()] == [capture_path.name]


def test_a_decorated_function_may_call_itself(capture_path: Path) -> None:
    @kymograph.trace(capture_path)
    def down(n: int) -> int:
        return down(n - 1) if n else 0

    down(3)

    assert not kymograph.running()
    assert ranges(capture_path) == [f"session {capture_path}"] * 3


def test_a_program_that_traces_itself_can_be_run_and_recorded(folder: Path) -> None:
    write(
        "script.py",
        """
        import kymograph
        def f(): pass
        @kymograph.trace
        def g(): f()
        with kymograph.trace("own.kymo"):
            f()
        g()
        session = kymograph.start("third.kymo")
        f()
        kymograph.stop()
        if kymograph.running():
            kymograph.stop()
        f()
        """,
    )

    done = recorded("script.py")

    assert (done.returncode, done.stderr) == (0, "")
    assert names(Path("trace.kymo"))["f"] == 4
    assert [path.name for path in folder.glob("*.kymo")] == ["trace.kymo"]


def test_without_parentheses_the_capture_has_the_functions_name(folder: Path) -> None:
    @kymograph.trace
    def load() -> str:
        return "loaded"

    assert load() == "loaded"
    assert names(folder / "load.kymo")[load.__qualname__ if QUALIFIED else "load"] == 1


def test_a_decorated_function_has_a_session_for_every_call(capture_path: Path) -> None:
    @kymograph.trace(capture_path)
    def traced(argument: int, *, keyword: int = 0) -> int:
        """Its own words."""
        work()
        return argument + keyword

    assert traced(1, keyword=2) == 3
    assert names(capture_path)["work"] == 1
    assert traced(2) == 2
    assert names(capture_path)["work"] == 1  # the capture of the last call
    assert not kymograph.running()
    assert (traced.__name__, traced.__doc__) == ("traced", "Its own words.")
    assert str(inspect.signature(traced)).startswith("(argument:")


def test_a_decorated_function_may_fail(capture_path: Path) -> None:
    @kymograph.trace(capture_path)
    def traced() -> None:
        raise LookupError("not here")

    with pytest.raises(LookupError, match="not here"):
        traced()
    assert not kymograph.running()


def test_a_decorated_coroutine_is_traced_to_its_end(capture_path: Path) -> None:
    @kymograph.trace(capture_path)
    async def traced() -> str:
        await asyncio.sleep(0)
        assert kymograph.running()
        return work()

    assert inspect.iscoroutinefunction(traced)
    assert asyncio.run(traced()) == "done"
    assert not kymograph.running()
    assert names(capture_path)["work"] == 1


def test_a_decorated_generator_is_traced_to_its_end(capture_path: Path) -> None:
    @kymograph.trace(capture_path)
    def traced() -> Generator[int, str, str]:
        sent = yield 1
        return sent + work()

    generator = traced()
    assert next(generator) == 1
    assert kymograph.running()
    with pytest.raises(StopIteration) as stop:
        generator.send("well ")
    assert stop.value.value == "well done"
    assert not kymograph.running()


def test_an_async_generator_is_not_traced_as_a_whole(capture_path: Path) -> None:
    async def generator() -> AsyncIterator[int]:
        yield 1

    with pytest.raises(TypeError, match="async generator"):
        kymograph.trace(capture_path)(generator)


def test_the_standard_library_may_be_left_out(capture_path: Path) -> None:
    import json

    json.loads("1")
    for stdlib in (True, False):
        with kymograph.trace(capture_path, stdlib=stdlib):
            json.loads("1")
            work()
            pytest.approx(1)  # what is installed below the library is none of it
        found = names(capture_path)
        assert (found["loads"], found["work"]) == (int(stdlib), 1)
        assert found["approx"] == 1
