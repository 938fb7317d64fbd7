"""We are guests in the program: others trace too, and everything is left as it was found."""

from __future__ import annotations

import bdb
import cProfile
import gc
import os
import pstats
import sys
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from conftest import RunCode
from traced import MONITORING, Traced, read_trace

import kymograph

monitored = pytest.mark.skipif(not MONITORING, reason="sys.monitoring came with 3.12")
monitoring: Any = getattr(sys, "monitoring", None)


@pytest.fixture(autouse=True)
def clean() -> Iterator[None]:
    yield
    sys.setprofile(None)
    sys.settrace(None)
    threading.setprofile(None)


def leaf() -> None:
    # A line of its own: in a function of one line 3.13 reports the line only if somebody
    # listens for the start of the function.
    return


def work() -> int:
    for _ in range(10):
        leaf()
    return sum(map(int, "123"))


# ---- profile and trace functions


def test_a_profile_function_set_before_sees_what_it_would_see(traced: Traced) -> None:
    def seen_while(run: Callable[[], Any]) -> Counter[tuple[str, str]]:
        seen: Counter[tuple[str, str]] = Counter()

        def profile(frame: Any, event: str, arg: Any) -> None:
            name = arg.__name__ if event.startswith("c_") else frame.f_code.co_name
            seen[event, name] += 1

        sys.setprofile(profile)
        run()
        sys.setprofile(None)
        return seen

    alone = seen_while(work)
    with_us = seen_while(lambda: traced(work))

    assert {key: with_us[key] for key in alone if with_us[key] < alone[key]} == {}
    assert with_us["call", "leaf"] == alone["call", "leaf"] == 10
    assert with_us["return", "leaf"] == 10


def test_with_a_profile_function_of_somebody_else_python_calls_are_recorded(
    traced: Traced,
) -> None:
    sys.setprofile(lambda *_: None)

    result = traced(work)

    sys.setprofile(None)
    assert len(result.find("leaf")) == 10
    assert len(result.only("work").calls) >= 10


def test_the_profile_function_is_the_same_before_while_and_after(capture_path: Path) -> None:
    def profile(*_: Any) -> None: ...

    sys.setprofile(profile)
    kymograph.start(capture_path)
    during = sys.getprofile()
    kymograph.stop()
    after = sys.getprofile()
    sys.setprofile(None)

    assert (during, after) == (profile, profile)


def test_without_a_profile_function_there_is_none_while_tracing(capture_path: Path) -> None:
    kymograph.start(capture_path)
    during = sys.getprofile(), sys.gettrace()
    kymograph.stop()

    assert during == (None, None)
    assert (sys.getprofile(), sys.gettrace()) == (None, None)


def test_a_profile_function_may_come_and_go_while_tracing(traced: Traced) -> None:
    def program() -> int:
        seen = 0

        def profile(frame: Any, event: str, arg: Any) -> None:
            nonlocal seen
            seen += event == "call"

        def inside() -> None:
            sys.setprofile(profile)
            leaf()
            leaf()

        for _ in range(3):
            inside()
            leaf()
            sys.setprofile(None)
            leaf()
        return seen

    result = traced(program)

    assert result.result == 9
    assert len(result.find("leaf")) == 12
    assert len(result.find("inside")) == 3
    assert [call.plain for call in result.only("program").calls if call.line] == [
        "inside",
        "leaf",
        "leaf",
    ] * 3


def test_c_calls_that_are_open_when_a_profile_function_comes_or_goes_keep_their_place(
    capture_path: Path,
) -> None:
    def toggle(n: int) -> int:
        if n == 1:
            sys.setprofile(lambda *_: None)
        elif n == 2:
            sys.setprofile(None)
        return n

    def program() -> None:
        sorted(range(4), key=toggle)
        leaf()

    kymograph.start(capture_path)
    program()
    sys.setprofile(lambda *_: None)  # by a frame that was open before
    leaf()
    sys.setprofile(None)
    leaf()
    kymograph.stop()
    result = read_trace(capture_path)

    assert [call.plain for call in result.only("sorted").calls] == ["toggle"] * 4
    assert [call.plain for call in result.only("program").calls if call.line] == ["leaf"]
    assert [call.calls for call in result.find("setprofile")] == [[]] * len(
        result.find("setprofile")
    )
    assert len(result.find("leaf")) == 3


def test_a_trace_function_sees_what_it_would_see(traced: Traced) -> None:
    lines: list[int] = []

    def local(frame: Any, event: str, arg: Any) -> Any:
        if event == "line":
            lines.append(frame.f_lineno)
        return local

    def only_work(frame: Any, event: str, arg: Any) -> Any:
        return local if frame.f_code is work.__code__ else None

    def run() -> list[int]:
        lines.clear()
        sys.settrace(only_work)
        work()
        sys.settrace(None)
        return list(lines)

    alone = run()
    result = traced(run)

    assert result.result == alone
    assert len(result.find("leaf")) == 10


def test_a_debugger_may_stop_and_quit(traced: Traced) -> None:
    class Debugger(bdb.Bdb):
        stops = 0

        def user_line(self, frame: Any) -> None:
            self.stops += 1
            if self.stops > 8:
                self.set_quit()
            else:
                self.set_step()

    debugger = Debugger()

    def program() -> int:
        debugger.runcall(work)
        leaf()
        return debugger.stops

    result = traced(program)

    assert result.result == 9
    assert str(result.only("program").calls[-1]) == "leaf"


def test_cprofile_inside_counts_what_it_would_count(traced: Traced) -> None:
    def program() -> dict[str, int]:
        profiler = cProfile.Profile()
        profiler.runcall(work)
        leaf()
        stats: Any = pstats.Stats(profiler)
        return {name: stat[1] for (_, _, name), stat in stats.stats.items()}

    alone = program()
    result = traced(program)

    assert result.result == alone
    assert alone["leaf"] == 10
    assert len(result.find("leaf")) == 11


def test_cprofile_around_counts_what_it_would_count(capture_path: Path) -> None:
    profiler = cProfile.Profile()
    profiler.enable()
    kymograph.start(capture_path)
    work()
    kymograph.stop()
    work()
    profiler.disable()
    stats: Any = pstats.Stats(profiler)

    counts = {name: stat[1] for (_, _, name), stat in stats.stats.items()}
    assert counts["leaf"] == 20
    assert len(read_trace(capture_path).find("leaf")) == 10


def test_threading_setprofile_is_left_alone(traced: Traced) -> None:
    seen: Counter[str] = Counter()

    def profile(frame: Any, event: str, arg: Any) -> None:
        if event == "call":
            seen[frame.f_code.co_name] += 1

    def program() -> None:
        thread = threading.Thread(target=work)
        thread.start()
        thread.join()

    threading.setprofile(profile)
    result = traced(program)
    threading.setprofile(None)

    assert seen["leaf"] == 10
    assert len(result.find("leaf")) == 10


# ---- tools of sys.monitoring


@pytest.fixture
def tool() -> Iterator[Callable[[int], None]]:
    """`tool(id)`: somebody takes that id."""
    taken: list[int] = []

    def take(id: int) -> None:
        monitoring.use_tool_id(id, f"tool {id}")
        taken.append(id)

    yield take
    for id in taken:
        monitoring.set_events(id, 0)
        monitoring.free_tool_id(id)


def our_tool() -> list[int]:
    return [id for id in range(6) if monitoring.get_tool(id) == "kymograph"]


@monitored
def test_we_are_tool_4(capture_path: Path) -> None:
    kymograph.start(capture_path)
    during = our_tool()
    kymograph.stop()

    assert during == [4]
    assert our_tool() == []


@monitored
def test_where_4_is_taken_we_are_tool_3(tool: Callable[[int], None], capture_path: Path) -> None:
    tool(4)

    kymograph.start(capture_path)
    during = our_tool()
    work()
    kymograph.stop()

    assert during == [3]
    assert monitoring.get_tool(4) == "tool 4"
    assert len(read_trace(capture_path).find("leaf")) == 10


@monitored
def test_where_both_are_taken_start_says_so(
    tool: Callable[[int], None], capture_path: Path
) -> None:
    tool(4)
    tool(3)

    with pytest.raises(RuntimeError, match="3 and 4 are both taken"):
        kymograph.start(capture_path)

    assert not kymograph.running()
    assert not [x for x in gc.callbacks if "kymograph" in str(x)]
    assert (monitoring.get_tool(3), monitoring.get_tool(4)) == ("tool 3", "tool 4")


@monitored
def test_a_coverage_tool_sees_what_it_would_see(
    tool: Callable[[int], None], traced: Traced
) -> None:
    tool(1)
    events = monitoring.events
    seen: Counter[tuple[str, int]] = Counter()

    def on_line(code: Any, line: int) -> Any:
        seen[code.co_name, line] += 1
        return monitoring.DISABLE

    monitoring.register_callback(1, events.LINE, on_line)

    def run() -> Counter[tuple[str, int]]:
        seen.clear()
        monitoring.restart_events()
        monitoring.set_events(1, events.LINE)
        work()
        monitoring.set_events(1, 0)
        return Counter({k: n for k, n in seen.items() if k[0] in ("work", "leaf")})

    alone = run()
    result = traced(run)

    assert result.result == alone
    assert len(result.find("leaf")) == 10


@monitored
def test_what_another_tool_switched_off_stays_off(
    tool: Callable[[int], None], capture_path: Path
) -> None:
    tool(1)
    calls = 0

    def on_start(code: Any, offset: int) -> Any:
        nonlocal calls
        calls += code is leaf.__code__
        return monitoring.DISABLE

    monitoring.register_callback(1, monitoring.events.PY_START, on_start)
    monitoring.set_events(1, monitoring.events.PY_START)
    for _ in range(3):
        kymograph.start(capture_path)
        work()
        kymograph.stop()
    monitoring.set_events(1, 0)

    assert calls == 1


# ---- nothing remains


def test_after_stop_everything_is_as_before(capture_path: Path) -> None:
    def state() -> list[Any]:
        tools = [monitoring.get_tool(id) for id in range(6)] if monitoring else []
        events = [monitoring.get_events(id) for id in range(6) if tools[id]] if monitoring else []
        return [tools, events, list(gc.callbacks), sys.getprofile(), sys.gettrace(), gc.isenabled()]

    before = state()
    for c_calls in (True, False):
        kymograph.start(capture_path, c_calls=c_calls)
        work()
        kymograph.stop()
        assert state() == before


def test_gc_callbacks_of_others_stay(capture_path: Path) -> None:
    phases: list[str] = []

    def callback(phase: str, info: dict[str, int]) -> None:
        phases.append(phase)

    gc.callbacks.append(callback)
    try:
        kymograph.start(capture_path)
        gc.collect()
        kymograph.stop()
        gc.collect()
    finally:
        gc.callbacks.remove(callback)

    assert phases.count("start") == phases.count("stop") >= 2
    read_trace(capture_path)


def test_garbage_is_collected_while_open_frames_are_recorded(capture_path: Path) -> None:
    def down(n: int) -> None:
        if n:
            return down(n - 1)
        gc.set_threshold(10)
        kymograph.start(capture_path)
        leaf()

    thresholds = gc.get_threshold()
    try:
        down(500)
        kymograph.stop()
    finally:
        gc.set_threshold(*thresholds)

    assert len(read_trace(capture_path).find("down")) == 501


def test_emptying_gc_callbacks_while_tracing_is_harmless(capture_path: Path) -> None:
    before = list(gc.callbacks)
    kymograph.start(capture_path)
    gc.callbacks.clear()
    gc.collect()
    kymograph.stop()
    gc.callbacks[:] = before

    read_trace(capture_path)


# ---- audit hooks; they cannot be removed, so each has a process of its own

VETO = """
import sys, threading, kymograph
vetoed = sys.argv[2]
armed = False
def audit(event, args):
    if armed and event == vetoed:
        raise PermissionError(event)
sys.addaudithook(audit)
def leaf(): pass
"""


def test_an_audit_hook_that_says_no_stops_the_start(run_code: RunCode, tmp_path: Path) -> None:
    event = "sys.monitoring.register_callback" if MONITORING else "sys.setprofile"
    code = f"""{VETO}
armed = True
try:
    kymograph.start(sys.argv[1])
except PermissionError as error:
    assert str(error) == vetoed
else:
    raise SystemExit("it started")
assert not kymograph.running()
assert sys.getprofile() is None
armed = False
kymograph.start(sys.argv[1])
leaf()
kymograph.stop()
"""
    run_code(code, tmp_path / "t.kymo", event)

    assert len(read_trace(tmp_path / "t.kymo").find("leaf")) == 1


@pytest.mark.skipif(not kymograph._core.trace_can_throttle(), reason="3.11.0 to 3.11.3 cannot")
def test_a_session_after_a_start_that_failed_does_not_have_its_budget(
    run_code: RunCode, tmp_path: Path
) -> None:
    event = "sys.monitoring.register_callback" if MONITORING else "sys.setprofile"
    code = f"""{VETO}
from kymograph._calibration import costs
costs(True, True)
armed = True
try:
    kymograph.start(sys.argv[1], overhead=0.02)
except PermissionError:
    armed = False
kymograph.start(sys.argv[1])
for _ in range(10_000):
    leaf()
kymograph.stop()
"""
    run_code(code, tmp_path / "t.kymo", event)

    assert len(read_trace(tmp_path / "t.kymo").find("leaf")) == 10_000


def test_an_audit_hook_that_says_no_later_does_not_stop_the_stop(
    run_code: RunCode, tmp_path: Path
) -> None:
    event = "sys.monitoring.register_callback" if MONITORING else "sys.setprofile"
    code = f"""{VETO}
kymograph.start(sys.argv[1])
armed = True
thread = threading.Thread(target=leaf)
thread.start()
thread.join()
kymograph.stop()
leaf()
armed = False
kymograph.start(sys.argv[1] + "2")
leaf()
kymograph.stop()
"""
    run_code(code, tmp_path / "t.kymo", event)

    assert len(read_trace(tmp_path / "t.kymo").find("leaf")) == 1
    assert len(read_trace(tmp_path / "t.kymo2").find("leaf")) == 1


@pytest.mark.parametrize("c_calls", [True, False], ids=["c", "python"])
def test_frames_that_end_after_a_profile_function_was_removed(
    capture_path: Path, c_calls: bool
) -> None:
    go, inside = threading.Event(), threading.Event()

    def waits() -> None:
        inside.set()
        go.wait()
        sys.setprofile(None)

    def thread() -> None:
        waits()
        leaf()

    other = threading.Thread(target=thread, name="other")
    other.start()
    inside.wait()
    kymograph.start(capture_path, c_calls=c_calls)
    go.set()
    other.join()
    kymograph.stop()

    result = read_trace(capture_path)
    (call,) = result.find("leaf")
    assert any(call in caller.calls for caller in result.find("thread"))


# ---- other interpreters


def test_subinterpreters_are_not_disturbed(traced: Traced) -> None:
    interpreters: Any = None
    for name in ("_interpreters", "_xxsubinterpreters"):
        try:
            interpreters = __import__(name)
            break
        except ImportError:
            continue
    if not interpreters:
        pytest.skip("this Python has no subinterpreters")
    read, write = os.pipe()
    code = f"""
def leaf(): pass
for i in range(100):
    leaf()
import os
os.write({write}, str(sum(map(int, "123"))).encode())
"""

    def program() -> None:
        other = interpreters.create()
        try:
            leaf()
            run = getattr(interpreters, "exec", None) or interpreters.run_string
            run(other, code)
            leaf()
        finally:
            interpreters.destroy(other)

    result = traced(program)

    assert os.read(read, 10) == b"6"
    os.close(read)
    os.close(write)
    assert len([call for call in result.find("leaf") if call.file == __file__]) == 2
