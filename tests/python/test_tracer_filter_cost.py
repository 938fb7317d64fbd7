"""What filters leave out costs nothing: the interpreter is asked not to report it."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from traced import MONITORING, names

import kymograph

pytestmark = [
    pytest.mark.skipif(not MONITORING, reason="3.10 and 3.11 have no such switches"),
    pytest.mark.timing,
]

CALLS = 5000


def tiny(n: int) -> int:
    return n


class Counter:
    def add(self, n: int) -> int:
        return n


def c_calls() -> None:
    for _ in range(CALLS):
        len("four")


def python_calls() -> None:
    for n in range(CALLS):
        tiny(n)


def method_calls() -> None:
    counter = Counter()
    for n in range(CALLS):
        counter.add(n)


def instances() -> None:
    for _ in range(CALLS):
        Counter()


def least(loop: Callable[[], None]) -> int:
    times = []
    for _ in range(7):
        before = time.thread_time_ns()
        loop()
        times.append(time.thread_time_ns() - before)
    return min(times)


def slowdown(path: Path, loop: Callable[[], None], **options: Any) -> float:
    loop()
    plain = least(loop)
    kymograph.start(path, gc=False, **options)
    try:
        loop()
        filtered = least(loop)
    finally:
        kymograph.stop()
    return filtered / plain


def tries(path: Path, loop: Callable[[], None], **options: Any) -> Iterator[float]:
    """More than once: others use the processor, too."""
    for _ in range(6):
        yield slowdown(path, loop, **options)


LOOPS = pytest.mark.parametrize("loop", [c_calls, python_calls, method_calls, instances])


@LOOPS
def test_calls_of_a_function_that_is_left_out_cost_nothing(
    capture_path: Path, loop: Callable[[], None]
) -> None:
    assert any(ratio < 1.25 for ratio in tries(capture_path, loop, include=["nosuch"]))
    assert not names(capture_path)


@LOOPS
def test_calls_of_what_is_left_out_cost_nothing(
    capture_path: Path, loop: Callable[[], None]
) -> None:
    assert any(ratio < 1.25 for ratio in tries(capture_path, loop, include=[loop.__name__]))
    assert set(names(capture_path)) == {loop.__name__}


def test_a_place_that_calls_something_recorded_stays_on(capture_path: Path) -> None:
    def call(function: Callable[[str], object]) -> None:
        function("four")

    kymograph.start(capture_path, gc=False, include=["*call", "len"])
    call(len)
    for _ in range(1000):
        call(ord if False else repr)
    call(len)
    kymograph.stop()

    assert names(capture_path)["len"] == 2
