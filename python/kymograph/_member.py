"""Records the child processes of `kymograph run`.

A forked child begins its recording in a hook of os.fork, a new interpreter while it starts, see
_start.py. A child that cannot be recorded runs unrecorded.
"""

from __future__ import annotations

import atexit
import os
import sys

import kymograph
from kymograph import _callcost, _core, _messages, _ranks, _session, _spawn
from kymograph._family import VARIABLE, Family

TYPE_CHECKING = False  # avoids importing typing
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

_family: Family | None = None  # which this process and its children belong to
handlers: list[tuple[int, object]] = []  # of signals, which a forked child must not have
_recording: Member | None = None  # of this process, if it is a child
_finishers: list[Callable[[], None]] = []  # called by os._exit
_planned: tuple[object, ...] = ()  # what the plan for forked children was made from


def begin_session(family: Family, path: str) -> _session.Session:
    """Start a session with the settings of `family`. Raises what `kymograph.start` does."""
    if family.repeats is not None:  # in a forked child: checking the options again takes long
        return _session.repeat(path, family.repeats)
    session = kymograph._start_named(
        path, brief=True, clock_rate=family.clock_rate, **family.settings
    )
    if not session.nested:
        family.repeats = _session.repeatable
    return session


class Member:
    """The recording of a child process."""

    def __init__(self, family: Family) -> None:
        self.family = family
        self.pid = os.getpid()
        self.session: _session.Session | None = None

    def start(self, how: str, name: str) -> None:
        """Start recording. Raises OSError, MemoryError, ValueError and RuntimeError."""
        _core.memory_apart(True)
        known = _ranks.of_this_process()
        try:
            self.session = _session.apart(begin_session(self.family, self.family.name()))
        finally:
            _core.memory_apart(False)
        kymograph.metadata("family", self.family.id)
        kymograph.metadata("process.parent", os.getppid())
        kymograph.metadata("process.began", how)
        kymograph.metadata("python", sys.version.partition(" ")[0])
        kymograph.process_name(name)
        for key, value in known.items():
            kymograph.metadata(key, value)
        _spawn.began()
        if "flight" in self.family.settings:
            from kymograph import _flight

            _flight.watch_signals()
        else:
            _end_on_term()
        if self.family.crash:
            kymograph.crash_stacks()

    def finish(self) -> None:
        """Complete the capture."""
        import _signal  # type: ignore[import-not-found]

        if self.session is None or os.getpid() != self.pid:
            return
        # A parent that has told its child to end may send SIGTERM as well, as Pool.terminate does.
        before = _signal.pthread_sigmask(_signal.SIG_BLOCK, {_signal.SIGTERM})
        _core.memory_apart(True)
        try:
            _set_name()
            _spawn.ended()
            _messages.end(self.family)
            session, self.session = self.session, None
            session.stop()
        except Exception:
            pass  # the capture has everything written before that
        finally:
            _core.memory_apart(False)
            _signal.pthread_sigmask(_signal.SIG_SETMASK, before)


def _end_on_term() -> None:
    """Complete the capture when SIGTERM ends the process.

    A thread of ours does it, so that a child waiting in C ends at once, and the program still sees
    the default action.
    """
    import _signal

    if _signal.getsignal(_signal.SIGTERM) == _signal.SIG_DFL:
        _core.end_on_signal(_signal.SIGTERM, 0, None)


def finish() -> None:
    """Complete the capture of this process, if it is a child that is recorded."""
    if _recording is not None:
        _recording.finish()


def begin(how: str, name: str) -> None:
    """Record this process as a child, if possible."""
    global _recording
    assert _family is not None
    _recording = Member(_family)
    try:
        _recording.start(how, name)
    except (OSError, MemoryError, ValueError, RuntimeError):
        pass  # the program comes first


def on_exec(begins: bool) -> None:
    """This process is about to become another program, or could not."""
    if begins and _recording is not None and _recording.session is not None:
        kymograph.metadata("process.ended", "exec")
        finish()
    elif not begins and _family is not None and not _core.running():
        begin("after a failed exec", _name())


# ---- names of processes


def _name() -> str:
    """Return a name for this process: that of its script."""
    script = (sys.argv or ["-c"])[0]
    if script.startswith("-"):
        return "python"
    # As os.path does it, whose functions may be recorded.
    base = script.rpartition("/")[2]
    stem = base.rpartition(".")[0]
    return (stem if stem.strip(".") else base) or "python"


class _Named:
    """multiprocessing calls a function with this object in every process that it starts."""


_named = _Named()
_registered = False


def _set_name(_: _Named | None = None) -> None:
    """Name this process as multiprocessing does."""
    # Not with current_process(), which would be recorded.
    process = getattr(sys.modules.get("multiprocessing.process"), "_current_process", None)
    name = getattr(process, "_name", "MainProcess")
    if name != "MainProcess" and _recording is not None and _recording.session is not None:
        _core.process_name(str(name))


def _watch_names() -> None:
    """Have children of multiprocessing named, once the program uses it."""
    global _registered
    util = sys.modules.get("multiprocessing.util")
    if util is not None and not _registered and hasattr(util, "register_after_fork"):
        _registered = True
        util.register_after_fork(_named, _set_name)


# ---- following children


def _before_fork() -> None:
    recorded = _family is not None and _core.running()
    if recorded:
        _watch_names()
        _core.messages_ready()
        try:
            _plan()
        except Exception:  # the program may have put anything into sys.argv
            _core.fork_plan(None)
    _core.fork_recorded(recorded)


def _plan() -> None:
    """Let forked children begin their recording without Python code, see ext/module/forked.c, and
    other forks do without this hook, see ext/module/forking.c."""
    global _planned
    assert _family is not None
    known, repeats = _ranks.unchanged(), _family.repeats
    script = (sys.argv or ["-c"])[0]
    now = os.getpid(), _family.folder, repeats, known, script, _registered
    if now == _planned:
        return
    usual = "flight" not in _family.settings and not _family.crash
    if repeats is None or known is None or not usual:
        _core.fork_plan(None)
        _planned = now
        return
    import _signal

    facts = {
        "family": _family.id,
        "python": sys.version.partition(" ")[0],
        **repeats[1],
        **known,
    }
    member = Member(_family)
    member.session = _session.Session("", None, False, 1)
    plan = (
        _spawn._bytes(_family.folder),
        repeats[0],
        tuple(facts.items()),
        _name(),
        member,
        member.session,
        globals(),
        _session.__dict__,
        _session._outermost,
        _spawn.forgotten,
        (_signal.getsignal, _signal.signal, _signal.SIG_DFL, handlers),
        (sys.__dict__, script, os.__dict__, *_ranks.seen(), _registered),
    )
    _core.fork_plan(plan)
    _planned = now


def _in_child() -> None:
    """Do what the plan does, and what it does not do."""
    import _signal

    for number, handler in handlers:
        if _signal.getsignal(number) is handler:
            _signal.signal(number, _signal.SIG_DFL)
    if _spawn.forked():
        begin("fork", _name())


def hook_exit(finish: Callable[[], None]) -> None:
    """Have os._exit call `finish` first."""
    if not _finishers:
        _core.fork_hooks(_in_child, _leave)
        leave: Any = os._exit

        def _exit(status: int) -> None:
            _leave()
            leave(status)

        ours: Any = _exit  # somebody else replaced it while the interpreter started
        if type(leave) is type(len):
            ours = _core.watched(leave, _core.fork_exit, None, _core.fork_stays)
        os._exit = ours
    _finishers.append(finish)


def _leave() -> None:
    for call in reversed(_finishers):
        call()


def offer(family: Family) -> None:
    """Let new interpreters know of `family`. Calls nothing that would be recorded."""
    family.costs = _callcost.told()
    family.clock_rate = _core.clock_rate() or family.clock_rate
    text = family.text()
    os.putenv(VARIABLE, text)  # not into os.environ: children have it, the program does not see it
    _spawn.offer(VARIABLE, text)


def follow(family: Family) -> None:
    """Record the children of this process from now on."""
    global _family
    _family = family
    if family.path:
        rest = os.environ.get("PYTHONPATH")
        os.putenv("PYTHONPATH", family.path + (os.pathsep + rest if rest else ""))
    offer(family)
    hook_exit(finish)
    os.register_at_fork(before=_core.fork_before, after_in_child=_core.fork_child)
    atexit.register(finish)  # before the program's handlers, so it runs after them
    _spawn.on_exec.append(on_exec)
    _spawn.watch(family, _before_fork)
    _messages.watch(family, offer)


def begin_here(family: Family, name: str) -> None:
    """Record this process, a new interpreter that is a child of a recorded one."""
    _callcost.learn(family.costs)
    follow(family)
    begin("start", name)
    if "--multiprocessing-fork" in sys.orig_argv:
        from multiprocessing import context  # which its program imports first

        context.SpawnProcess._after_fork = staticmethod(_set_name)  # type: ignore[attr-defined]
