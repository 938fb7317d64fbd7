"""Memory: every allocation of Python programs is recorded once, and nothing is left behind."""

from __future__ import annotations

import math
import os
import signal
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pytest
from allocated import OVERHEAD, hold, notes, recorded, replay, run_code

import kymograph
from kymograph import _core, memory

FREE_THREADED = not getattr(sys, "_is_gil_enabled", lambda: True)()


# ---- what is recorded


def test_every_allocation_of_a_function_is_recorded_with_its_size(capture_path: Path) -> None:
    sizes = range(1000, 1050)
    found, kept = recorded(capture_path, hold, sizes)
    expected = [OVERHEAD + size for size in sizes]
    born = [b.size for b in found.born_in("hold") + found.born_in("<listcomp>")]
    assert [size for size in born if size >= 1000] == expected
    assert len(kept) == 50


def test_what_is_held_at_the_end_is_live_and_the_rest_was_freed(capture_path: Path) -> None:
    def work() -> bytes:
        kept = bytes(70_000)
        for _ in range(20):
            bytes(50_000)
        return kept

    work()  # where calls were traced before, the interpreter allocates for code that it runs first
    found, kept = recorded(capture_path, work)
    assert [b.size for b in found.held_by("work")] == [OVERHEAD + len(kept)]
    assert sum(b.size == OVERHEAD + 50_000 for b in found.freed) == 20
    assert found.overlaps == 0


def test_a_large_block_counts_once_although_python_gets_it_from_malloc(capture_path: Path) -> None:
    found, _ = recorded(capture_path, hold, range(100_000, 100_010), domains=memory.DOMAINS)
    large = [b for b in found.allocated if b.size >= 100_000]
    assert [b.function for b in large] == ["PyObject_Calloc"] * 10


def test_a_growing_list_is_resized(capture_path: Path) -> None:
    def grow() -> list[int]:
        grown: list[int] = []
        for _ in range(1000):
            grown.append(0)
        return grown

    found, grown = recorded(capture_path, grow)
    # Without the GIL other threads may read the old array, so lists do not use realloc, and each
    # array begins with its capacity.
    function, header = ("PyMem_Malloc", 8) if FREE_THREADED else ("PyMem_Realloc", 0)
    moves = [b for b in found.born_in("grow") if b.function == function]
    assert len(moves) > 5
    assert moves[-1].size == sys.getsizeof(grown) - sys.getsizeof([]) + header
    assert found.held_by("grow")[-1].size == moves[-1].size


def test_blocks_from_before_the_start_are_unknown_when_freed(capture_path: Path) -> None:
    old = [bytes(3000) for _ in range(10)]
    found, _ = recorded(capture_path, old.clear)
    assert found.unknown >= 10
    assert found.overlaps == 0


def test_the_stack_is_that_of_the_allocation(capture_path: Path) -> None:
    def inner() -> bytes:
        return bytes(123_456)

    def outer() -> bytes:
        return inner()

    found, _ = recorded(capture_path, outer)
    (block,) = [b for b in found.live.values() if b.size == OVERHEAD + 123_456]
    assert block.stack[:2] == ("inner", "outer")


def test_without_stacks_there_are_none(capture_path: Path) -> None:
    found, _ = recorded(capture_path, hold, range(1000, 1010), stacks="none")
    assert {b.stack for b in found.allocated} == {()}
    assert found.metadata["memory.stacks"] == "none"


@pytest.mark.skipif(FREE_THREADED, reason="free-threaded builds have no arenas")
def test_new_arenas_of_pymalloc_are_mappings(tmp_path: Path) -> None:
    run_code(
        tmp_path / "a.kymo",
        """
        import sys, kymograph
        kymograph.memory.start(sys.argv[1], domains="python")
        kept = [[] for _ in range(30_000)]
        kymograph.memory.stop()
        """,
        PYTHONMALLOC="pymalloc",
    )
    found = replay(tmp_path / "a.kymo")
    assert sum(found.arenas) >= 30_000 * sys.getsizeof([])


# ---- threads and processes


def test_threads_record_their_own_allocations_and_none_overlap(capture_path: Path) -> None:
    kept: dict[int, list[bytes]] = {}

    def work(number: int) -> None:
        kept[number] = []
        for i in range(200):
            kept[number].append(bytes(2000 + number))
            bytes(4000 + i)

    def all_threads() -> None:
        threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    found, _ = recorded(capture_path, all_threads)
    assert found.overlaps == 0
    for number in range(4):
        size = OVERHEAD + 2000 + number
        assert sum(b.size == size for b in found.live.values()) == 200


@pytest.mark.skipif("KYMO_EMULATED" in os.environ, reason="qemu has no children that make threads")
def test_a_forked_child_records_nothing_and_can_record_itself(tmp_path: Path) -> None:
    run_code(
        tmp_path / "parent.kymo",
        """
        import os, sys, kymograph
        from kymograph import _core
        kymograph.memory.start(sys.argv[1], domains="python")
        if os.fork() == 0:
            kept = [bytes(7777) for _ in range(10)]
            assert not kymograph.memory.running()
            assert _core.memory_wrapped() == 0
            kymograph.memory.start(sys.argv[1] + ".child.kymo", domains="python")
            kept += [bytes(5555) for _ in range(10)]
            kymograph.memory.stop()
            os._exit(0)
        assert os.wait()[1] == 0
        kept = [bytes(6666) for _ in range(10)]
        kymograph.memory.stop()
        """,
    )
    parent = [b.size - OVERHEAD for b in replay(tmp_path / "parent.kymo").allocated]
    child = [b.size - OVERHEAD for b in replay(tmp_path / "parent.kymo.child.kymo").allocated]
    assert (parent.count(6666), parent.count(7777), parent.count(5555)) == (10, 0, 0)
    assert (child.count(6666), child.count(7777), child.count(5555)) == (0, 0, 10)


# ---- starting and stopping


def test_the_allocators_are_put_back(capture_path: Path) -> None:
    memory.start(capture_path)
    during = _core.memory_wrapped()
    memory.stop()
    assert (during, _core.memory_wrapped()) == (4, 0)


def test_it_can_start_and_stop_many_times(tmp_path: Path) -> None:
    for i in range(5):
        found, _ = recorded(tmp_path / f"{i}.kymo", hold, range(1000, 1010))
        assert len([b for b in found.live.values() if 1000 < b.size < 1100]) >= 10
    assert _core.memory_wrapped() == 0


def test_stopping_twice_does_nothing(capture_path: Path) -> None:
    memory.start(capture_path)
    memory.stop()
    memory.stop()
    assert not memory.running()


def test_starting_twice_is_refused(capture_path: Path) -> None:
    memory.start(capture_path)
    with pytest.raises(kymograph.SessionError, match="is being recorded already"):
        memory.start(capture_path)
    assert memory.running()
    memory.stop()


def test_memory_is_recorded_in_a_part_of_a_running_session(capture_path: Path) -> None:
    with kymograph.start(capture_path, calls=False):
        kept = hold(range(1000, 1010))
        with memory.start(domains="python") as session:
            assert session.nested
            assert memory.running()
            kept += hold(range(2000, 2010))
        assert (memory.running(), _core.memory_wrapped()) == (False, 0)
        assert kymograph.running()
        kept += hold(range(3000, 3010))
        with pytest.raises(kymograph.SessionError, match="and stopped"):
            memory.start()
        memory.export_memory_history(capture_path.with_suffix(".copy.kymo"))
    sizes = [b.size - OVERHEAD for b in replay(capture_path).allocated]
    assert [size for size in sizes if size in range(1000, 4000)] == list(range(2000, 2010))
    assert replay(capture_path).metadata["sources"] == "memory"
    assert len(kept) == 30


def test_a_session_that_ends_also_ends_its_memory(capture_path: Path) -> None:
    with kymograph.start(capture_path, calls=False):
        memory.start(domains="python")
        kept = hold(range(2000, 2010))
    assert (memory.running(), _core.memory_wrapped()) == (False, 0)
    memory.stop()
    assert sum(b.size >= 2000 + OVERHEAD for b in replay(capture_path).live.values()) >= len(kept)


def test_start_in_a_session_that_records_memory_leaves_it_so(capture_path: Path) -> None:
    with kymograph.start(capture_path, calls=False, memory={"domains": "python"}):
        with memory.start(capture_path.with_name("other.kymo")) as session:
            assert session.nested
        kept = hold(range(2000, 2010))
    sizes = [b.size - OVERHEAD for b in replay(capture_path).allocated]
    assert set(range(2000, 2010)) <= set(sizes)
    assert len(kept) == 10


def test_an_exception_in_the_program_changes_nothing(capture_path: Path) -> None:
    def fail() -> None:
        bytes(10_000)
        raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        recorded(capture_path, fail)
    assert any(b.size == OVERHEAD + 10_000 for b in replay(capture_path).allocated)


def test_the_session_is_a_context_manager(capture_path: Path) -> None:
    with memory.start(capture_path, domains="python"):
        kept = hold(range(1000, 1003))
    assert len(kept) == 3
    assert _core.memory_wrapped() == 0


def test_memory_and_calls_share_a_session(capture_path: Path) -> None:
    with kymograph.start(capture_path, memory={"domains": "python"}):
        hold(range(1000, 1010))
    with kymograph.open(capture_path) as capture:
        names = {event.name for event in capture.events() if event.kind == "enter"}
    assert "hold" in names
    assert any(b.size == OVERHEAD + 1000 for b in replay(capture_path).allocated)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"mode": "all"}, "mode must be 'exact' or 'sampled' or 'live', not 'all'"),
        ({"rate": "1M"}, 'rate works only with mode="sampled"'),
        ({"mode": "sampled", "rate": "1T"}, "rate must be below 1T, not 1T"),
        ({"domains": "heap"}, "a domain must be 'native' or 'mappings' or"),
        ({"stacks": "all"}, "stacks must be 'none' or 'native' or"),
        ({"snapshot_signal": "NONE"}, "there is no signal 'NONE'"),
        ({"snapshot_signal": "_BLOCK"}, "there is no signal '_BLOCK'"),
        ({"snapshot_signal": 999}, "there is no signal 999"),
        ({"snapshot_signal": "KILL"}, "signal KILL cannot take snapshots"),
        ({"snapshot_signal": "SEGV"}, "signal SEGV cannot take snapshots"),
        ({"snapshot_signal": signal.SIGINT}, "handles or ignores signal 2 itself"),
    ],
)
def test_wrong_options_are_refused(
    capture_path: Path, options: dict[str, Any], message: str
) -> None:
    with pytest.raises(ValueError) as refused:
        memory.start(capture_path, **options)
    assert message in str(refused.value)
    assert not kymograph.running()


def test_a_signal_that_the_program_handles_leaves_nothing_running(capture_path: Path) -> None:
    with kymograph.start(capture_path):
        with pytest.raises(ValueError, match="handles or ignores signal 2 itself"):
            memory.start(snapshot_signal="INT")
        assert not memory.running() and _core.memory_wrapped() == 0


def test_an_unknown_option_of_kymograph_start_is_named(capture_path: Path) -> None:
    with pytest.raises(ValueError, match=r"memory takes mode, rate, .*, not speed"):
        kymograph.start(capture_path, memory={"speed": 1})


@pytest.mark.parametrize("wrong", [5, ["exact"]])
def test_memory_that_is_no_mode_and_no_dict_is_refused(capture_path: Path, wrong: object) -> None:
    with pytest.raises(ValueError, match="memory must be a mode or a dict of options, not"):
        kymograph.start(capture_path, memory=wrong)
    assert not kymograph.running()


# ---- snapshots and files


def test_a_snapshot_says_who_holds_memory(capture_path: Path) -> None:
    memory.start(capture_path, "live", domains="python")
    kept = [bytes(40_000) for _ in range(10)]
    number = memory.snapshot("half way")
    kept.clear()
    memory.stop()
    found = replay(capture_path)
    assert [(s["number"], s["reason"]) for s in found.snapshots] == [(number, "half way")]
    here = [row for row in found.held if row["snapshot"] == number and row["count"] == 10]
    assert [row["bytes"] for row in here] == [10 * (OVERHEAD + 40_000)]
    assert not [row for row in found.held if row["snapshot"] == 0 and row["bytes"] >= 400_000]


def test_a_snapshot_without_recording_is_refused(capture_path: Path) -> None:
    refused = pytest.raises(kymograph.SessionError, match="memory is not being recorded")
    with refused:
        memory.snapshot()
    with kymograph.start(capture_path), refused:  # a session of calls
        memory.snapshot()


def test_objects_of_other_threads_are_python_s_from_the_first_one_on(capture_path: Path) -> None:
    size, done = 54_321, threading.Event()

    def churn() -> None:
        while not done.is_set():
            bytes(size)

    threads = [threading.Thread(target=churn) for _ in range(3)]
    for thread in threads:
        thread.start()
    try:
        with memory.start(capture_path):  # which waits for its turn among them
            time.sleep(0.05)
    finally:
        done.set()
        for thread in threads:
            thread.join()
    found = [block for block in replay(capture_path).allocated if block.size == OVERHEAD + size]
    # At the end, Python's allocators are put back a moment before native calls are.
    early = found[: len(found) // 2 + 1]
    assert {block.function for block in early} == {"PyObject_Calloc"}


def test_a_signal_takes_a_snapshot(tmp_path: Path) -> None:
    run_code(
        tmp_path / "s.kymo",
        """
        import os, signal, sys, time, kymograph
        kymograph.memory.start(sys.argv[1], "live", snapshot_signal="USR2")
        os.kill(os.getpid(), signal.SIGUSR2)
        path = sys.argv[1]
        for _ in range(3000):
            time.sleep(0.01)
            with kymograph.open(path) as capture:
                if any(e.name == "memory.snapshot" for e in capture.events()):
                    break
        kymograph.memory.stop()
        assert signal.getsignal(signal.SIGUSR2) == signal.SIG_DFL
        """,
    )
    (shot,) = replay(tmp_path / "s.kymo").snapshots
    assert shot["reason"] == "signal"


# A block has a chance of 1 - e^-(size/rate); the bounds are six standard deviations away.


@pytest.mark.parametrize("size", [400, 1000])  # pymalloc's own, and one that it gets from malloc
def test_sampled_blocks_count_once_whatever_python_gets_them_from(
    capture_path: Path, size: int
) -> None:
    many, rate = 100_000, 16 << 10

    def churn() -> None:
        for _ in range(many):
            bytes(size)

    found, _ = recorded(capture_path, churn, mode="sampled", rate=str(rate), domains=memory.DOMAINS)
    blocks = [b for b in found.allocated if b.size in (OVERHEAD + size, OVERHEAD + size - 1)]
    chance = 1 - math.exp(-(OVERHEAD + size) / rate)
    deviation = math.sqrt(many * chance * (1 - chance))
    assert abs(len(blocks) - many * chance) < 6 * deviation
    assert {b.function for b in blocks} <= {"PyObject_Calloc", "PyObject_Malloc"}


def test_a_sampled_list_that_grows_is_sampled_with_its_new_size(capture_path: Path) -> None:
    many, rate = 20_000, 16 << 10

    def grow() -> None:
        for _ in range(many):
            grown = bytearray(10)
            grown.extend(bytes(3000))

    found, _ = recorded(capture_path, grow, mode="sampled", rate=str(rate), domains=memory.DOMAINS)
    # From 3.15 on, the data of a bytearray is a bytes object, with a header.
    blocks = [b for b in found.allocated if 3000 < b.size < 3060 and "Realloc" in b.function]
    chance = 1 - math.exp(-3011 / rate)
    deviation = math.sqrt(many * chance * (1 - chance))
    assert abs(len(blocks) - many * chance) < 6 * deviation
    assert len(found.held_by("grow")) <= 2


@pytest.mark.skipif(FREE_THREADED, reason="free-threaded builds have no arenas")
def test_sampled_arenas_are_mappings_of_their_own_and_no_others(tmp_path: Path) -> None:
    run_code(
        tmp_path / "a.kymo",
        """
        import sys, kymograph
        kymograph.memory.start(sys.argv[1], mode="sampled")
        kept = [[] for _ in range(100_000)]
        kymograph.memory.stop()
        """,
        PYTHONMALLOC="pymalloc",
    )
    maps = [fields for name, fields in notes(tmp_path / "a.kymo") if name == "memory.map"]
    arenas = [m for m in maps if m["function"] == "arena"]
    assert sum(m["size"] for m in arenas) >= 100_000 * sys.getsizeof([])
    taken = {m["address"] for m in arenas}
    assert not [m for m in maps if m["function"] == "mmap" and m["address"] in taken]


def test_sampled_mode_estimates_the_total(capture_path: Path) -> None:
    found, kept = recorded(
        capture_path, lambda: [bytes(100_000) for _ in range(200)], mode="sampled", rate="64K"
    )
    sampled = [b for b in found.live.values() if b.size == OVERHEAD + 100_000]
    # Each is recorded with a probability of 1 - exp(-100033 / 65536) = 0.78: six deviations.
    assert 200 * 0.78 - 36 <= len(sampled) <= 200 * 0.78 + 36
    assert found.metadata["memory.mode"] == "sampled"
    assert len(kept) == 200


def test_without_a_path_the_history_can_still_be_exported(tmp_path: Path) -> None:
    with memory.start(domains="python") as session:
        hold(range(1000, 1010))
    memory.export_memory_history(tmp_path / "history.kymo")
    assert any(b.size == OVERHEAD + 1000 for b in replay(tmp_path / "history.kymo").allocated)
    assert (tmp_path / "history.kymo").stat().st_mode == os.stat(session.path).st_mode
    os.unlink(session.path)


def test_other_extensions_are_refused(capture_path: Path, tmp_path: Path) -> None:
    recorded(capture_path, hold, range(1000, 1010))
    with pytest.raises(ValueError, match=r"cannot tell the format .* use an extension"):
        memory.export_memory_history(tmp_path / "history.unknown")
