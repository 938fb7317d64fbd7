"""What tracing costs is in the capture, and the report says what it did to the figures."""

from __future__ import annotations

import functools
import json
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import program
import pytest

import kymograph
from kymograph import _calibration

pytestmark = pytest.mark.timing
text_of = functools.partial(program.good, "report")
CAN = kymograph._core.trace_can_throttle()
FREE_THREADED = not getattr(sys, "_is_gil_enabled", lambda: True)()


def report(*arguments: object) -> dict[str, Any]:
    return json.loads(text_of("--json", *arguments))


def rows(found: dict[str, Any]) -> dict[str, dict[str, Any]]:
    return {row["name"]: row for row in found["functions"]}


def costs(path: Path) -> dict[str, float]:
    with kymograph.open(path) as capture:
        told = capture.metadata
    return {key: float(told[f"trace.{key}"]) for key in KEYS if f"trace.{key}" in told}


KEYS = ("python_call_ns", "python_call_inside_ns", "c_call_ns", "c_call_inside_ns")


def tiny(n: int) -> int:
    return n + 1


def many_calls(count: int) -> None:
    for n in range(count):
        tiny(n)


def c_calls(count: int) -> None:
    for _ in range(count):
        len("four")


def inline(count: int) -> int:
    total = 0
    for n in range(count):
        total = (total * 3 + n) % 1000003
    return total


def test_a_capture_says_what_a_recorded_call_costs(capture_path: Path) -> None:
    with kymograph.trace(capture_path):
        tiny(1)
    with_c = costs(capture_path)
    with kymograph.trace(capture_path, c_calls=False):
        tiny(1)
    without_c = costs(capture_path)
    with kymograph.trace(capture_path, calls=False):
        tiny(1)

    assert set(with_c) == set(KEYS)
    assert set(without_c) == set(KEYS[:2])
    assert costs(capture_path) == {}
    for found in (with_c, without_c):
        assert all(
            0 <= found[f"{kind}_inside_ns"] <= found[f"{kind}_ns"] < 50_000
            for kind in ("python_call", "c_call")
            if f"{kind}_ns" in found
        )


def test_its_cost_is_taken_out_of_caller_and_callee(capture_path: Path) -> None:
    calls = 5000
    with kymograph.trace(capture_path, gc=False):
        many_calls(calls)
        c_calls(calls)

    cost = costs(capture_path)
    found = report(capture_path)
    row = rows(found)
    python, inside = cost["python_call_ns"], cost["python_call_inside_ns"]

    def without(name: str, own: float) -> float:
        return pytest.approx(max(0.0, row[name]["self_ns"] - own), abs=2)

    assert row["tiny"]["corrected_self_ns"] == without("tiny", calls * inside)
    # `range` is a call, too.
    outside = calls * (python - inside)
    assert row["many_calls"]["corrected_self_ns"] == pytest.approx(
        max(0.0, row["many_calls"]["self_ns"] - outside), abs=2000
    )
    assert row["len"]["corrected_self_ns"] == without("len", calls * cost["c_call_inside_ns"])
    most = (calls + 9) * (python + cost["c_call_ns"]) * 1.01
    assert 0 < found["tracing_cost"]["own_ns"] <= most
    assert found["tracing_cost"]["corrected"] is False
    corrected = report("--corrected", capture_path)
    assert corrected["tracing_cost"]["corrected"] is True
    assert rows(corrected)["tiny"]["self_ns"] == row["tiny"]["corrected_self_ns"]
    assert corrected["time_in_calls_ns"] == pytest.approx(
        found["time_in_calls_ns"] - found["tracing_cost"]["own_ns"], abs=1000
    )


def test_a_recorded_call_costs_what_the_capture_says(capture_path: Path) -> None:
    """In CPU time: recorded times contain what other programs take of the processor."""

    def least(function: Callable[[int], None]) -> float:
        taken = []
        for _ in range(9):
            before = time.thread_time_ns()
            function(5000)
            taken.append(time.thread_time_ns() - before)
        return min(taken) / 5000

    def agrees() -> bool:
        _calibration.known.clear()  # it may have been measured at a bad moment
        plain = least(many_calls), least(c_calls)
        with kymograph.trace(capture_path, gc=False):
            traced = least(many_calls), least(c_calls)
        told = costs(capture_path)
        added = (traced[0] - plain[0], traced[1] - plain[1])
        ratios = (told["python_call_ns"] / added[0], told["c_call_ns"] / added[1])
        return all(0.5 < ratio < 2 for ratio in ratios)

    assert any(agrees() for _ in range(6))


def widest_of_header(text: str) -> int:
    """Of what follows the capture's path, which may be as long as it likes."""
    return max(len(line) for line in text.partition("\n\n")[0].splitlines()[1:])


def test_the_report_warns_when_tracing_distorts(capture_path: Path) -> None:
    for _ in range(20):  # what others take of the processor is in the times, too
        with kymograph.trace(capture_path, gc=False):
            many_calls(5000)
        if report(capture_path)["tracing_cost"]["own_share"] > 0.2:
            break

    text = text_of(capture_path)
    corrected = text_of("--corrected", capture_path)

    assert "of it is tracing cost; see --corrected" in text
    assert "small calls look too slow" in text
    assert "tracing cost subtracted; times are estimates" in corrected
    assert "look too slow" not in corrected
    assert widest_of_header(text) <= 80


def escaped(count: int) -> Iterator[str]:
    for n in range(count):
        yield str(n).replace("&", "&amp;")


@pytest.mark.skipif(not CAN, reason="3.11.0 to 3.11.3 cannot")
def test_time_in_calls_switched_off_is_not_their_callers_own(capture_path: Path) -> None:
    def joined() -> None:
        before = time.process_time()
        while time.process_time() - before < 1.0:
            "".join(escaped(20_000))

    kymograph.start(capture_path, overhead=0.02, gc=False)
    joined()
    kymograph.stop()

    found = report(capture_path)
    text = text_of(capture_path)
    assert found["samples"]["count"] > 20
    assert found["unrecorded_share"] > 0.5
    blamed = max(found["functions"], key=lambda row: row["self_ns"])
    assert blamed["unrecorded_ns"] > 0.5 * blamed["self_ns"]
    assert "is in calls that were not recorded" in text
    assert "Self time in calls that were not recorded" in text
    assert widest_of_header(text) <= 80
    assert text.index("Samples") < text.index("Functions by self time")


def test_all_time_is_a_functions_own_when_everything_is_recorded(capture_path: Path) -> None:
    def busy() -> None:
        before = time.process_time()
        while time.process_time() - before < 0.3:
            inline(20_000)

    kymograph.start(capture_path, sample=1000, gc=False)
    busy()
    kymograph.stop()

    assert report(capture_path)["unrecorded_share"] < 0.1
    assert "not recorded" not in text_of(capture_path)


@pytest.mark.skipif(FREE_THREADED, reason="there is no GIL to give up")
def test_measuring_the_cost_gives_other_threads_no_turn_inside_its_session(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    turns = 0
    counts = []
    done = False

    def wait_for_turns() -> None:
        nonlocal turns
        while not done:
            turns += 1
            time.sleep(0)  # other threads may run now

    def count(trial: Callable[..., Any]) -> Callable[..., Any]:
        def counted(*args: object) -> Any:
            before = turns
            result = trial(*args)
            counts.append(turns - before)
            return result

        return counted

    monkeypatch.setattr(_calibration._core, "trial", count(_calibration._core.trial))
    usual = sys.getswitchinterval()
    sys.setswitchinterval(1000)  # nobody has to give up the GIL
    thread = threading.Thread(target=wait_for_turns)
    thread.start()
    try:
        for _ in range(5):
            _calibration._measure(c_calls=True, with_budget=False)
    finally:
        done = True
        sys.setswitchinterval(usual)
        thread.join()

    assert counts == [0] * 5
    assert turns
