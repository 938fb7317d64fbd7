"""The asyncio tasks of a capture: what they awaited, and what blocked their event loops."""

from __future__ import annotations

from typing import NamedTuple

TYPE_CHECKING = False
if TYPE_CHECKING:
    from kymograph._core import Capture, Event


class Wait(NamedTuple):
    """One wait of a task. Times are nanoseconds, like those of events."""

    name: str
    """What it awaited: `"await sleep"`."""
    file: str
    """The file of that await, in the task's own coroutine."""
    line: int
    start: int
    end: int
    """When what it awaited was there: from then on the task was ready to run."""
    resumed: int
    """When the event loop ran the task again."""
    woken_by: int | None
    """The id of the task that ended, or did something, so that this one could go on."""


class Task(NamedTuple):
    """An asyncio task."""

    id: int
    name: str
    """The name of its coroutine function; so are file and line its place."""
    file: str
    line: int
    created: int
    ended: int | None
    """None if it had not ended when the recording did."""
    waits: tuple[Wait, ...]
    waited_ns: int
    ready_ns: int
    """How long it could have run while the event loop was busy; also before its first step."""


class Blocked(NamedTuple):
    """A callback, or a step of a task, that kept its event loop busy for 10 ms or more."""

    name: str
    """The function: of the callback, or of the task's coroutine."""
    start: int
    duration_ns: int
    thread: int


class _Life:
    """A task while its events are read."""

    def __init__(self, event: Event) -> None:
        self.begun = event
        self.ended: int | None = None
        self.waits: list[Wait] = []
        self.open: Event | None = None  # the wait that has not ended
        self.over: tuple[Event, int] | None = None  # the last one, when it ended
        self.ready: int | None = None
        self.waited_ns = self.ready_ns = 0

    def resume(self, now: int) -> None:
        """Let the task run."""
        if self.over:
            wait, end = self.over
            self.waits.append(Wait(wait.name, wait.file, wait.line, wait.time, end, now, None))
        self.over = None

    def take(self, event: Event, begins: bool) -> None:
        """Take the begin or end of a span inside its life."""
        if event.name == "ready":
            if begins:
                self.ready = event.time
            elif self.ready is not None:
                self.ready_ns += event.time - self.ready
                self.resume(event.time)
        elif begins:
            self.resume(event.time)
            self.open = event
        elif self.open:
            self.waited_ns += event.time - self.open.time
            self.over = self.open, event.time
            self.open = None

    def task(self) -> Task:
        begun = self.begun
        self.resume(self.over[1] if self.over else 0)
        return Task(
            begun.id,
            begun.name,
            begun.file,
            begun.line,
            begun.time,
            self.ended,
            tuple(self.waits),
            self.waited_ns,
            self.ready_ns,
        )


def tasks(capture: Capture) -> list[Task]:
    """Return the asyncio tasks of `capture`, in the order in which they were created."""
    lives: dict[int, _Life] = {}
    running: dict[int, int] = {}  # by thread: the task that ran last
    arrows: dict[tuple[str, int], int] = {}  # and who they come from
    for event in capture.events():
        kind = event.kind
        if kind in ("async_begin", "async_end"):
            begins = kind == "async_begin"
            life = lives.get(event.id)
            if life and event.key != life.begun.key:
                life.take(event, begins)
            elif life and not begins:
                life.ended = event.time
            elif begins and event.file:
                lives[event.id] = _Life(event)
        elif kind == "enter" and event.id in lives:
            running[event.thread] = event.id
        elif kind == "flow_out" and event.name in ("await", "wake") and event.thread in running:
            arrows[event.name, event.id] = running[event.thread]
        elif kind == "flow_in" and event.name in ("await", "wake"):
            life = lives.get(running.get(event.thread, -1))
            source = arrows.pop((event.name, event.id), None)
            if life and life.waits and source is not None:
                life.waits[-1] = life.waits[-1]._replace(woken_by=source)
    return [life.task() for life in lives.values()]


def blocked(capture: Capture) -> list[Blocked]:
    """Return what blocked an event loop for 10 ms or more, in order of time."""
    found: list[Blocked] = []
    open_on: dict[int, str] = {}  # by thread
    for event in capture.events():
        if event.kind == "instant" and event.name == "loop blocked":
            open_on[event.thread] = ""
        elif event.kind == "arg_text" and event.thread in open_on:
            open_on[event.thread] = event.text
        elif event.kind == "arg" and event.thread in open_on:
            name = open_on.pop(event.thread)
            found.append(Blocked(name, event.time - event.id, event.id, event.thread))
    return found
