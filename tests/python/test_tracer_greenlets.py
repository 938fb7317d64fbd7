"""Threads that switch between greenlets: each greenlet's calls nest in themselves."""

from __future__ import annotations

import random
import subprocess
import sys
import sysconfig
import threading
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from traced import BUDGETS, Trace, Traced, read_trace

import kymograph

greenlet = pytest.importorskip(
    "greenlet", reason="greenlet is not installed: GREENLETS ARE NOT TESTED"
)

if sysconfig.get_config_var("Py_GIL_DISABLED") and sys.version_info < (3, 14):
    pytest.skip(
        "greenlet itself crashes in a free-threaded Python 3.13: GREENLETS ARE NOT TESTED",
        allow_module_level=True,
    )

OPTIONS = pytest.mark.parametrize(
    "options",
    [{}, {"c_calls": False}, {"max_depth": 6}],
    ids=["c", "python", "depth"],
)


def calls(trace: Trace) -> Counter[str]:
    """How often each function was called; what goes on after a switch is no call."""
    return Counter(
        event.name.rpartition(".")[2]
        for event in trace.events
        if event.kind == "enter" and event.detail == "call"
    )


def stress(seed: int, steps: int) -> tuple[Callable[[], None], Counter[str]]:
    """A program that switches at every depth, through C calls, generators and exceptions."""
    chance = random.Random(seed)
    count: Counter[str] = Counter()

    def leaf() -> None:
        count["leaf"] += 1

    def gen(n: int) -> Any:
        count["gen"] += 1
        for i in range(n):
            leaf()
            hub.switch()
            yield i

    def deep(n: int, how: int) -> int:
        count["deep"] += 1
        if n == 0:
            hub.switch()
            leaf()
            return 1
        if how == 0:
            return deep(n - 1, how)
        if how == 1:
            return sorted([0], key=lambda v: deep(n - 1, 0))[0]
        if how == 2:
            return next(map(deep, [n - 1], [1]))
        return int(max(gen(2), default=0)) + deep(n - 1, chance.randrange(4))

    def body() -> None:
        count["body"] += 1
        for _ in range(5):
            deep(chance.randrange(1, 25), chance.randrange(4))
            hub.switch()
            if chance.random() < 0.05:
                raise ValueError

    hub = greenlet.getcurrent()

    def program() -> None:
        live: list[Any] = []
        for _ in range(steps):
            if len(live) < 20 and chance.random() < 0.3:
                live.append(greenlet.greenlet(body))
            if not live:
                continue
            chosen = chance.choice(live)
            try:
                chosen.switch()
            except ValueError:
                pass
            if chosen.dead or chance.random() < 0.01:
                live.remove(chosen)  # its end is an exception inside it
            del chosen
        while live:
            live.pop()

    return program, count


@pytest.mark.parametrize("options", [{}, {"c_calls": False}], ids=["c", "python"])
@pytest.mark.parametrize("seed", range(4))
def test_every_call_is_recorded_and_nests_in_its_own_greenlet(
    traced: Traced, options: dict[str, Any], seed: int
) -> None:
    program, count = stress(seed, 500)

    found = calls(traced(program, **options))

    assert {name: found[name] for name in count} == count


@pytest.mark.parametrize("c_calls", [True, False])
def test_calls_are_recorded_where_another_profile_function_is_set(
    traced: Traced, c_calls: bool
) -> None:
    program, count = stress(5, 300)

    def profiled() -> None:
        sys.setprofile(lambda *event: None)
        try:
            program()
        finally:
            sys.setprofile(None)

    found = calls(traced(profiled, c_calls=c_calls))

    assert {name: found[name] for name in count} == count


@pytest.mark.parametrize(
    "options",
    [
        pytest.param(
            {"overhead": 0.05},
            id="budget",
            marks=pytest.mark.skipif(not BUDGETS, reason="no overhead budget on 3.11.0 to 3.11.3"),
        ),
        pytest.param({"max_depth": 6}, id="depth"),
    ],
)
def test_within_a_budget_and_a_depth_limit_calls_nest(
    traced: Traced, options: dict[str, Any]
) -> None:
    program, _ = stress(6, 500)

    traced(program, **options)  # which checks it


def test_no_time_counts_for_two_greenlets(traced: Traced) -> None:
    def first() -> None:
        main.switch()

    def second() -> None:
        inner()
        main.switch()

    def inner() -> None:
        pass

    def program() -> None:
        one, two = greenlet.greenlet(first), greenlet.greenlet(second)
        one.switch()
        two.switch()
        one.switch()
        two.switch()

    main = greenlet.getcurrent()
    trace = traced(program, c_calls=False)

    slices = {name: [(c.entered, c.left) for c in trace.find(name)] for name in ("first", "second")}
    assert slices == {
        "first": [("call", "yield"), ("resume", "return")],
        "second": [("call", "yield"), ("resume", "return")],
    }
    assert all(not call.calls for call in trace.find("first"))
    assert [call.plain for part in trace.find("second") for call in part.calls] == ["inner"]
    assert len([c for c in trace.find("program") if c.entered == "call"]) == 1


def test_greenlets_that_began_before_the_session_have_their_calls(traced: Traced) -> None:
    def outer() -> None:
        main.switch()
        later()
        main.switch()

    def later() -> None:
        pass

    def program() -> None:
        green.switch()
        green.switch()

    main = greenlet.getcurrent()
    green = greenlet.greenlet(outer)
    green.switch()
    trace = traced(program, c_calls=False)

    told, last = trace.find("outer")
    assert (told.entered, told.left) == ("open", "yield")
    assert [call.plain for call in told.calls] == ["later"]
    assert last.entered == "resume"
    assert last.left in ("return", "yield")  # the end of a frame that was open may not be reported


def test_calls_nest_after_a_pause_in_which_greenlets_went_on(capture_path: Path) -> None:
    def body() -> None:
        for _ in range(6):
            step()

    def step() -> None:
        main.switch()

    main = greenlet.getcurrent()
    kymograph.start(capture_path)
    greens = [greenlet.greenlet(body) for _ in range(3)]
    for turn in range(6):
        if turn == 2:
            kymograph.pause()
        if turn == 4:
            kymograph.resume()
        for green in greens:
            green.switch()
    for green in greens:
        green.switch()
    kymograph.stop()

    read_trace(capture_path)  # which checks it


def test_threads_have_greenlets_of_their_own(traced: Traced) -> None:
    def work() -> None:
        def body() -> None:
            for _ in range(20):
                leaf()
                main.switch()

        main = greenlet.getcurrent()
        greens = [greenlet.greenlet(body) for _ in range(3)]
        while any(not green.dead for green in greens):
            for green in greens:
                green.switch()

    def leaf() -> None:
        pass

    def program() -> None:
        threads = [threading.Thread(target=work) for _ in range(3)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    assert calls(traced(program))["leaf"] == 180


def test_the_programs_own_trace_function_is_called_and_left_in_place(capture_path: Path) -> None:
    seen: list[str] = []

    def mine(event: str, args: Any) -> None:
        seen.append(event)

    before = greenlet.settrace(mine)
    try:
        kymograph.start(capture_path)
        green = greenlet.greenlet(lambda: None)
        green.switch()
        kymograph.stop()

        assert seen == ["switch", "switch"]
        assert greenlet.gettrace() is mine
    finally:
        greenlet.settrace(before)


def test_nothing_is_left_behind(traced: Traced) -> None:
    traced(lambda: greenlet.greenlet(lambda: None).switch())

    assert greenlet.gettrace() is None


def test_a_program_that_takes_the_trace_function_away_runs_on(tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(
        "import greenlet, sys, kymograph\n"
        "def leaf(): pass\n"
        "def deep(n):\n"
        "    if n: return sorted([n], key=lambda v: deep(n - 1))\n"
        "    leaf(); hub.switch(); leaf()\n"
        "def body(n):\n"
        "    for i in range(50): deep((n + i) % 17)\n"
        "hub = greenlet.getcurrent()\n"
        "for c_calls in (True, False):\n"
        "    kymograph.start(sys.argv[1], c_calls=c_calls)\n"
        "    greenlet.settrace(None)\n"
        "    greens = [greenlet.greenlet(body) for _ in range(10)]\n"
        "    for n, green in enumerate(greens): green.switch(n)\n"
        "    for _ in range(50):\n"
        "        for green in greens: green.switch(); leaf()\n"
        "    kymograph.stop()\n"
        "print('fine')\n"
    )

    done = subprocess.run(
        [sys.executable, str(program), str(tmp_path / "a.kymo")], capture_output=True, timeout=400
    )

    assert (done.returncode, done.stdout) == (0, b"fine\n"), done.stderr


# ---- lanes


def test_a_greenlet_has_a_lane_with_the_time_it_does_not_run(traced: Traced) -> None:
    def body(times: int) -> None:
        for _ in range(times):
            main.switch()

    def program() -> None:
        greens = [greenlet.greenlet(body) for _ in range(3)]
        for times, green in enumerate(greens):
            green.switch(times)
        for _ in range(2):
            for green in greens:
                if not green.dead:
                    green.switch()

    main = greenlet.getcurrent()
    trace = traced(program)

    found: dict[int, list[str]] = {}
    for event in trace.events:
        if event.kind.startswith("async"):
            word = f"{event.name.rpartition('.')[2]} {event.kind.removeprefix('async_')}"
            found.setdefault(event.id, []).append(word)
    away = ["switched out begin", "switched out end"]
    assert list(found.values()) == [["body begin", *away * n, "body end"] for n in range(3)]


@pytest.mark.parametrize(
    "c_calls",
    [
        True,
        pytest.param(
            False,
            marks=pytest.mark.skipif(
                sys.version_info < (3, 12), reason="the ends of frames open then may be missing"
            ),
        ),
    ],
)
def test_calls_nest_again_after_the_program_has_replaced_the_trace_function(
    traced: Traced, c_calls: bool
) -> None:
    seen: list[str] = []

    def first() -> None:
        for _ in range(4):
            main.switch()

    def second() -> None:
        for _ in range(4):
            leaf()
            main.switch()

    def leaf() -> None:
        pass

    def mine(event: str, args: Any) -> None:
        seen.append(event)

    def program() -> None:
        greenlet.settrace(mine)
        one, two = greenlet.greenlet(first), greenlet.greenlet(second)
        for _ in range(4):
            one.switch()
            two.switch()
        greenlet.settrace(None)

    main = greenlet.getcurrent()
    try:
        trace = traced(program, c_calls=c_calls)
    finally:
        greenlet.settrace(None)

    assert len(seen) == 16
    inside = [call.plain for part in trace.find("first") for call in part.calls]
    assert "leaf" not in inside and "second" not in inside


@pytest.mark.parametrize("c_calls", [True, False])
def test_a_greenlet_at_the_address_of_one_that_ended_is_another(
    capture_path: Path, c_calls: bool
) -> None:
    def ends() -> None:
        main.switch()

    def outer() -> None:
        main.switch()
        later()
        main.switch()

    def later() -> None:
        pass

    def switch_twice(greens: list[Any]) -> None:
        for green in [*greens, *greens]:
            green.switch()

    main = greenlet.getcurrent()
    for _ in range(5):
        greens = [greenlet.greenlet(ends) for _ in range(20)]
        with kymograph.trace(capture_path, c_calls=c_calls):
            switch_twice(greens)
        greens.clear()
        greens += [greenlet.greenlet(outer) for _ in range(20)]  # some at the same places
        for green in greens:
            green.switch()
        with kymograph.trace(capture_path, c_calls=c_calls):
            switch_twice(greens)
        trace = read_trace(capture_path)

        assert len(trace.find("outer")) == 40
