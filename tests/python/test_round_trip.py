"""What is marked is what is read."""

from __future__ import annotations

import math
import threading
import time
from pathlib import Path

import pytest
from conftest import Read, Record

import kymograph


def story(events: list[kymograph.Event]) -> list[tuple[str, str]]:
    return [(event.kind, event.name) for event in events]


def test_nested_spans_come_back_nested(record: Record, read: Read) -> None:
    with record(), kymograph.span("outer"):
        with kymograph.span("first"):
            pass
        with kymograph.span("second"):
            pass

    events = read()

    assert story(events) == [
        ("enter", "outer"),
        ("enter", "first"),
        ("leave", "first"),
        ("enter", "second"),
        ("leave", "second"),
        ("leave", "outer"),
    ]
    assert {event.detail for event in events if event.kind == "enter"} == {"call"}
    assert {event.detail for event in events if event.kind == "leave"} == {"return"}


def test_the_duration_of_a_span_is_that_of_its_block(record: Record, read: Read) -> None:
    with record():
        before = time.monotonic_ns()
        with kymograph.span("sleep"):
            inside = time.monotonic_ns()
            time.sleep(0.05)
            asleep = time.monotonic_ns() - inside
        after = time.monotonic_ns()

    enter, leave = read()

    slack = 1_000_000  # the recording clock against CLOCK_MONOTONIC
    assert before - slack <= enter.time < leave.time <= after + slack
    assert leave.time - enter.time >= asleep - slack


def test_a_span_ends_when_its_block_raises(record: Record, read: Read) -> None:
    with record(), pytest.raises(ZeroDivisionError), kymograph.span("division"):
        _ = 1 / 0

    assert story(read()) == [("enter", "division"), ("leave", "division")]


def test_a_span_that_is_open_at_stop_may_end_afterwards(record: Record, read: Read) -> None:
    with record(), kymograph.span("outer"):
        kymograph.stop()

    assert ("enter", "outer") in story(read())


def test_a_span_open_across_two_sessions_is_not_in_the_second(
    read: Read, capture_path: Path
) -> None:
    kymograph.start(capture_path, calls=False)
    with kymograph.span("first session"):
        kymograph.stop()
        kymograph.start(capture_path, calls=False)
        kymograph.instant("second session")
    kymograph.stop()

    assert story(read()) == [("instant", "second session")]


def test_counters_keep_their_values(record: Record, read: Read) -> None:
    values = [0, 1, -1, 2**53, 0.1, -1e300, math.inf, True]

    with record():
        for value in values:
            kymograph.counter("depth", value)

    events = read()
    assert story(events) == [("counter", "depth")] * len(values)
    assert [event.value for event in events] == [float(value) for value in values]


def test_a_counter_may_be_not_a_number(record: Record, read: Read) -> None:
    with record():
        kymograph.counter("depth", math.nan)

    (event,) = read()
    assert math.isnan(event.value)


def test_flows_and_async_spans_keep_their_ids(record: Record, read: Read) -> None:
    with record():
        kymograph.flow_out("request", 7)
        kymograph.flow_in("request", 7)
        kymograph.async_begin("download", 2**64 - 1)
        kymograph.async_end("download", 2**64 - 1)

    assert [(event.kind, event.name, event.id) for event in read()] == [
        ("flow_out", "request", 7),
        ("flow_in", "request", 7),
        ("async_begin", "download", 2**64 - 1),
        ("async_end", "download", 2**64 - 1),
    ]


def test_ids_are_taken_modulo_two_to_the_64(record: Record, read: Read) -> None:
    with record():
        kymograph.flow_out("hash", -1)
        kymograph.flow_in("hash", 2**64 + 3)

    assert [event.id for event in read()] == [2**64 - 1, 3]


def test_an_async_span_may_end_on_another_thread(record: Record, read: Read) -> None:
    with record():
        kymograph.async_begin("job", 1)
        thread = threading.Thread(target=kymograph.async_end, args=("job", 1))
        thread.start()
        thread.join()

    begin, end = read()
    assert (begin.kind, end.kind) == ("async_begin", "async_end")
    assert begin.thread != end.thread


def test_instants_are_in_the_order_of_time(record: Record, read: Read) -> None:
    with record():
        for i in range(1000):
            kymograph.instant(f"instant {i}")

    events = read()
    assert [event.name for event in events] == [f"instant {i}" for i in range(1000)]
    times = [event.time for event in events]
    assert times == sorted(times)


def test_equal_names_have_equal_keys(record: Record, read: Read) -> None:
    with record():
        kymograph.instant("same")
        kymograph.instant("".join(["sa", "me"]))
        kymograph.instant("other")

    first, second, third = read()
    assert first.key == second.key != third.key


def test_many_records_of_one_thread_all_arrive(record: Record, capture_path: Path) -> None:
    count = 200_000

    with record():
        for i in range(count):
            kymograph.counter("i", i)

    with kymograph.open(capture_path) as capture:
        assert sum(event.value == i for i, event in enumerate(capture.events())) == count
        assert (capture.info.records, capture.info.lost_records) == (count, 0)


def test_nothing_is_recorded_without_a_session() -> None:
    kymograph.instant("unheard")
    kymograph.counter("unheard", 1)
    kymograph.flow_out("unheard", 1)
    kymograph.async_begin("unheard", 1)
    kymograph.metadata("unheard", "of")
    with kymograph.span("unheard"):
        assert not kymograph.running()


@pytest.mark.parametrize("recording", [False, True])
def test_arguments_of_the_wrong_type_raise_whether_recording_or_not(
    record: Record, recording: bool
) -> None:
    calls: list[tuple[object, ...]] = [
        (kymograph.span, 1),
        (kymograph.instant, None),
        (kymograph.instant, b"bytes"),
        (kymograph.counter, "name"),
        (kymograph.counter, "name", "value"),
        (kymograph.counter, 1, 1),
        (kymograph.flow_out, "name", 1.0),
        (kymograph.flow_in, "name"),
        (kymograph.async_begin, "name", "id"),
        (kymograph.async_end, "name", 1, 2),
        (kymograph.thread_name, 1),
        (kymograph.process_name, b"name"),
        (kymograph.metadata, 1, "value"),
    ]
    if recording:
        with record():
            check_type_errors(calls)
    else:
        check_type_errors(calls)


def check_type_errors(calls: list[tuple[object, ...]]) -> None:
    for function, *arguments in calls:
        with pytest.raises(TypeError):
            function(*arguments)  # type: ignore[operator]


def test_a_span_cannot_be_entered_twice_at_once() -> None:
    span = kymograph.span("once")

    with span, pytest.raises(RuntimeError, match="open already"), span:
        pass

    with span:  # it is free again
        pass
