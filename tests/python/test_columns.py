"""`Capture.columns`: finished calls and all other events, column by column."""

from __future__ import annotations

import array
import sys
import threading
from pathlib import Path

import pytest
from conftest import Record

import kymograph


def whole(capture: kymograph.Capture, table: str) -> list[dict[str, float]]:
    """All rows of a table."""
    rows: list[dict[str, float]] = []
    for batch in capture.columns():
        columns = batch[table]
        lists = [column.tolist() for column in columns.values()]
        rows += [dict(zip(columns, row, strict=True)) for row in zip(*lists, strict=True)]
    return rows


def test_calls_have_their_parents_times_and_functions(record: Record) -> None:
    with record() as path:
        with kymograph.span("outer"):
            with kymograph.span("inner"):
                pass
            with kymograph.span("inner"):
                pass
    with kymograph.open(path) as capture:
        times = [event.time for event in capture.events()]
        slices = whole(capture, "slices")
        names = [capture.callables[int(row["function"])].name for row in slices]

    assert names == ["inner", "inner", "outer"]
    assert [row["id"] for row in slices] == [1, 2, 0]
    assert [row["parent"] for row in slices] == [0, 0, -1]
    assert [row["depth"] for row in slices] == [1, 1, 0]
    assert [row["start"] for row in slices] == [times[1], times[3], times[0]]
    assert [row["duration"] for row in slices][:2] == [times[2] - times[1], times[4] - times[3]]
    assert (
        slices[2]["self"] == slices[2]["duration"] - slices[0]["duration"] - slices[1]["duration"]
    )


def test_other_events_are_marks(record: Record) -> None:
    with record() as path:
        kymograph.instant("now")
        kymograph.counter("rows", 2.5)
        kymograph.flow_out("arrow", 7)
    with kymograph.open(path) as capture:
        marks = whole(capture, "marks")
        names = [capture.callables[int(row["function"])].name for row in marks]

    assert names == ["now", "rows", "arrow"]
    assert [row["value"] for row in marks] == [0, 2.5, 0]
    assert [row["number"] for row in marks] == [0, 0, 7]
    assert [row["id"] for row in marks] == [0, 1, 2]


def test_functions_say_what_they_are(tmp_path: Path) -> None:
    def inner() -> None:
        sorted([1])

    path = tmp_path / "trace.kymo"
    kymograph.start(path)
    inner()
    kymograph.stop()
    with kymograph.open(path) as capture:
        functions = {f.name: f for f in capture.callables}

    name = inner.__qualname__ if sys.version_info >= (3, 11) else "inner"
    assert functions[name].file == __file__
    assert functions[name].line == inner.__code__.co_firstlineno
    assert functions[name].kind == "function"
    assert functions["sorted"].kind == "native"


def test_columns_are_buffers_of_numbers(record: Record) -> None:
    with record() as path, kymograph.span("one"):
        pass
    with kymograph.open(path) as capture:
        (batch,) = capture.columns()

    start = batch["slices"]["start"]
    assert isinstance(start, memoryview)
    assert (start.format, start.itemsize, len(start)) == ("q", 8, 1)
    assert array.array("q", start.tobytes())[0] == start[0]
    assert start.readonly


def test_a_capture_without_events_still_has_columns(record: Record) -> None:
    with record() as path:
        pass
    with kymograph.open(path) as capture:
        (batch,) = capture.columns()
    assert batch.keys() == {"slices", "marks", "args", "texts"}
    assert len(batch["slices"]["id"]) == 0


def test_a_part_is_chosen_by_thread_and_time(record: Record) -> None:
    def work() -> None:
        with kymograph.span("other"):
            pass

    with record() as path:
        with kymograph.span("mine"):
            pass
        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
    with kymograph.open(path) as capture:
        first, second = capture.threads
        for chosen in first, second:
            (batch,) = capture.columns(thread=chosen)
            assert batch["slices"]["thread"].tolist() == [chosen.index]
        (batch,) = capture.columns(end=1)
        assert len(batch["slices"]["id"]) == 0
        with pytest.raises(IndexError):
            capture.columns(thread=9)


def test_many_rows_come_in_batches(record: Record) -> None:
    count = 420_000
    with record() as path:
        for _ in range(count):
            kymograph.instant("tick")
    with kymograph.open(path) as capture:
        sizes = [len(batch["marks"]["id"]) for batch in capture.columns()]
        ids = [i for batch in capture.columns() for i in batch["marks"]["id"]]
    assert sum(sizes) == count and len(sizes) >= 2
    assert ids == list(range(count))


def test_closing_the_capture_ends_the_columns(record: Record) -> None:
    with record() as path:
        kymograph.instant("x")
    capture = kymograph.open(path)
    columns = capture.columns()
    capture.close()
    with pytest.raises(ValueError, match="closed"):
        next(columns)
    with pytest.raises(ValueError, match="closed"):
        capture.columns()
    with pytest.raises(ValueError, match="closed"):
        _ = capture.callables
