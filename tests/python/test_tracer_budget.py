"""An overhead budget: what is switched off, what is said of it, and that the rest stays exact."""

from __future__ import annotations

import contextlib
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from ran import execute, write
from traced import MONITORING, Trace, Traced, read_trace

import kymograph

CAN = kymograph._core.trace_can_throttle()
pytestmark = [
    pytest.mark.skipif(not CAN, reason="3.11.0 to 3.11.3 cannot"),
    pytest.mark.timing,  # what a budget allows follows from the time that a program takes
]
BUDGET = 0.02
WITH_AND_WITHOUT_C = pytest.mark.parametrize("c_calls", [True, False], ids=["c", "python"])


def tiny(n: int) -> int:
    return n + 1


def busy(calls: int) -> None:
    for n in range(calls):
        tiny(n)


def counting(calls: int) -> Iterator[int]:
    for n in range(calls):
        yield len("four") + n


def deep(n: int) -> int:
    return 1 + deep(n - 1) if n else 0


def failing() -> None:
    try:
        raise ValueError
    except ValueError:
        pass


@pytest.fixture
def room_to_recurse() -> Iterator[None]:
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(20_000)
    yield
    sys.setrecursionlimit(limit)


def entered(trace: Trace, name: str) -> int:
    return sum(e.kind == "enter" and e.name.endswith(name) for e in trace.events)


def off(trace: Trace) -> dict[str, int]:
    """What was switched off, with its calls until then."""
    found: Counter[str] = Counter()
    for event in trace.events:
        if event.kind == "off":
            found[event.name.rpartition("<locals>.")[2]] += event.id
    return found


@WITH_AND_WITHOUT_C
def test_the_tiniest_are_switched_off_and_the_rest_stays_exact(
    traced: Traced, c_calls: bool
) -> None:
    def program() -> None:
        for _ in range(30):
            busy(10_000)
            deep(20)

    trace = traced(program, overhead=BUDGET, c_calls=c_calls, gc=False)

    assert 0 < entered(trace, "tiny") < 30_000
    assert entered(trace, "busy") == 30
    assert entered(trace, "deep") == 30 * 21 or "deep" in off(trace)
    assert off(trace)["tiny"] > 0


@WITH_AND_WITHOUT_C
def test_functions_switched_off_say_how_often_they_were_called(
    traced: Traced, c_calls: bool
) -> None:
    trace = traced(lambda: busy(200_000), overhead=BUDGET, c_calls=c_calls, gc=False)

    # The call in which it was decided is recorded to its end, and is not over when it is said.
    assert entered(trace, "tiny") - off(trace)["tiny"] in (0, 1)
    (said,) = (e for e in trace.events if e.kind == "off" and e.name == "tiny")
    after = [e for e in trace.events if e.time > said.time and e.name == "tiny"]
    assert [e.kind for e in after] in ([], ["leave"], ["enter", "leave"])


@pytest.fixture
def any_share(monkeypatch: pytest.MonkeyPatch) -> None:
    """A budget may be more than the whole time, which users are not allowed to ask for."""
    monkeypatch.setattr(kymograph, "_share", lambda share: share)


@pytest.mark.usefixtures("any_share")
@WITH_AND_WITHOUT_C
def test_with_room_for_everything_nothing_is_switched_off(traced: Traced, c_calls: bool) -> None:
    trace = traced(lambda: busy(20_000), overhead=1000.0, c_calls=c_calls)

    assert off(trace) == {}
    assert entered(trace, "tiny") == 20_000


@pytest.mark.skipif(not MONITORING, reason="one by one since 3.12")
def test_c_calls_are_switched_off_by_place(traced: Traced) -> None:
    def often() -> None:
        for _ in range(1_000_000):
            len("four")

    def seldom() -> int:
        time.sleep(0.001)
        return len("five")

    def program() -> None:
        often()
        for _ in range(3):
            seldom()

    trace = traced(program, overhead=BUDGET, gc=False)

    recorded = entered(trace, "len")
    assert off(trace)["len"] > 0
    assert 3 < recorded < 500_000
    assert trace.find("seldom")[-1].calls[-1].name == "len"


@pytest.mark.skipif(MONITORING, reason="all together before 3.12")
def test_c_calls_are_switched_off_all_together(traced: Traced) -> None:
    def program() -> None:
        sum(counting(50_000))
        sorted([3, 1, 2], key=tiny)
        time.sleep(0)

    trace = traced(program, overhead=BUDGET, gc=False)

    said = off(trace)
    assert 0 < entered(trace, "len") < 20_000
    assert said["(all C calls)"] >= said["len"] > 0
    assert entered(trace, "sorted") == entered(trace, "sleep") == 0


@WITH_AND_WITHOUT_C
def test_every_kind_of_call_stays_nested(traced: Traced, c_calls: bool) -> None:
    """`traced` checks the nesting of all that was recorded."""

    def program() -> int:
        total = 0
        for _ in range(20):
            busy(2000)
            total += sum(counting(2000))
            total += deep(200)
            total += sorted(range(500), key=lambda n: -n)[0]
            for _ in range(500):
                failing()
        return total

    plain = program()
    trace = traced(program, overhead=BUDGET, c_calls=c_calls, gc=False)

    assert trace.result == plain
    assert off(trace)


@WITH_AND_WITHOUT_C
def test_every_thread_stays_nested(traced: Traced, c_calls: bool) -> None:
    def program() -> None:
        threads = [threading.Thread(target=lambda: (busy(30_000), deep(50))) for _ in range(4)]
        for thread in threads:
            thread.start()
        busy(30_000)
        for thread in threads:
            thread.join()

    trace = traced(program, overhead=BUDGET, c_calls=c_calls, gc=False)

    assert off(trace)["tiny"]
    assert entered(trace, "busy") == 5


def test_a_depth_limit_holds_within_a_budget(traced: Traced) -> None:
    def inner() -> None:
        busy(2000)

    def outer() -> None:
        inner()

    def program() -> None:
        for _ in range(50):
            outer()

    # The caller of `program`, this test and all around it count, too.
    trace = traced(program, overhead=BUDGET, c_calls=False, gc=False, max_depth=3)

    found = {call.plain for call in trace.calls()}
    assert {"program", "outer", "inner"} <= found
    assert "tiny" not in found and "busy" not in found


@WITH_AND_WITHOUT_C
def test_a_depth_limit_holds_after_exceptions_in_what_is_off(traced: Traced, c_calls: bool) -> None:
    def raising() -> None:
        raise ValueError

    def too_deep() -> None:
        pass

    def leaf() -> None:
        too_deep()

    def inner() -> None:
        for _ in range(3000):
            with contextlib.suppress(ValueError):
                raising()
        leaf()

    def program() -> None:
        for _ in range(5):
            inner()

    trace = traced(program, overhead=BUDGET, c_calls=c_calls, gc=False, max_depth=3)

    assert off(trace)["raising"]
    assert entered(trace, "leaf") == 5
    assert entered(trace, "too_deep") == 0


@pytest.mark.usefixtures("any_share")
def test_c_calls_too_deep_for_the_limit_do_not_count_twice(traced: Traced) -> None:
    def inner(calls: int) -> None:
        for _ in range(calls):
            len("four")

    def outer() -> None:
        inner(100)
        sorted([3, 1, 2], key=tiny)
        inner(1)

    def program() -> None:
        for _ in range(50):
            outer()

    trace = traced(program, overhead=1000.0, gc=False, max_depth=3)

    assert entered(trace, "outer") == 50
    assert entered(trace, "inner") == 100
    assert entered(trace, "len") == entered(trace, "tiny") == 0


@WITH_AND_WITHOUT_C
def test_after_a_pause_what_is_off_stays_off(capture_path: Path, c_calls: bool) -> None:
    kymograph.start(capture_path, overhead=BUDGET, c_calls=c_calls, gc=False)
    busy(100_000)
    kymograph.pause()
    busy(1000)
    kymograph.resume()
    busy(20_000)
    kymograph.stop()

    trace = read_trace(capture_path)
    assert entered(trace, "tiny") < 50_000
    assert entered(trace, "busy") == 2


@WITH_AND_WITHOUT_C
def test_the_next_session_begins_with_everything(capture_path: Path, c_calls: bool) -> None:
    kymograph.start(capture_path, overhead=BUDGET, c_calls=c_calls)
    busy(100_000)
    kymograph.stop()
    kymograph.start(capture_path, c_calls=c_calls)
    busy(1000)
    len("four")
    kymograph.stop()

    trace = read_trace(capture_path)
    assert off(trace) == {}
    assert entered(trace, "tiny") == 1000
    assert entered(trace, "len") == int(c_calls)


def test_functions_that_are_off_cost_a_fraction(capture_path: Path) -> None:
    def least(function: Callable[[], object]) -> int:
        times = []
        for _ in range(5):
            before = time.thread_time_ns()
            function()
            times.append(time.thread_time_ns() - before)
        return min(times)

    def cost(**options: Any) -> int:
        kymograph.start(capture_path, gc=False, **options)
        try:
            busy(20_000)  # what is to go is switched off by now
            return least(lambda: busy(20_000))
        finally:
            kymograph.stop()

    # More than once: others use the processor, too.
    assert any(cost(overhead=BUDGET) < cost() * 0.7 for _ in range(5))


def test_run_and_report_mention_the_budget(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    write(
        "busy.py",
        """
        def tiny(n):
            return n + 1
        for n in range(200_000):
            tiny(n)
        print("done")
        """,
    )
    kymo_command = [sys.executable, "-m", "kymograph"]

    done = execute(*kymo_command, "run", "--overhead", "2%", "-o", "x.kymo", "busy.py")
    report = execute(*kymo_command, "report", "x.kymo")

    assert (done.returncode, done.stdout) == (0, "done\n")
    assert "switched off to stay within the overhead budget" in report.stdout
    assert "tiny" in report.stdout
    assert MONITORING or " (all C calls), " in report.stdout


@pytest.mark.parametrize("share", ["0", "-5%", "much", "2000%"])
def test_an_invalid_budget_is_one_line(share: str) -> None:
    done = execute(sys.executable, "-m", "kymograph", "run", f"--overhead={share}", "-c", "pass")

    assert done.returncode == 2
    assert done.stderr.count("\n") == 1 and "--overhead" in done.stderr


@WITH_AND_WITHOUT_C
def test_code_in_the_place_of_what_was_switched_off_is_recorded(
    traced: Traced, c_calls: bool
) -> None:
    places = set()

    def made(number: int) -> None:
        names: dict[str, Any] = {}
        exec(f"def hot{number}(n): return n", names)
        hot = names.pop(f"hot{number}")
        places.add(id(hot.__code__))
        for n in range(20_000):
            hot(n)

    def program() -> None:
        for number in range(5):
            made(number)

    trace = traced(program, overhead=BUDGET, c_calls=c_calls, gc=False)

    if len(places) == 5:
        pytest.skip("no code object has the place of another")
    assert "hot0" in off(trace)
    assert all(entered(trace, f"hot{number}") for number in range(5))


@pytest.mark.parametrize("others", [False, True], ids=["alone", "with-another-tool"])
def test_recursion_through_a_c_call_stays_nested(traced: Traced, others: bool) -> None:
    """The calls that are open when they are switched off have calls of the same place inside."""

    def through(n: int) -> int:
        for _ in range(20):
            len("four")
        return 1 + sum(map(through, [n - 1])) if n else 0

    def program() -> int:
        return sum(through(200) for _ in range(4))

    monitoring: Any = getattr(sys, "monitoring", None)
    if others and monitoring:  # then the interpreter keeps the switches of each place by tool
        monitoring.use_tool_id(0, "another")
        monitoring.set_local_events(0, through.__code__, monitoring.events.CALL)
    trace = traced(program, overhead=BUDGET, gc=False)
    if others and monitoring:
        monitoring.set_local_events(0, through.__code__, 0)
        monitoring.free_tool_id(0)

    assert trace.result == 800
    assert off(trace)


def program_with(inside: Callable[[], object]) -> Callable[[], None]:
    """One whose `hot` is called until it is switched off, and once more with INSIDE in it."""

    def hot(n: int) -> None:
        if n < 0:
            inside()

    def program() -> None:
        for n in range(20_000):
            hot(n)
        hot(-1)
        busy(1)

    return program


@WITH_AND_WITHOUT_C
def test_tracing_continues_inside_a_function_that_is_off(traced: Traced, c_calls: bool) -> None:
    """Its end is not recorded, and so it is not told as open either."""

    def again() -> None:
        kymograph.pause()
        kymograph.resume()
        tiny(1)

    trace = traced(program_with(again), overhead=BUDGET, c_calls=c_calls, gc=False)

    assert "hot" in off(trace)
    assert trace.only("busy").left == "return"
    assert trace.find("program")[-1].left == "return"


@WITH_AND_WITHOUT_C
def test_the_next_session_begins_inside_what_was_off(
    traced: Traced, capture_path: Path, c_calls: bool
) -> None:
    def next_session() -> None:
        kymograph.stop()
        kymograph.start(capture_path, c_calls=c_calls, gc=False)

    trace = traced(program_with(next_session), overhead=BUDGET, c_calls=c_calls, gc=False)

    assert str(trace.only("hot")) == "hot open>return"
    assert trace.only("busy").left == "return"


@WITH_AND_WITHOUT_C
def test_a_call_open_from_the_start_keeps_its_end(capture_path: Path, c_calls: bool) -> None:
    def hot(n: int) -> None:
        if n < 0:
            kymograph.start(capture_path, overhead=BUDGET, c_calls=c_calls, gc=False)
            for inner in range(20_000):
                hot(inner)

    def program() -> None:
        hot(-1)
        busy(1)

    program()
    tiny(0)  # without C calls the end of what was open shows at the next call
    kymograph.stop()

    trace = read_trace(capture_path)
    assert "hot" in off(trace)
    assert trace.find("hot")[0].left == "return"
    assert trace.only("program").left == "return"


@WITH_AND_WITHOUT_C
def test_a_call_open_on_another_thread_keeps_its_end(capture_path: Path, c_calls: bool) -> None:
    go = threading.Event()
    inside = threading.Event()

    def hot(wait: bool) -> None:
        if wait:
            inside.set()
            go.wait()

    def thread() -> None:
        hot(True)
        busy(1)

    other = threading.Thread(target=thread)
    other.start()
    inside.wait()
    kymograph.start(capture_path, overhead=BUDGET, c_calls=c_calls, gc=False)
    for _ in range(20_000):
        hot(False)
    go.set()
    other.join()
    kymograph.stop()

    trace = read_trace(capture_path)
    assert "hot" in off(trace)
    assert trace.only("busy").left == "return"


def test_a_c_call_of_a_frame_open_from_the_start_ends_with_it(capture_path: Path) -> None:
    def inner() -> None:
        kymograph.start(capture_path, overhead=BUDGET, gc=False)
        sorted(range(20_000), key=tiny)  # in which C calls are switched off before 3.12

    def program() -> None:
        inner()
        busy(1)

    program()
    kymograph.stop()

    trace = read_trace(capture_path)
    assert off(trace)
    assert trace.only("inner").left == trace.only("sorted").left == "return"


@pytest.mark.usefixtures("room_to_recurse")
def test_functions_switched_off_deep_in_a_recursion_stay_nested(traced: Traced) -> None:
    def down(n: int) -> int:
        if n:
            return 1 + down(n - 1)
        for _ in range(20_000):
            len("four")
        return 0

    def program() -> None:
        for _ in range(2):
            down(1500)
            busy(20_000)

    trace = traced(program, overhead=BUDGET, gc=False)

    assert off(trace)
    assert entered(trace, "busy") == 2


@pytest.mark.usefixtures("room_to_recurse")
@WITH_AND_WITHOUT_C
def test_calls_of_other_threads_stay_nested_when_one_is_deep(traced: Traced, c_calls: bool) -> None:
    is_deep, is_inside, is_back = (threading.Event() for _ in range(3))

    def down(n: int) -> int:
        if n:
            return 1 + down(n - 1)
        is_deep.set()
        is_inside.wait()
        return 0

    def inside() -> None:
        is_inside.set()
        is_back.wait()
        busy(20_000)
        deep(1500)

    def waits() -> None:
        is_deep.wait()
        inside()
        busy(1)

    def program() -> None:
        other = threading.Thread(target=waits)
        other.start()
        down(1500)
        is_back.set()
        other.join()

    trace = traced(program, overhead=BUDGET, c_calls=c_calls, gc=False)

    assert off(trace)
    assert trace.only("inside").left == trace.only("waits").left == "return"


@WITH_AND_WITHOUT_C
def test_time_in_which_the_program_waits_does_not_enlarge_the_budget(
    traced: Traced, c_calls: bool
) -> None:
    def program() -> None:
        for _ in range(12):
            busy(3000)
            time.sleep(0.05)

    trace = traced(program, overhead=BUDGET, c_calls=c_calls, gc=False)

    assert off(trace)["tiny"]
    assert entered(trace, "tiny") < 25_000


def test_many_functions_that_are_each_called_seldom_are_switched_off(traced: Traced) -> None:
    names: dict[str, Any] = {}
    exec("\n".join(f"def seldom{n}(): pass" for n in range(1500)), names)
    functions = [names[f"seldom{n}"] for n in range(1500)]

    def program() -> None:
        for _ in range(60):
            for function in functions:
                function()

    trace = traced(program, overhead=BUDGET, gc=False)

    recorded = sum(e.kind == "enter" and e.name.startswith("seldom") for e in trace.events)
    assert recorded < 60 * 1500 / 3


def test_a_forked_child_does_not_inherit_the_budget(tmp_path: Path) -> None:
    write(
        str(tmp_path / "forks.py"),
        """
        import os, sys
        import kymograph
        def tiny():
            pass
        def work(n):
            for _ in range(n):
                tiny()
        kymograph.start("parent.kymo", overhead=0.01, sample=1)
        work(50)
        if os.fork() == 0:
            kymograph.start("child.kymo")
            work(50_000)
            kymograph.stop()
            with kymograph.open("child.kymo") as capture:
                kinds = [e.kind for e in capture.events() if e.name == "tiny"]
            print(kinds.count("enter"), kinds.count("off"), flush=True)
            os._exit(0)
        os.wait()
        kymograph.stop()
        """,
    )
    done = execute(sys.executable, "forks.py", cwd=tmp_path)

    assert (done.stdout, done.returncode) == ("50000 0\n", 0), done
