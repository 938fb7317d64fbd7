"""Captures and iterators: who lives how long, on which thread."""

from __future__ import annotations

import gc
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from conftest import Record

import kymograph

EVENTS = 10_000  # several batches of the iterator


@pytest.fixture
def path(record: Record) -> Path:
    with record() as path:
        for i in range(EVENTS):
            kymograph.instant(f"event {i}")
    return path


USES: list[Callable[[kymograph.Capture], Any]] = [
    lambda capture: capture.info,
    lambda capture: capture.threads,
    lambda capture: capture.metadata,
    lambda capture: capture.snapshots,
    lambda capture: capture.events(),
    lambda capture: capture.events(thread=0),
    lambda capture: iter(capture),
    lambda capture: capture.__enter__(),
]


@pytest.mark.parametrize("use", USES)
def test_a_closed_capture_says_so(path: Path, use: Callable[[kymograph.Capture], Any]) -> None:
    capture = kymograph.open(path)
    use(capture)
    capture.close()

    assert capture.closed
    with pytest.raises(ValueError, match=r"trace\.kymo.* is closed"):
        use(capture)


def test_closing_twice_does_nothing(path: Path) -> None:
    capture = kymograph.open(path)
    capture.close()
    capture.close()

    assert repr(capture) == f"<kymograph.Capture {str(path)!r} (closed)>"
    assert capture.path == str(path)


def test_a_with_block_closes_its_capture_even_when_it_raises(path: Path) -> None:
    with pytest.raises(ZeroDivisionError), kymograph.open(path) as capture:
        _ = 1 / 0

    assert capture.closed


def test_an_iterator_of_a_closed_capture_raises(path: Path) -> None:
    capture = kymograph.open(path)
    fresh, begun, exhausted = capture.events(), capture.events(), capture.events()
    next(begun)
    assert len(list(exhausted)) == EVENTS

    capture.close()

    for iterator in (fresh, begun):
        for _ in range(2):
            with pytest.raises(ValueError, match="is closed"):
                next(iterator)
    assert list(exhausted) == []


def test_an_iterator_keeps_its_capture_open(path: Path) -> None:
    events = kymograph.open(path).events()
    gc.collect()

    assert [event.name for event in events] == [f"event {i}" for i in range(EVENTS)]


def test_events_outlive_everything(path: Path) -> None:
    with kymograph.open(path) as capture:
        events = list(capture.events())
    del capture
    gc.collect()

    assert [event.name for event in events] == [f"event {i}" for i in range(EVENTS)]


def test_iterators_of_one_capture_do_not_disturb_each_other(path: Path) -> None:
    with kymograph.open(path) as capture:
        pairs = zip(capture.events(), capture.events(), capture.events(thread=0), strict=True)
        assert all(a.name == b.name == c.name for a, b, c in pairs)


def test_an_abandoned_iterator_is_harmless(path: Path) -> None:
    with kymograph.open(path) as capture:
        for _ in range(100):
            next(capture.events())

        assert len(list(capture.events())) == EVENTS


def test_threads_may_read_one_capture_together(path: Path) -> None:
    counts: list[int] = []

    with kymograph.open(path) as capture:

        def count() -> None:
            for _ in range(5):
                counts.append(sum(1 for _ in capture.events()))
                assert capture.info.records == EVENTS
                assert len(capture.threads) == 1

        run_together([count] * 4)

    assert counts == [EVENTS] * 20


def test_closing_while_threads_read_is_safe(path: Path) -> None:
    for _ in range(20):
        capture = kymograph.open(path)
        begun = threading.Barrier(4)

        def read(capture: kymograph.Capture = capture, begun: threading.Barrier = begun) -> None:
            events = capture.events()
            begun.wait()
            with pytest.raises(ValueError, match="is closed"):
                while True:
                    for event in events:
                        assert event.name
                    events = capture.events()

        def close(capture: kymograph.Capture = capture, begun: threading.Barrier = begun) -> None:
            begun.wait()
            capture.close()

        run_together([read, read, read, close])


def test_threads_that_share_an_iterator_get_each_event_once_or_an_error(path: Path) -> None:
    seen: list[str] = []

    with kymograph.open(path) as capture:
        events = capture.events()

        def take() -> None:
            while True:
                try:
                    seen.append(next(events).name)
                except RuntimeError as error:
                    assert "another thread" in str(error)
                except StopIteration:
                    return

        run_together([take] * 4)

    assert sorted(seen) == sorted(f"event {i}" for i in range(EVENTS))


def run_together(functions: list[Callable[[], None]]) -> None:
    """Run each function in a thread of its own, and raise what any of them raised."""
    errors: list[BaseException] = []

    def guarded(function: Callable[[], None]) -> None:
        try:
            function()
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=guarded, args=(function,)) for function in functions]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if errors:
        raise errors[0]


@pytest.mark.parametrize(
    "kind",
    [kymograph.Capture, kymograph.Events, kymograph.Event, kymograph.Span],
    ids=lambda kind: kind.__name__,
)
def test_objects_of_the_core_are_made_by_the_core(kind: type) -> None:
    with pytest.raises(TypeError):
        kind()
