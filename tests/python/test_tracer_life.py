"""The life of a trace: what is recorded between start, pause, resume, stop and the next start."""

from __future__ import annotations

import ctypes
import gc
import threading
from collections.abc import Callable
from pathlib import Path

import pytest
from traced import read_trace

import kymograph


def leaf() -> None:
    pass


def work() -> None:
    for _ in range(10):
        leaf()


def test_filters_of_one_session_are_not_those_of_the_next(capture_path: Path) -> None:
    kymograph.start(capture_path, exclude=["leaf"])
    work()
    kymograph.stop()
    first = len(read_trace(capture_path).find("leaf"))
    kymograph.start(capture_path)
    work()
    kymograph.stop()

    assert first == 0
    assert len(read_trace(capture_path).find("leaf")) == 10


def test_after_stop_calls_are_not_recorded_and_a_new_session_is_complete(
    capture_path: Path, tmp_path: Path
) -> None:
    kymograph.start(tmp_path / "first.kymo")
    kymograph.stop()
    work()
    kymograph.start(capture_path)
    work()
    kymograph.stop()

    assert read_trace(tmp_path / "first.kymo").find("leaf") == []
    assert len(read_trace(capture_path).find("leaf")) == 10


@pytest.mark.parametrize("c_calls", [True, False], ids=["c", "python"])
def test_threads_have_their_names(capture_path: Path, c_calls: bool) -> None:
    kymograph.start(capture_path, c_calls=c_calls)
    for name in ("first", "second"):
        thread = threading.Thread(target=leaf, name=name)
        thread.start()
        thread.join()
    kymograph.stop()

    with kymograph.open(capture_path) as capture:
        assert [thread.name for thread in capture.threads] == ["MainThread", "first", "second"]


def test_what_happens_in_a_pause_is_not_recorded(capture_path: Path) -> None:
    def inner() -> None:
        leaf()
        kymograph.pause()
        leaf()

    def outer() -> None:
        inner()
        leaf()
        kymograph.resume()
        leaf()

    for c_calls in (True, False):
        kymograph.start(capture_path, c_calls=c_calls)
        outer()
        leaf()
        kymograph.stop()
        result = read_trace(capture_path)

        assert len(result.find("leaf")) == 3
        assert [str(call) for call in result.find("inner")] == ["inner call>never"]
        assert [str(call) for call in result.find("outer")] == [
            "outer call>never",
            "outer open>return",
        ]


@pytest.mark.parametrize("c_calls", [True, False], ids=["c", "python"])
def test_tracing_continues_in_a_call_that_began_in_a_pause(
    capture_path: Path, c_calls: bool
) -> None:
    def inner(go_on: Callable[[], None]) -> None:
        go_on()
        leaf()

    def outer(stop: Callable[[], None], go_on: Callable[[], None]) -> None:
        stop()
        inner(go_on)
        leaf()

    def start() -> None:
        kymograph.start(capture_path, c_calls=c_calls)

    for stop, go_on in ((kymograph.pause, kymograph.resume), (kymograph.stop, start)):
        start()
        outer(stop, go_on)
        leaf()
        kymograph.stop()
        result = read_trace(capture_path)

        assert str(result.only("inner")) == "inner open>return"
        assert str(result.find("outer")[-1]) == "outer open>return"
        assert len(result.find("leaf")) == 3


@pytest.mark.parametrize("paused", [False, True])
def test_native_code_can_ask_for_collections_in_the_middle(
    capture_path: Path, paused: bool
) -> None:
    library = ctypes.CDLL(str(Path(kymograph.__file__).parent / "libkymo.so.0"))
    kymograph.start(capture_path, gc=False)
    gc.collect()
    if paused:
        kymograph.pause()
    assert library.kymo_tracer_gc_callback() == 0
    if paused:
        gc.collect()
        kymograph.resume()
    gc.collect()
    gc.collect()
    kymograph.stop()

    with kymograph.open(capture_path) as capture:
        names = [event.name for event in capture.events() if event.kind == "enter"]
    assert names.count("Python GC") == 2
    assert not any(getattr(each, "__name__", "") == "kymo_gc" for each in gc.callbacks)
