"""Objects that survive: by type, with the shortest path of references that keeps them alive."""

from __future__ import annotations

import gc
import sys
import threading
from pathlib import Path
from typing import Any

import pytest
from allocated import replay

from kymograph import memory

HOLDER: dict[str, Any] = {}  # a root: a variable of this module


class Row:
    def __init__(self, number: int) -> None:
        self.number = number
        self.cells = [object()]


class Slotted:
    __slots__ = ("inner",)

    def __init__(self, inner: object) -> None:
        self.inner = inner


@pytest.fixture(autouse=True)
def empty_holder() -> Any:
    yield
    HOLDER.clear()


def objects(path: Path, work: Any, kind: type) -> list[dict[str, Any]]:
    """The rows about objects of type KIND that survive WORK, which is called while recording."""
    memory.start(path, domains="python", objects=True)
    try:
        kept = work()
    finally:
        memory.stop()
    del kept
    module = kind.__module__
    name = kind.__qualname__ if module == "builtins" else f"{module}.{kind.__qualname__}"
    return [row for row in replay(path).objects if row["type"] == name]


def test_survivors_are_counted_by_type_and_birth(capture_path: Path) -> None:
    def leak() -> None:
        HOLDER["rows"] = [Row(i) for i in range(7)]

    (row,) = objects(capture_path, leak, Row)
    assert (row["snapshot"], row["count"]) == (0, 7)
    assert row["stack"][0] in ("leak", "<listcomp>")
    assert row["bytes"] >= 7 * object.__sizeof__(HOLDER["rows"][0])
    assert row["path"] in {f"{__name__}.HOLDER['rows'][{i}]" for i in range(7)}


def test_what_was_freed_is_not_among_them(capture_path: Path) -> None:
    assert objects(capture_path, lambda: Row(1) and None, Row) == []


def test_older_objects_are_not_among_them(capture_path: Path) -> None:
    HOLDER["old"] = Row(1)
    assert objects(capture_path, lambda: None, Row) == []


def test_the_path_goes_through_attributes_slots_and_indexes(capture_path: Path) -> None:
    def leak() -> None:
        outer = Row(1)
        outer.cells.append(Slotted({3: (None, Slotted("text"))}))
        HOLDER["outer"] = outer

    found = {row["path"] for row in objects(capture_path, leak, Slotted)}
    start = f"{__name__}.HOLDER['outer'].cells[1]"
    assert found == {start, f"{start}.inner[3][1]"}


def test_local_variables_are_roots(capture_path: Path) -> None:
    def holds() -> None:
        mine = Row(1)
        memory.snapshot("now")
        assert mine.number == 1

    rows = [row for row in objects(capture_path, holds, Row) if row["snapshot"] >= 2]
    assert len(rows) == 1
    assert rows[0]["path"].startswith("local mine in ")
    assert rows[0]["path"].endswith("holds(): mine")


def test_local_variables_of_other_threads_are_roots(capture_path: Path) -> None:
    made, done = threading.Event(), threading.Event()

    def waits() -> None:
        theirs = Row(1)
        made.set()
        done.wait()
        assert theirs

    def work() -> None:
        thread = threading.Thread(target=waits)
        thread.start()
        made.wait()
        memory.snapshot("now")
        done.set()
        thread.join()

    paths = [row["path"] for row in objects(capture_path, work, Row) if row["snapshot"] >= 2]
    assert len(paths) == 1 and "theirs" in paths[0]


def test_garbage_that_is_not_collected_has_no_path(capture_path: Path) -> None:
    def cycle() -> None:
        row = Row(1)
        row.cells.append(row)

    gc.disable()
    try:
        (row,) = objects(capture_path, cycle, Row)
    finally:
        gc.enable()
        gc.collect()
    assert (row["count"], row["path"]) == (1, "")


def test_the_search_changes_nothing(capture_path: Path) -> None:
    HOLDER["row"] = row = Row(1)
    gc.collect()
    before = (sys.getrefcount(row), sys.getrefcount(row.cells), len(gc.get_objects()))
    memory.start(capture_path, domains="python", objects=True)
    memory.snapshot("one")
    memory.stop()
    gc.collect()
    after = (sys.getrefcount(row), sys.getrefcount(row.cells), len(gc.get_objects()))
    assert after[:2] == before[:2]
    assert abs(after[2] - before[2]) < 50


def test_without_the_option_there_are_no_objects(capture_path: Path) -> None:
    memory.start(capture_path, domains="python")
    HOLDER["row"] = Row(1)
    memory.stop()
    assert replay(capture_path).objects == []
