"""The tasks of asyncio: their lanes, their waits, and the arrows between them."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import sys
import time
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
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
            what = plain.partition(" ")[0]  # "await", or "ready"
            open_now[event.id].append(f"{what} {event.kind.removeprefix('async_')}")
    return found


def is_life(event: kymograph.Event, name: str) -> bool:
    """Does the lane of a task of NAME begin?"""
    return event.kind == "async_begin" and event.name.rpartition(".")[2] == name


READY = ["ready begin", "ready end"]
WAIT = ["await begin", "await end", *READY]


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

    assert lanes(trace, "nap") == [["begin", *READY, *WAIT * n, "end"] for n in (2, 1, 0)]
    assert len(lanes(trace, "main")) == 1


@EVERY_WAY
def test_arrows_lead_to_a_task_and_to_its_awaiter(traced: Traced, options: dict[str, Any]) -> None:
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

    assert lanes(trace, "nap") == [["begin", *READY, *WAIT * n, "end"] for n in (2, 1)]


@pytest.mark.skipif(not kymograph._core.trace_can_throttle(), reason="3.11.0 to 3.11.3 cannot")
@EVERY_WAY
@pytest.mark.timing
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
    assert lanes(trace, "nap") == [["begin", *READY, *WAIT, "end"]] * 10
    # It is called seldom, but the program does little else than wait: it may go, too.
    found = lanes(trace, "long")
    whole = [lane for lane in found if lane == ["begin", *READY, *WAIT * 2, "end"]]
    assert whole and found[: len(whole)] == whole
    assert all(lane[0] == "begin" and lane[-1] == "end" for lane in found)


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
    assert never_ran in (["begin", "ready begin"], ["begin", *READY, "end"])
    assert ran == [["begin", *READY, *WAIT, "end"]] * 30


def test_a_create_task_of_the_program_makes_no_lanes(traced: Traced) -> None:
    class Loop:
        def create_task(self) -> str:
            return "none"

    trace = traced(lambda: Loop().create_task())

    assert not [e for e in trace.events if e.kind.startswith(("async", "flow"))]


# ---- ids


def test_ids_of_generators_are_never_used_again(traced: Traced) -> None:
    def numbers() -> Iterator[int]:
        yield 1
        yield 2

    def program() -> None:
        for _ in range(300):
            list(numbers())

    slices = [call for call in traced(program).calls() if call.plain == "numbers"]

    assert len({call.id for call in slices}) == 300
    assert all(n == 3 for n in Counter(call.id for call in slices).values())


def test_many_generators_keep_their_ids_side_by_side(traced: Traced) -> None:
    def numbers() -> Iterator[int]:
        yield 1
        yield 2

    def program() -> None:
        alive = [numbers() for _ in range(10_000)]
        for _ in range(3):
            for generator in alive:
                next(generator, None)

    slices = [call.id for call in traced(program, c_calls=False).calls() if call.plain == "numbers"]

    assert set(Counter(slices).values()) == {3}
    assert len(set(slices)) == 10_000


def both_ends(trace: Trace) -> tuple[Counter[tuple[str, int]], Counter[tuple[str, int]]]:
    out, into = (
        Counter((e.name, e.id) for e in trace.events if e.kind == kind)
        for kind in ("flow_out", "flow_in")
    )
    return out, into


@pytest.mark.parametrize("together", [False, True])
def test_each_arrow_that_begins_ends_once(traced: Traced, together: bool) -> None:
    async def work() -> None:
        await asyncio.sleep(0)

    async def creator() -> None:
        await asyncio.create_task(work())

    async def cancelled() -> None:
        task = asyncio.create_task(work())
        task.cancel()  # before it ran
        with contextlib.suppress(asyncio.CancelledError):
            await task

    async def main() -> None:
        for _ in range(50):
            await creator()
        await cancelled()
        if together:
            await asyncio.gather(*[creator() for _ in range(50)])

    trace = traced(run(main))
    out, into = both_ends(trace)

    assert out == into
    assert set(out.values()) == {1}
    assert sum(name == "await" for name, _ in out) >= 50


def test_ids_of_tasks_are_never_used_again(traced: Traced) -> None:
    async def work() -> None:
        await asyncio.sleep(0)

    async def main() -> None:
        for _ in range(100):
            await asyncio.create_task(work())

    trace = traced(run(main))

    begun = [e.id for e in trace.events if is_life(e, "work")]
    slices = {call.id for call in trace.find("work")}
    assert len(set(begun)) == len(begun) == 100
    assert slices == set(begun)


# ---- waits: what for, where, for how long


def waits(trace: Trace, name: str) -> list[tuple[str, int]]:
    """What the tasks of the coroutine NAME awaited: names, and lines from its first one."""
    tasks = {e.id: e.line for e in trace.events if is_life(e, name)}
    return [
        (e.name, e.line - tasks[e.id])
        for e in trace.events
        if e.kind == "async_begin" and e.name.startswith("await") and e.id in tasks
    ]


def test_a_wait_has_the_name_of_what_is_awaited_and_the_line(traced: Traced) -> None:
    async def child() -> None:
        await asyncio.sleep(0.001)

    async def parent() -> None:
        await child()
        await asyncio.gather(child(), child())
        task = asyncio.create_task(child())
        await task
        await asyncio.get_running_loop().run_in_executor(None, time.sleep, 0.001)
        queue: asyncio.Queue[int] = asyncio.Queue()
        asyncio.get_running_loop().call_soon(queue.put_nowait, 1)
        await queue.get()

    trace = traced(run(parent))

    assert waits(trace, "parent") == [
        ("await child", 1),
        ("await gather", 2),
        ("await child", 4),
        ("await Future", 5),
        ("await Queue.get" if sys.version_info >= (3, 11) else "await get", 8),
    ]
    assert waits(trace, "child") == [("await sleep", 1)] * 3
    files = {e.file for e in trace.events if e.name == "await sleep"}
    assert files == {__file__}


def test_without_the_standard_library_a_wait_still_has_its_place(traced: Traced) -> None:
    async def parent() -> None:
        await asyncio.sleep(0.001)
        await asyncio.sleep(0)

    trace = traced(run(parent), stdlib=False, c_calls=False)

    assert [line for _, line in waits(trace, "parent")] == [1, 2]


@EVERY_WAY
def test_time_in_which_a_task_is_ready_is_apart_from_its_wait(
    traced: Traced, options: dict[str, Any]
) -> None:
    async def waiter(future: asyncio.Future[None]) -> None:
        await future

    async def main() -> None:
        future = asyncio.get_running_loop().create_future()
        task = asyncio.create_task(waiter(future))
        await asyncio.sleep(0)  # until it waits
        await asyncio.sleep(0.02)
        future.set_result(None)
        time.sleep(0.02)  # it could run, but the loop is busy
        await task

    trace = traced(run(main), **options)

    (lane,) = [e.id for e in trace.events if is_life(e, "waiter")]
    spans: dict[str, list[int]] = {"await": [], "ready": []}
    for event in trace.events:
        if event.kind.startswith("async") and event.id == lane:
            spans.setdefault(event.name.split()[0], []).append(event.time)
    waited, ready = spans["await"], spans["ready"]
    assert len(waited) == 2 and len(ready) == 4
    assert waited[1] <= ready[2]
    assert waited[1] - waited[0] >= 19_000_000
    assert ready[3] - ready[2] >= 20_000_000


@EVERY_WAY
@pytest.mark.parametrize("how", ["gather", "wait", "group", "wait_for"])
def test_arrows_lead_from_each_member_of_a_group_to_who_waits(
    traced: Traced, options: dict[str, Any], how: str
) -> None:
    if how == "group" and sys.version_info < (3, 11):
        pytest.skip("task groups are new in 3.11")

    async def main() -> None:
        naps = [asyncio.create_task(nap(n)) for n in (1, 3, 2)]
        if how == "gather":
            await asyncio.gather(*naps)
        elif how == "wait":
            await asyncio.wait(naps)
        elif how == "wait_for":
            await asyncio.wait_for(naps[1], 60)
        else:
            async with asyncio.TaskGroup() as group:  # type: ignore[attr-defined]
                for n in range(3):
                    group.create_task(nap(n + 1))

    trace = traced(run(main), **options)

    out, into = both_ends(trace)
    assert out == into and set(out.values()) == {1}
    count = 1 if how == "wait_for" else 3
    assert arrows(trace, "await") == [("nap", "main")] * count


@EVERY_WAY
def test_an_arrow_leads_from_the_task_that_wakes_another(
    traced: Traced, options: dict[str, Any]
) -> None:
    async def asks() -> None:
        await queue.get()

    async def main() -> None:
        global queue
        queue = asyncio.Queue()
        task = asyncio.create_task(asks())
        await asyncio.sleep(0)
        await queue.put(1)
        await task

    trace = traced(run(main), **options)

    assert arrows(trace, "wake") == [("main", "asks")]


queue: asyncio.Queue[int]


# ---- callbacks that block


def blocked(trace: Trace) -> list[tuple[str, float]]:
    """The callbacks that blocked a loop, with the seconds."""
    found = []
    for i, event in enumerate(trace.events):
        if event.kind == "instant" and event.name == "loop blocked":
            callback, length = trace.events[i + 1 : i + 3]
            found.append((callback.text.rpartition("<locals>.")[2], length.id / 1e9))
    return found


@pytest.mark.parametrize("options", [{}, {"c_calls": False, "stdlib": False}], ids=["all", "own"])
def test_what_asyncio_calls_slow_is_what_blocked_the_loop(
    traced: Traced, options: dict[str, Any], caplog: pytest.LogCaptureFixture
) -> None:
    def callback() -> None:
        time.sleep(0.1)

    async def slow() -> None:
        await asyncio.sleep(0)
        time.sleep(0.1)

    async def main() -> None:
        loop = asyncio.get_running_loop()
        loop.set_debug(True)
        loop.slow_callback_duration = 0.02
        loop.call_soon(callback)
        await slow()
        await asyncio.create_task(slow())
        loop.set_debug(False)

    trace = traced(run(main), **options)

    told = sorted(
        float(record.args[1])  # type: ignore[index,arg-type]
        for record in caplog.records
        if record.name == "asyncio" and "took" in record.msg
    )
    found = [(name, length) for name, length in blocked(trace) if length >= 0.1]
    assert [name for name, _ in found] == ["callback", "main", "slow"]
    for ours, theirs in zip(sorted(length for _, length in found), told[-3:], strict=True):
        assert abs(ours - theirs) < 0.1


def test_a_c_function_that_blocks_is_named(traced: Traced) -> None:
    async def main() -> None:
        asyncio.get_running_loop().call_soon(time.sleep, 0.02)
        await asyncio.sleep(0)
        await asyncio.sleep(0)

    assert "sleep" in [name for name, _ in blocked(traced(run(main)))]


def test_short_callbacks_do_not_count_as_blocking(traced: Traced) -> None:
    async def main() -> None:
        for _ in range(100):
            await asyncio.sleep(0)

    found = blocked(traced(run(main)))

    assert all(length >= 0.01 for _, length in found)
    assert len(found) < 50
