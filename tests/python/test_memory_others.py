"""Memory beside others: tracemalloc, numpy, and libraries that take allocators for themselves."""

from __future__ import annotations

import ctypes
import subprocess
import sys
import textwrap
import tracemalloc
from pathlib import Path
from typing import Any

import pytest
from allocated import OVERHEAD, Replayed, hold, recorded, replay, run_code

import kymograph
from kymograph import _core, memory

FREE_THREADED = not getattr(sys, "_is_gil_enabled", lambda: True)()

# ---- against tracemalloc

SAME_PROGRAM = """
import gc, sys, tracemalloc, kymograph

def block():
    kept = [{i: [str(i)]} for i in range(300)]
    kept.append("text" * 100)
    kept.append(bytearray(5000))
    for i in range(100):
        kept.append(tuple(range(i % 50)))
    return kept

block(); block(); gc.collect(); gc.disable()
"""


ALLOCATORS = ["mimalloc_debug"] if FREE_THREADED else ["pymalloc_debug", "malloc", "malloc_debug"]


@pytest.mark.parametrize("allocator", ["", *ALLOCATORS])
def test_tracemalloc_counts_the_same(tmp_path: Path, allocator: str) -> None:
    counted = run_code(
        tmp_path,
        SAME_PROGRAM
        + textwrap.dedent(
            """
            tracemalloc.start(1)
            gc.collect()  # empties free lists, whose blocks are not allocated again
            kept = block()
            snapshot = tracemalloc.take_snapshot()
            lines = range(block.__code__.co_firstlineno, block.__code__.co_firstlineno + 8)
            tops = [(t, t.traceback[0]) for t in snapshot.traces]
            mine = [t for t, top in tops if top.filename == "<string>" and top.lineno in lines]
            print(len(mine), sum(t.size for t in mine))
            """
        ),
        PYTHONMALLOC=allocator,
    )
    run_code(
        tmp_path / "b.kymo",
        SAME_PROGRAM
        + textwrap.dedent(
            """
            kymograph.memory.start(sys.argv[1], domains="python")
            gc.collect()
            kept = block()
            kymograph.memory.stop()
            """
        ),
        PYTHONMALLOC=allocator,
    )
    live = replay(tmp_path / "b.kymo").live.values()
    ours = [b for b in live if b.stack[:1] in (("block",), ("<listcomp>",))]
    assert f"{len(ours)} {sum(b.size for b in ours)}" == counted.strip()


def test_both_can_run_at_once(capture_path: Path) -> None:
    tracemalloc.start()
    try:
        found, kept = recorded(capture_path, hold, range(1000, 1010))
        traced = tracemalloc.get_object_traceback(kept[0])
    finally:
        tracemalloc.stop()
    assert traced is not None
    assert len([b for b in found.live.values() if 1000 < b.size < 1100]) >= 10


# ---- other libraries


def test_numpy_arrays_belong_to_the_line_that_made_them(capture_path: Path) -> None:
    numpy = pytest.importorskip("numpy", reason="numpy is not installed: not tested")

    def arrays() -> list[Any]:
        return [numpy.empty(10_000 + i) for i in range(5)]

    found, _ = recorded(capture_path, arrays, domains=memory.DOMAINS)
    sizes = [b.size for b in found.live.values() if b.stack[:1] in (("arrays",), ("<listcomp>",))]
    assert sorted(size for size in sizes if size >= 80_000) == [8 * (10_000 + i) for i in range(5)]


def test_the_data_of_numpy_arrays_is_named_and_held_once(capture_path: Path) -> None:
    numpy = pytest.importorskip("numpy", reason="numpy is not installed: not tested")

    def arrays() -> list[Any]:
        for _ in range(100):
            numpy.ones(5) + numpy.ones(5)  # numpy keeps small blocks and uses them again
        return [numpy.empty(10_000 + i) for i in range(5)]

    found, kept = recorded(capture_path, arrays, domains=memory.DOMAINS)
    live = [b for b in found.live.values() if b.size >= 80_000]
    assert sorted(b.size for b in live) == sorted(8 * len(array) for array in kept)
    assert {b.function for b in live} == {"tracked numpy"}
    assert found.metadata["memory.domains"] == "native,mappings,python,tracked"


def test_an_array_is_allocated_once_in_the_report(capture_path: Path) -> None:
    numpy = pytest.importorskip("numpy", reason="numpy is not installed: not tested")

    def arrays() -> list[Any]:
        return [numpy.empty(10_000) for _ in range(5)]

    recorded(capture_path, arrays, domains=memory.DOMAINS)
    with kymograph.open(capture_path) as capture:
        rows = [row[:5] for row in capture.memory("allocated") if row[0] >= 80_000]
    assert rows == [(5 * 80_000, 5, 0, "tracked numpy", "tracked")]


def test_arrays_are_recorded_without_native_allocations_too(capture_path: Path) -> None:
    numpy = pytest.importorskip("numpy", reason="numpy is not installed: not tested")

    def arrays() -> Any:
        numpy.empty(20_000)
        return numpy.empty(10_000)

    found, kept = recorded(capture_path, arrays, domains="tracked")
    assert [(b.size, b.function) for b in found.live.values()] == [(80_000, "tracked numpy")]
    assert [b.size for b in found.freed] == [160_000]
    assert len(kept) == 10_000


def test_wrappers_below_those_of_tracemalloc_stay_and_are_used_again(tmp_path: Path) -> None:
    memory.start(tmp_path / "a.kymo", domains="python")
    tracemalloc.start()
    try:
        with pytest.warns(RuntimeWarning, match="another library has wrapped"):
            memory.stop()
        found, _ = recorded_with_warning(tmp_path / "b.kymo")
        assert len(found.live) >= 10
    finally:
        tracemalloc.stop()
    assert _core.memory_wrapped() > 0
    found, _ = recorded(tmp_path / "c.kymo", hold, range(1000, 1010))
    assert len([b for b in found.live.values() if 1000 < b.size < 1100]) == 10
    assert _core.memory_wrapped() == 0


def recorded_with_warning(path: Path) -> tuple[Replayed, Any]:
    with pytest.warns(RuntimeWarning, match="another library has wrapped"):
        return recorded(path, hold, range(1000, 1010))


class Allocator(ctypes.Structure):
    """PyMemAllocatorEx"""

    _fields_ = tuple(
        (name, ctypes.c_void_p) for name in ("ctx", "malloc", "calloc", "realloc", "free")
    )


def test_wrappers_that_a_library_removed_are_reported_and_placed_again(tmp_path: Path) -> None:
    objects, before = 2, Allocator()
    ctypes.pythonapi.PyMem_GetAllocator(objects, ctypes.byref(before))
    memory.start(tmp_path / "a.kymo", domains="python")
    ctypes.pythonapi.PyMem_SetAllocator(objects, ctypes.byref(before))
    memory.stop()
    assert "removed" in replay(tmp_path / "a.kymo").metadata["memory.missed"]
    found, _ = recorded(tmp_path / "b.kymo", hold, range(1000, 1010))
    assert len([b for b in found.live.values() if 1000 < b.size < 1100]) == 10
    assert "memory.missed" not in found.metadata


TRACED = """
import sys, tracemalloc, warnings, kymograph
warnings.simplefilter("ignore", RuntimeWarning)
steps = {
    "T": tracemalloc.start,
    "t": tracemalloc.stop,
    "K": lambda: kymograph.memory.start(sys.argv[1], **eval(sys.argv[2])),
    "k": kymograph.memory.stop,
}
def work():  # blocks of pymalloc, blocks of malloc, and lists that grow
    return [bytes(i % 7 + 201) for i in range(500)], [bytes(2001) for _ in range(500)]
for step in sys.argv[3]:
    steps[step]()
    kept = work()
"""


@pytest.mark.parametrize("domains", ["python", "native,mappings,python,tracked"])
@pytest.mark.parametrize("order", ["KTtk", "KTkt", "TKtk", "TKkt", "KTtTtk", "TKtTtk", "TKtTk"])
def test_with_tracemalloc_every_block_is_recorded_once(
    tmp_path: Path, order: str, domains: str
) -> None:
    path = tmp_path / "a.kymo"
    subprocess.run(
        [sys.executable, "-c", TRACED, path, repr({"domains": domains}), order],
        check=True,
        timeout=400,
    )
    found = replay(path)
    assert found.overlaps == 0
    assert "memory.missed" not in found.metadata
    rounds = order.index("k") - order.index("K")
    assert sum(b.size == OVERHEAD + 2001 for b in found.allocated) == 500 * rounds
    assert sum(b.size == OVERHEAD + 2001 for b in found.live.values()) == 500
    assert len(found.allocated) - len(found.freed) == len(found.live)


def test_the_wrappers_below_tracemalloc_are_removed_with_the_recording(tmp_path: Path) -> None:
    tracemalloc.start()
    try:
        recorded(tmp_path / "a.kymo", hold, range(1000, 1010))  # a warning would be an error
        assert _core.memory_kept() == 0
    finally:
        tracemalloc.stop()
    assert _core.memory_wrapped() == 0


def test_tracemalloc_may_start_and_stop_at_any_time(tmp_path: Path) -> None:
    """Some Pythons crash if tracemalloc is stopped while another thread waits in it for the GIL."""
    out = run_code(
        tmp_path / "a.kymo",
        """
        import sys, threading, tracemalloc, warnings, kymograph
        warnings.simplefilter("ignore", RuntimeWarning)
        ended = False
        def churn():
            while not ended:
                [bytes(1000) for _ in range(20)]
        thread = threading.Thread(target=churn)
        thread.start()
        steps = {
            "T": tracemalloc.start,
            "t": tracemalloc.stop,
            "K": lambda: kymograph.memory.start(sys.argv[1], domains="python"),
            "k": kymograph.memory.stop,
        }
        for order in ["TtKk", "KkTt", "TKkt", "TKtk", "KTkt", "KTtk"] * 2:
            for step in order:
                steps[step]()
                kept = [bytes(2000) for _ in range(100)]
        ended = True
        thread.join()
        print("all")
        """,
    )
    assert out == "all\n"
    found = replay(tmp_path / "a.kymo")  # the last: ours came first, and stayed to the end
    assert sum(b.size == OVERHEAD + 2000 for b in found.allocated) >= 200
