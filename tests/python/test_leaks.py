"""Nothing is left behind: memory, threads, descriptors, references."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from conftest import Record, RunCode

import kymograph

MEASURE = """if True:
    import gc, os, sys, kymograph
    path = sys.argv[1]

    def footprint():
        gc.collect()
        with open("/proc/self/statm") as statm:
            pages = int(statm.read().split()[1])
        return pages * os.sysconf("SC_PAGE_SIZE"), *(
            len(os.listdir(f"/proc/self/{kind}")) for kind in ("task", "fd"))

    def check(cycle, warm, cycles, allowed):
        for i in range(warm):
            cycle(i)
        memory, *counts = footprint()
        for i in range(cycles):
            cycle(i)
        grown, *now = footprint()
        assert now == counts, f"threads and descriptors {counts} became {now}"
        assert grown - memory < allowed, f"{grown - memory} bytes more"
"""


def test_starting_and_stopping_leaves_nothing_behind(run_code: RunCode, tmp_path: Path) -> None:
    code = """
    def cycle(i):
        kymograph.start(path, calls=False)
        with kymograph.span("literal"):
            kymograph.instant(f"name {i}")
        kymograph.stop()
    check(cycle, 100, 1000, 2 << 20)
    """
    run_code(MEASURE + code, tmp_path / "trace.kymo")


def test_reading_leaves_nothing_behind(run_code: RunCode, tmp_path: Path) -> None:
    code = """
    kymograph.start(path, calls=False)
    for i in range(1000):
        kymograph.instant(f"name {i}")
    kymograph.metadata("key", "value")
    kymograph.stop()

    def cycle(i):
        with kymograph.open(path) as capture:
            capture.info, capture.threads, capture.metadata, capture.snapshots
            next(capture.events())
            for event in capture.events(thread=0):
                event.kind, event.detail, event.name, event.time
        try:
            kymograph.open(path + ".missing")
        except OSError:
            pass
        try:
            kymograph.open("/dev/null")
        except (OSError, kymograph.CaptureError):
            pass
    check(cycle, 50, 300, 1 << 20)
    """
    run_code(MEASURE + code, tmp_path / "trace.kymo")


def test_marking_keeps_no_memory_for_names_after_stop(run_code: RunCode, tmp_path: Path) -> None:
    code = """
    def cycle(i):
        kymograph.start(path, calls=False)
        for j in range(2000):
            kymograph.instant(f"name {i} {j}")
        kymograph.stop()
    check(cycle, 20, 100, 2 << 20)
    """
    run_code(MEASURE + code, tmp_path / "trace.kymo")


@pytest.mark.skipif(not kymograph._core.trace_can_throttle(), reason="3.11.0 to 3.11.3 cannot")
def test_threads_under_an_overhead_budget_leave_nothing_behind(
    run_code: RunCode, tmp_path: Path
) -> None:
    # Counts only memory from malloc: the recorder's own buffers come from elsewhere.
    code = """if True:
    import ctypes, sys, threading, kymograph

    class Mallinfo(ctypes.Structure):
        _fields_ = [(f"field{i}", ctypes.c_size_t) for i in range(10)]

    try:
        mallinfo = ctypes.CDLL(None).mallinfo2
    except AttributeError:
        sys.exit()  # an older or another C library
    mallinfo.restype = Mallinfo

    def run_threads(count):
        for _ in range(count):
            thread = threading.Thread(target=len, args=("",))
            thread.start()
            thread.join()

    kymograph.start(sys.argv[1], overhead=0.9)
    run_threads(50)
    before = mallinfo().field7
    run_threads(300)
    after = mallinfo().field7
    kymograph.stop()
    assert after - before < 300 << 10, f"{after - before} bytes more"
    """
    run_code(code, tmp_path / "trace.kymo")


def test_marks_do_not_keep_references_to_their_arguments(record: Record) -> None:
    class Name(str):
        __slots__ = ()

    name, value, number = Name("counted"), 1.5, 1 << 40
    before = [sys.getrefcount(x) for x in (name, value, number)]

    with record():
        for _ in range(100):
            with kymograph.span(name):
                kymograph.instant(name)
                kymograph.counter(name, value)
                kymograph.flow_out(name, number)
            kymograph.metadata(name, name)
            kymograph.thread_name(name)

    assert [sys.getrefcount(x) for x in (name, value, number)] == before
