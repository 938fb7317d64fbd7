"""What a capture says of itself, and reading a part of it."""

from __future__ import annotations

import os
import threading
import time
from pathlib import Path

import pytest
from conftest import Record

import kymograph


@pytest.fixture
def four_threads(record: Record) -> Path:
    """Four named threads, each with 100 spans of its own name."""

    def work(name: str) -> None:
        kymograph.thread_name(name)
        for _ in range(100):
            with kymograph.span(name):
                pass

    with record() as path:
        threads = [threading.Thread(target=work, args=(f"worker {i}",)) for i in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    return path


def test_every_thread_has_its_events(four_threads: Path) -> None:
    with kymograph.open(four_threads) as capture:
        names = {thread.name for thread in capture.threads}
        assert names == {f"worker {i}" for i in range(4)}

        for thread in capture.threads:
            events = list(capture.events(thread=thread.index))
            assert {event.name for event in events} == {thread.name}
            assert [event.kind for event in events] == ["enter", "leave"] * 100
            assert (thread.records, thread.lost) == (200, 0)
            assert (thread.first, thread.last) == (events[0].time, events[-1].time)


def test_a_thread_may_be_given_as_it_was_listed(four_threads: Path) -> None:
    with kymograph.open(four_threads) as capture:
        for thread in capture.threads:
            assert {event.thread for event in capture.events(thread)} == {thread.index}


def test_all_threads_together_are_in_the_order_of_time(four_threads: Path) -> None:
    with kymograph.open(four_threads) as capture:
        times = [event.time for event in capture.events()]

    assert len(times) == 800
    assert times == sorted(times)


@pytest.mark.parametrize("index", [4, -1, 2**32, 2**40])
def test_a_thread_that_is_not_there_is_an_index_error(four_threads: Path, index: int) -> None:
    with kymograph.open(four_threads) as capture, pytest.raises(IndexError, match=str(index)):
        capture.events(thread=index)


def test_a_window_holds_start_but_not_end(record: Record) -> None:
    with record() as path:
        for i in range(1000):
            kymograph.instant(f"{i}")

    with kymograph.open(path) as capture:
        events = list(capture.events())
        start, end = events[200].time, events[300].time
        inside = [event.name for event in capture.events(start=start, end=end)]
        expected = [event.name for event in events if start <= event.time < end]
        assert inside == expected
        assert "200" in inside
        assert "300" not in inside

        assert [event.name for event in capture.events(start=start)] == [
            event.name for event in events if event.time >= start
        ]
        assert [event.name for event in capture.events(end=end)] == [
            event.name for event in events if event.time < end
        ]


def test_a_window_without_events_is_empty(record: Record) -> None:
    with record() as path:
        kymograph.instant("only")

    with kymograph.open(path) as capture:
        (only,) = capture.events()
        assert list(capture.events(start=only.time, end=only.time)) == []
        assert list(capture.events(start=only.time + 1)) == []
        assert list(capture.events(end=only.time)) == []
        assert [event.name for event in capture.events(start=only.time)] == ["only"]


def test_window_and_thread_go_together(four_threads: Path) -> None:
    with kymograph.open(four_threads) as capture:
        thread = capture.threads[1]
        middle = (thread.first + thread.last) // 2
        before = list(capture.events(thread, end=middle))
        after = list(capture.events(thread, start=middle))

    assert len(before) + len(after) == 200
    assert {event.thread for event in before + after} == {1}


def test_iterating_over_a_capture_gives_its_events(record: Record) -> None:
    with record() as path:
        kymograph.instant("one")

    with kymograph.open(path) as capture:
        assert [event.name for event in capture] == ["one"]


def test_metadata_keeps_the_last_value_of_a_key(record: Record) -> None:
    with record() as path:
        kymograph.metadata("model", "first")
        kymograph.metadata("größe", "数")
        kymograph.metadata("model", "second")

    with kymograph.open(path) as capture:
        assert capture.metadata["model"] == "second"
        assert capture.metadata["größe"] == "数"


def test_info_shows_what_was_recorded(record: Record) -> None:
    before = time.time_ns()
    with record() as path:
        kymograph.process_name("the process")
        for _ in range(10):
            kymograph.instant("tick")

    with kymograph.open(path) as capture:
        info = capture.info
        events = list(capture.events())

    assert info.ending == "clean"
    assert info.error == 0
    assert info.pid == os.getpid()
    assert (info.threads, info.records, info.lost_records, info.gaps) == (1, 10, 0, 0)
    assert (info.start, info.end) == (events[0].time, events[-1].time)
    assert before - 10**8 <= info.wall_start <= time.time_ns() + 10**8
    assert info.file_bytes == path.stat().st_size
    assert info.live_bytes == info.recovered_records == 0
    assert info.damaged_blocks == info.damaged_bytes == 0
    assert info.indexed is True
    assert info.clock in {"tsc", "cntvct", "monotonic"}
    assert info.ticks_per_second > 1e6


def test_snapshots_run_forward_on_every_clock(record: Record) -> None:
    with record() as path:
        kymograph.instant("tick")

    with kymograph.open(path) as capture:
        snapshots = capture.snapshots
        assert len(snapshots) == capture.info.snapshots >= 1
        assert snapshots == sorted(snapshots)
        assert [s.monotonic for s in snapshots] == sorted(s.monotonic for s in snapshots)


def test_an_empty_recording_opens(record: Record) -> None:
    with record() as path:
        pass

    with kymograph.open(path) as capture:
        assert list(capture.events()) == []
        assert capture.threads == []
        assert capture.info.records == 0


def test_an_event_shows_itself(record: Record) -> None:
    with record() as path:
        kymograph.instant("größe")

    with kymograph.open(path) as capture:
        (event,) = capture.events()
        assert repr(event).startswith("<kymograph.Event instant 'größe' thread=0 time=")
        assert (event.file, event.line, event.detail) == ("", 0, "")
        assert repr(capture) == f"<kymograph.Capture {str(path)!r}>"
