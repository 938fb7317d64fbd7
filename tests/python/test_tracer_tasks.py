"""The tasks of asyncio: their lanes, their waits, and the arrows between them."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import sys
import time
import warnings
from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest
from traced import Trace, Traced

import kymograph

EVERY_WAY = pytest.mark.parametrize(
    "options",
    [{}, {"c_calls": False}, {"stdlib": False}, {"c_calls": False, "stdlib": False}],
    ids=["all", "python", "own", "own-python"],
)


def lanes(trace: Trace, name: str) -> list[list[str]]:
    """What happened in each lane named NAME, in order."""
    found: list[list[str]] = []
    open_now: dict[int, list[str]] = {}  # by id, which another task may get later
    for event in trace.events:
        plain = event.name.rpartition("<locals>.")[2]
        if event.kind == "async_begin" and plain == name:
            open_now[event.id] = ["begin"]
            found.append(open_now[event.id])
        elif event.kind == "async_end" and plain == name:
            open_now.pop(event.id).append("end")
        elif event.kind in ("async_begin", "async_end") and event.id in open_now:
            open_now[event.id].append(f"{plain} {event.kind.removeprefix('async_')}")
    return found


def arrows(trace: Trace, name: str) -> list[tuple[str, str]]:
    """From which call to which the arrows named NAME lead."""
    stacks: dict[int, list[str]] = {}
    starts: dict[int, str] = {}
    found = []
    for event in trace.events:
        stack = stacks.setdefault(event.thread, [])
        if event.kind == "enter":
            stack.append(event.name.rpartition("<locals>.")[2])
        elif event.kind == "leave":
            stack.pop()
        elif event.kind == "flow_out" and event.name == name:
            mine = [call for call in stack if call in ("main", "nap", "asks")]
            starts[event.id] = mine[-1] if mine else "asyncio"
        elif event.kind == "flow_in" and event.name == name:
            found.append((starts.pop(event.id), stack[-1]))
    return found


async def nap(n: int) -> None:
    for _ in range(n):
        await asyncio.sleep(0)


async def asks(task: asyncio.Task[None]) -> None:
    await task


def run(main: Callable[[], Any]) -> Callable[[], Any]:
    return lambda: asyncio.run(main())


@EVERY_WAY
def test_a_task_has_a_lane_with_its_waits(traced: Traced, options: dict[str, Any]) -> None:
    async def main() -> None:
        await asyncio.gather(asyncio.create_task(nap(2)), nap(1), nap(0))

    trace = traced(run(main), **options)

    wait = ["await begin", "await end"]
    assert lanes(trace, "nap") == [["begin", *wait * n, "end"] for n in (2, 1, 0)]
    assert len(lanes(trace, "main")) == 1


@EVERY_WAY
def test_arrows_lead_to_a_task_and_to_who_awaits_it(
    traced: Traced, options: dict[str, Any]
) -> None:
    async def main() -> None:
        await asks(asyncio.create_task(nap(1)))
        first = asyncio.create_task(nap(1))
        await asyncio.create_task(asks(first))

    trace = traced(run(main), **options)

    assert Counter(arrows(trace, "task"))["main", "nap"] == 2
    assert Counter(arrows(trace, "task"))["main", "asks"] == 1
    # The coroutine of the task goes on first; what it awaits itself follows.
    assert arrows(trace, "await") == [("nap", "main"), ("nap", "asks"), ("asks", "main")]


@EVERY_WAY
def test_a_lane_ends_with_its_task_however_that_ends(
    traced: Traced, options: dict[str, Any]
) -> None:
    async def fails() -> None:
        await asyncio.sleep(0)
        raise ValueError

    async def main() -> None:
        failing = asyncio.create_task(fails())
        cancelled = asyncio.create_task(nap(1000))
        await asyncio.sleep(0)
        cancelled.cancel()
        for task in (failing, cancelled):
            with contextlib.suppress(ValueError, asyncio.CancelledError):
                await task

    trace = traced(run(main), **options)

    assert [lane[-1] for lane in lanes(trace, "fails")] == ["end"]
    assert [lane[-1] for lane in lanes(trace, "nap")] == ["end"]


def test_tasks_of_a_derived_type_and_of_a_factory_have_lanes(traced: Traced) -> None:
    asked: list[object] = []

    class Task(asyncio.Task):  # type: ignore[type-arg]
        def get_coro(self) -> Any:
            asked.append(self)
            return super().get_coro()

        def done(self) -> bool:
            asked.append(self)
            return super().done()

    async def main() -> list[object]:
        loop = asyncio.get_running_loop()
        loop.set_task_factory(lambda loop, coro, **options: Task(coro, loop=loop, **options))
        naps = [asyncio.create_task(nap(1)) for _ in range(3)]
        while [task for task in naps if not asyncio.Task.done(task)]:
            await asyncio.sleep(0)
        return list(asked)

    trace = traced(run(main), c_calls=False)

    assert len(lanes(trace, "nap")) == 3
    assert trace.result == [], "code of the program ran"


@pytest.mark.skipif(sys.version_info < (3, 12), reason="eager tasks are new in 3.12")
@EVERY_WAY
def test_a_task_that_ends_as_it_is_made_leaves_nothing_open(
    traced: Traced, options: dict[str, Any]
) -> None:
    async def main() -> None:
        loop = asyncio.get_running_loop()
        loop.set_task_factory(asyncio.eager_task_factory)  # type: ignore[attr-defined]
        await asyncio.gather(*(asyncio.create_task(nap(n)) for n in (0, 1, 0)))

    trace = traced(run(main), **options)

    assert all(lane[-1] == "end" for lane in lanes(trace, "nap"))
    assert len(lanes(trace, "nap")) >= 1


@EVERY_WAY
def test_the_lanes_of_tasks_too_deep_to_be_recorded_are_whole(
    traced: Traced, options: dict[str, Any]
) -> None:
    async def main() -> None:
        await asyncio.gather(nap(2), nap(1))

    trace = traced(run(main), max_depth=2, **options)

    wait = ["await begin", "await end"]
    assert lanes(trace, "nap") == [["begin", *wait * n, "end"] for n in (2, 1)]


@pytest.mark.skipif(not kymograph._core.trace_can_throttle(), reason="3.11.0 to 3.11.3 cannot")
@EVERY_WAY
def test_the_lanes_of_a_coroutine_end_when_it_is_switched_off(
    traced: Traced, options: dict[str, Any]
) -> None:
    async def long() -> None:
        await asyncio.sleep(0)
        time.sleep(0.001)
        await asyncio.sleep(0)

    async def main() -> None:
        begun = [asyncio.create_task(nap(3)) for _ in range(10)]
        await asyncio.sleep(0)
        for _ in range(20_000):
            await nap(0)  # no task; soon it is switched off
        await asyncio.gather(*begun, *(nap(1) for _ in range(5)))
        for _ in range(20):
            await asyncio.create_task(long())

    trace = traced(run(main), overhead=0.02, gc=False, **options)

    assert "nap" in {e.name for e in trace.events if e.kind == "off"}
    wait = ["await begin", "await end"]
    assert lanes(trace, "nap") == [["begin", *wait, "end"]] * 10
    assert lanes(trace, "long") == [["begin", *wait * 2, "end"]] * 20


def test_a_task_at_the_place_of_one_that_never_ran_has_a_lane_of_its_own(traced: Traced) -> None:
    def program() -> None:
        unused = asyncio.new_event_loop()
        coroutine = nap(1)
        task = unused.create_task(coroutine)
        task._log_destroy_pending = False  # type: ignore[attr-defined]
        unused.close()
        del unused, coroutine, task
        gc.collect()
        asyncio.run(main())

    async def main() -> None:
        for _ in range(3):
            await asyncio.gather(*(asyncio.create_task(nap(1)) for _ in range(10)))

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        trace = traced(program, c_calls=False)

    never_ran, *ran = lanes(trace, "nap")
    assert never_ran in (["begin"], ["begin", "end"])
    assert ran == [["begin", "await begin", "await end", "end"]] * 30


def test_a_create_task_of_the_program_makes_no_lanes(traced: Traced) -> None:
    class Loop:
        def create_task(self) -> str:
            return "none"

    trace = traced(lambda: Loop().create_task())

    assert not [e for e in trace.events if e.kind.startswith(("async", "flow"))]
