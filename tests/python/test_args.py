"""Texts given to annotations: recorded with them, and shown wherever arguments are."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import pytest
from conftest import Read, Record
from program import good, run

import kymograph
from kymograph import profiler

TEXTS = {
    "empty": "",
    "ascii": "lr=0.1",
    "quotes": 'a "b" \'c\' \\ {"d": [1]}',
    "any script": "größe=3, 名前=数据, имя 🐍",
    "control characters": "tab\tand\nnewline \x1b[0m",
    "100 000 characters": "é" * 100_000,
}


def texts(events: list[kymograph.Event]) -> list[tuple[str, list[tuple[str, str]]]]:
    """Every enter, with the texts behind it."""
    found: list[tuple[str, list[tuple[str, str]]]] = []
    for event in events:
        if event.kind == "enter":
            found.append((event.name, []))
        elif event.kind == "arg_text":
            found[-1][1].append((event.name, event.text))
        else:
            assert event.text == ""
    return found


@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS.keys())
def test_a_text_comes_back_as_it_was(record: Record, read: Read, text: str) -> None:
    with record():
        with kymograph.record_function("step", text):
            pass
        with kymograph.record_function(name="step", args=text):
            pass

    assert texts(read()) == [("step", [("args", text)])] * 2


@pytest.mark.parametrize(
    ("text", "shown"),
    [("lone \ud800", "lone \\ud800"), ("a\0b", "a\\x00b")],
    ids=["lone surrogate", "nul"],
)
def test_what_has_no_utf8_form_is_escaped(
    record: Record, read: Read, text: str, shown: str
) -> None:
    with record(), kymograph.record_function("step", text):
        pass

    assert texts(read()) == [("step", [("args", shown)])]


def test_without_a_text_there_is_none(record: Record, read: Read) -> None:
    with record():
        with kymograph.record_function("one"), kymograph.record_function("two", None):
            pass
        with profiler._RecordFunctionFast("three", [], {}):
            pass

    assert texts(read()) == [("one", []), ("two", []), ("three", [])]


@pytest.mark.parametrize("wrong", [1, b"bytes", ["list"], object()])
def test_a_text_is_a_str(wrong: Any) -> None:
    with pytest.raises(TypeError, match="args must be a str"):
        kymograph.record_function("step", wrong)
    with pytest.raises(TypeError, match="a name must be a str"):
        kymograph.record_function(wrong, "text")


def test_sessions_come_and_go(read: Read, capture_path: Path) -> None:
    span = kymograph.record_function("step", "text")
    with span:
        pass
    for _ in range(3):
        kymograph.start(capture_path, calls=False)
        with span:
            pass
        with span:
            kymograph.stop()
        with span:
            pass
        assert texts(read()) == [("step", [("args", "text")])] * 2


def test_texts_built_at_run_time_are_copied(record: Record, read: Read) -> None:
    with record():
        for i in range(5000):
            with kymograph.record_function("step", f"i={i} " + "x" * (i % 300)):
                pass

    assert texts(read()) == [("step", [("args", f"i={i} " + "x" * (i % 300))]) for i in range(5000)]


def test_threads_keep_their_texts_apart(record: Record, capture_path: Path) -> None:
    def work(number: int) -> None:
        for i in range(500):
            with kymograph.record_function(f"step {number}", f"{number}.{i % 7}"):
                pass

    with record():
        threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    with kymograph.open(capture_path) as capture:
        workers = [thread for thread in capture.threads if thread.records]
        assert len(workers) == 4
        for thread in workers:
            found = texts(list(capture.events(thread=thread)))
            number = found[0][0].removeprefix("step ")
            assert found == [
                (f"step {number}", [("args", f"{number}.{i % 7}")]) for i in range(500)
            ]


# ---------------------------------------------------------------------- functions


def test_a_decorated_function_has_its_text_in_every_call(record: Record, read: Read) -> None:
    @kymograph.record_function("twice", "of the decorator")
    def twice(depth: int) -> int:
        return 2 * twice(depth - 1) if depth else 1

    with record():
        assert twice(2) == 4

    assert texts(read()) == [("twice", [("args", "of the decorator")])] * 3


def test_a_decorated_generator_has_its_text_in_every_slice(record: Record, read: Read) -> None:
    @kymograph.record_function("numbers", "größe")
    def numbers() -> Iterator[int]:
        yield 1
        yield 2

    with record():
        assert list(numbers()) == [1, 2]

    assert texts(read()) == [("numbers", [("args", "größe")])] * 3


def test_decorated_coroutines_have_their_text_in_every_slice(record: Record, read: Read) -> None:
    @kymograph.record_function("wait", "one")
    async def wait() -> None:
        await asyncio.sleep(0)

    @kymograph.record_function("stream", "two")
    async def stream() -> AsyncIterator[int]:
        yield 1

    async def main() -> None:
        await wait()
        assert [number async for number in stream()] == [1]

    with record():
        asyncio.run(main())

    found = texts(read())
    assert found[:2] == [("wait", [("args", "one")])] * 2
    assert found[2:] == [("stream", [("args", "two")])] * 2


def test_a_generator_that_outlives_its_session_is_harmless(read: Read, capture_path: Path) -> None:
    @kymograph.record_function("numbers", "text")
    def numbers() -> Iterator[int]:
        yield 1
        yield 2

    kymograph.start(capture_path, calls=False)
    running = numbers()
    next(running)
    kymograph.stop()
    assert list(running) == [2]
    assert texts(read()) == [("numbers", [("args", "text")])]


def test_a_context_manager_keeps_its_text_beyond_the_call(capture_path: Path) -> None:
    @contextlib.contextmanager
    def step(number: int) -> Iterator[None]:
        with kymograph.record_function("step", f"number {number}"):
            yield

    with kymograph.trace(capture_path, c_calls=False), step(3):
        pass

    done = chrome(capture_path)
    assert [e["args"]["args"] for e in done if e["name"] == "step"] == ["number 3"]


# ------------------------------------------------------------------------- values


class Loud(str):
    """Nothing of it may run."""

    __slots__ = ()

    def __repr__(self) -> str:
        raise AssertionError("the program's own code ran")

    __str__ = __len__ = __hash__ = __eq__ = __repr__  # type: ignore[assignment]


class Meta(type):
    @property
    def __name__(self) -> str:  # type: ignore[override]
        raise AssertionError("the program's own code ran")


class Shy(metaclass=Meta):
    def __repr__(self) -> str:
        raise AssertionError("the program's own code ran")


VALUES = [
    (1, "1"),
    (-7, "-7"),
    (2.5, "2.5"),
    (True, "True"),
    (None, "None"),
    ("größe", "größe"),
    ([1, "a", None], "[1, a, None]"),
    ((), "[]"),
    ([1, [2]], "list"),
    ([0] * 31, "list"),
    (10**5000, "int"),
    (b"bytes", "bytes"),
    ({"a": 1}, "dict"),
    (Shy(), "Shy"),
    ([Shy()], "list"),
    (Loud(), "Loud"),
]


def test_values_are_recorded_as_texts_and_no_code_runs_for_it(record: Record, read: Read) -> None:
    values = [value for value, _ in VALUES]
    with record():
        with profiler._RecordFunctionFast("fast", values, {"key": 3, "größe": Shy()}):
            pass
        handle = profiler._record_function_with_args_enter("enter", *values)
        profiler._record_function_with_args_exit(handle)

    inputs = [(f"input {i}", text) for i, (_, text) in enumerate(VALUES)]
    assert texts(read()) == [
        ("fast", [*inputs, ("key", "3"), ("größe", "Shy")]),
        ("enter", inputs),
    ]


def test_more_values_than_there_is_room_for_are_left_out(record: Record, read: Read) -> None:
    with record(), profiler._RecordFunctionFast("many", list(range(100)), {"key": 1}):
        pass

    assert texts(read()) == [("many", [(f"input {i}", str(i)) for i in range(64)])]


def test_values_come_in_lists_and_dicts() -> None:
    wrong: Any
    for wrong in ("text", 1, {1}):
        with pytest.raises(TypeError, match="input_values must be a list or tuple"):
            profiler._RecordFunctionFast("fast", wrong)
    for wrong in (["a"], 1):
        with pytest.raises(TypeError, match="keyword_values must be a dict"):
            profiler._RecordFunctionFast("fast", None, wrong)
    with pytest.raises(TypeError, match="a name must be a str"):
        profiler._RecordFunctionFast("fast", None, {1: "a"})  # type: ignore[dict-item]


# -------------------------------------------------------------------------- shown


def chrome(path: Path) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(good("export", path, "--to", "chrome", "-o", "-"))[
        "traceEvents"
    ]
    return found


@pytest.fixture(scope="module")
def annotated(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("args") / "trace.kymo"
    kymograph.start(path, calls=False)
    for text in list(TEXTS.values())[:-1]:
        with kymograph.record_function("step", text):
            pass
    kymograph.stop()
    return path


SHOWN = list(TEXTS.values())[:-1]


def test_chrome_traces_have_them_as_args(annotated: Path) -> None:
    steps = [event for event in chrome(annotated) if event["name"] == "step"]
    assert [step["args"] for step in steps] == [{"args": text} for text in SHOWN]


def test_dump_shows_them(annotated: Path) -> None:
    lines = [json.loads(line) for line in good("dump", "--json", annotated).splitlines()]
    found = [line for line in lines if line["kind"] == "arg_text"]
    assert [(line["name"], line["text"]) for line in found] == [("args", text) for text in SHOWN]
    assert all("value" not in line for line in found)

    shown = [line for line in good("dump", annotated).splitlines() if "arg_text" in line]
    assert len(shown) == len(SHOWN)
    assert shown[1].endswith("args = lr=0.1")
    assert shown[4].endswith("args = tab\\tand\\nnewline \\e[0m")


def test_columns_distinguish_them_from_numbers(annotated: Path) -> None:
    with kymograph.open(annotated) as capture:
        (batch,) = capture.columns()
        functions, args = capture.callables, batch["args"]
    assert args["of"].tolist() == [0] * len(SHOWN)
    assert args["value"].tolist() == [0] * len(SHOWN)
    assert [functions[i].name for i in args["function"]] == ["args"] * len(SHOWN)
    assert [functions[i].name for i in args["text"]] == SHOWN


def test_a_query_finds_them(annotated: Path) -> None:
    if "without SQLite" in run("query", "--tables").stderr:
        pytest.skip("this kymograph was built without SQLite")

    def rows(sql: str) -> list[list[Any]]:
        told = good("query", "--json", annotated, sql).splitlines()
        return [list(json.loads(line).values()) for line in told]

    joined = (
        "SELECT s.name span, a.name, a.value, a.text FROM args a JOIN slices s ON s.id = a.slice"
    )
    assert rows(f"{joined} ORDER BY a.start_ns") == [["step", "args", None, t] for t in SHOWN]
    assert rows("SELECT text, id FROM events WHERE kind = 'arg_text'") == [
        [text, None] for text in SHOWN
    ]


def test_numbers_have_no_text(tmp_path: Path) -> None:
    import gc

    with kymograph.trace(tmp_path / "gc.kymo", c_calls=False):
        gc.collect()
    with kymograph.open(tmp_path / "gc.kymo") as capture:
        (batch,) = capture.columns()
        assert {event.text for event in capture.events()} == {""}
    assert set(batch["args"]["text"]) == {-1}
    if "without SQLite" not in run("query", "--tables").stderr:
        told = good(
            "query",
            "--json",
            tmp_path / "gc.kymo",
            "SELECT value, text FROM args WHERE name = 'generation' ORDER BY value DESC LIMIT 1",
        )
        assert json.loads(told) == {"value": 2, "text": None}


# ------------------------------------------------------------------ what comes after


def test_cut_and_merge_keep_them(annotated: Path, tmp_path: Path) -> None:
    other = tmp_path / "other.kymo"
    kymograph.start(other, calls=False)
    kymograph.instant("first")
    with kymograph.record_function("of the other", "größe"):
        pass
    kymograph.stop()
    cut, merged = tmp_path / "cut.kymo", tmp_path / "merged.kymo"

    good("cut", annotated, "-o", cut, "--from", "0s")
    good("merge", annotated, other, "-o", merged)

    def all_of(path: Path) -> list[tuple[str, list[tuple[str, str]]]]:
        with kymograph.open(path) as capture:
            return [
                each
                for thread in capture.threads
                for each in texts([e for e in capture.events(thread=thread) if e.kind != "instant"])
            ]

    steps = [("step", [("args", text)]) for text in SHOWN]
    assert all_of(cut) == steps
    assert all_of(merged) == [*steps, ("of the other", [("args", "größe")])]


@pytest.mark.skipif(sys.platform != "linux", reason="signals")
def test_a_killed_process_keeps_them(read: Read, capture_path: Path) -> None:
    code = """
import os, signal, sys, kymograph
kymograph.start(sys.argv[1], calls=False)
with kymograph.record_function("step", "größe \\U0001f40d"):
    os.kill(os.getpid(), signal.SIGKILL)
"""
    done = subprocess.run(
        [sys.executable, "-c", code, os.fspath(capture_path)], timeout=400, check=False
    )
    assert done.returncode == -signal.SIGKILL
    assert texts(read()) == [("step", [("args", "größe 🐍")])]


def test_a_flight_recorder_keeps_those_of_what_it_keeps(read: Read, capture_path: Path) -> None:
    kymograph.start(capture_path, calls=False, flight="10s")
    for i in range(100):
        with kymograph.record_function("step", f"i={i}"):
            pass
    kymograph.flight_write("now")
    kymograph.stop()
    events = [event for event in read() if event.kind != "instant"]
    assert texts(events) == [("step", [("args", f"i={i}")]) for i in range(100)]
