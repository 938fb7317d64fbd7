"""Objects that survive: by type, with the shortest path of references that keeps them alive."""

from __future__ import annotations

import array
import collections
import gc
import lzma
import os
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from allocated import replay
from program import run as kymograph

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


# ---- what belongs to objects


class Many:
    def __init__(self) -> None:
        for i in range(25):
            setattr(self, f"attribute_{i}", None)


OWNERS: dict[str, tuple[Callable[[], Any], int, int]] = {  # at least and at most so many bytes
    "bytearray": (lambda: bytearray(50_000), 50_000, 50_100),
    "list": (lambda: list(range(1000)), 8000, 9100),
    "list in pieces": (lambda: [None] * 100_000, 800_000, 800_100),
    "dict": (lambda: dict.fromkeys(range(1000, 2000)), 30_000, 60_000),
    "set": (lambda: set(range(1000)), 32_000, 150_000),
    "deque": (lambda: collections.deque(range(10_000)), 80_000, 90_000),
    "ordered": (lambda: collections.OrderedDict.fromkeys(range(1000)), 70_000, 130_000),
    "array": (lambda: array.array("d", range(1000)), 8000, 9100),
    "int": (lambda: 1 << 100_000, 0, 0),
    "str": (lambda: "x" * 50_000, 0, 0),
    "tuple": (lambda: tuple(range(5000)), 0, 0),
}


@pytest.mark.parametrize("owner", OWNERS)
def test_what_belongs_to_an_object_is_counted(capture_path: Path, owner: str) -> None:
    make, least, most = OWNERS[owner]

    def leak() -> None:
        HOLDER["it"] = make()

    # Python would use memory again that was freed before the recording.
    HOLDER["used"] = [kind() for kind in (list, dict) for _ in range(200)], make()
    rows = objects(capture_path, leak, type(HOLDER["used"][1]))
    rows = [row for row in rows if row["path"] == f"{__name__}.HOLDER['it']"]
    (row,) = rows
    assert row["count"] == 1
    assert least <= row["owned"] <= most


def test_what_an_older_object_gets_is_counted(capture_path: Path) -> None:
    HOLDER["it"] = older = bytearray(10)
    (row,) = objects(capture_path, lambda: older.extend(bytes(30_000)), bytearray)
    assert (row["count"], row["bytes"]) == (1, 0)
    assert 30_000 <= row["owned"] <= 40_000
    assert row["stack"][0] == "<lambda>"


@pytest.mark.skipif(
    sys.version_info < (3, 11), reason="attributes are in a dict, which is an object of its own"
)
def test_values_of_attributes_belong_to_their_object(capture_path: Path) -> None:
    (row,) = objects(capture_path, lambda: HOLDER.update(it=[Many() for _ in range(100)]), Many)
    assert row["count"] == 100
    assert row["bytes"] + row["owned"] >= 100 * 25 * 8


@pytest.mark.skipif("KYMO_EMULATED" in os.environ, reason="the emulator has no process_vm_readv")
def test_native_memory_belongs_to_the_object_that_leads_to_it(capture_path: Path) -> None:
    def leak() -> None:
        HOLDER["it"] = lzma.LZMADecompressor()
        HOLDER["it"].decompress(lzma.compress(bytes(100_000))[:40])

    memory.start(capture_path, objects=True)
    leak()
    memory.stop()
    (row,) = (row for row in replay(capture_path).objects if "LZMADecompressor" in row["type"])
    assert row["owned"] > 8 * 2**20  # the dictionary of the default preset


def test_memory_belongs_to_one_object_only(capture_path: Path) -> None:
    """Memory views and copies of a buffer's owner have its address, too."""

    def leak() -> None:
        HOLDER["it"] = data = array.array("b", bytes(500_000))
        HOLDER["views"] = [memoryview(data)[i:] for i in range(10)]

    memory.start(capture_path, domains="python", objects=True)
    leak()
    memory.stop()
    HOLDER["views"].clear()
    owned = sum(
        row["owned"] for row in replay(capture_path).objects if row["stack"][:1] == ("leak",)
    )
    assert 500_000 <= owned < 600_000


def test_numpy_arrays_own_their_data(capture_path: Path) -> None:
    numpy = pytest.importorskip("numpy", reason="numpy is not installed: not tested")

    def leak() -> None:
        HOLDER["it"] = [numpy.zeros(10_000) for _ in range(5)]
        HOLDER["views"] = [each[5:] for each in HOLDER["it"]]

    memory.start(capture_path, objects=True)
    leak()
    memory.stop()
    rows = [row for row in replay(capture_path).objects if row["type"] == "numpy.ndarray"]
    assert sum(row["count"] for row in rows) == 10
    assert 5 * 80_000 <= sum(row["owned"] for row in rows) < 5 * 80_000 + 5000


def test_the_largest_groups_are_listed_if_there_are_many(capture_path: Path) -> None:
    """As the imports of a large library make."""
    source = "\n".join(f"def make_{i}(): return [None]" for i in range(20_000))
    space: dict[str, Any] = {}
    exec(source, space)

    def leak() -> None:
        HOLDER["small"] = [space[f"make_{i}"]() for i in range(20_000)]
        HOLDER["large"] = bytearray(10_000)

    (row,) = objects(capture_path, leak, bytearray)
    assert (row["count"], row["path"]) == (1, f"{__name__}.HOLDER['large']")
    found = replay(capture_path)
    assert len(found.objects) == 16_384
    assert "objects with" in found.metadata["memory.objects"]
    text = kymograph("report", "--memory", capture_path).stdout
    assert "in groups smaller than these, are not in the capture" in " ".join(text.split())


def test_what_only_the_recorder_holds_has_no_path(capture_path: Path) -> None:
    """Local variables of its own functions keep nothing of the program alive."""
    memory.start(capture_path, domains="python", objects=True)
    memory.stop()
    assert not [row for row in replay(capture_path).objects if "_finish" in row["path"]]
