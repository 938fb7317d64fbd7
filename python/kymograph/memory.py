"""Record every allocation, with its time, its thread and its stack.

::

    kymograph.memory.start("job.kymo")
    work()
    kymograph.memory.stop()
    kymograph.memory.export_memory_history("job.html")

`kymograph report --memory job.kymo` shows the peak, leaks and churn. To record calls as well, use
``kymograph.start("job.kymo", memory="exact")``. See docs/memory.md.
"""

from __future__ import annotations

import os

import kymograph
from kymograph import _core, _scratch, _session
from kymograph._units import parse_size

TYPE_CHECKING = False  # avoids importing typing
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import Any, Literal

    Path = str | bytes | os.PathLike[str] | os.PathLike[bytes]
    Mode = Literal["exact", "sampled", "live"]

__all__ = ["export_memory_history", "running", "snapshot", "start", "stop"]

MODES = ("exact", "sampled", "live")
DOMAINS = {"native": 1, "mappings": 2, "python": 4, "tracked": 8}
STACKS = {"none": 0, "native": 1, "python": 2, "both": 3}
_MOST_RATE = 1 << 40
# Nobody can handle the first two; after the others the program cannot go on.
_NO_SNAPSHOT = ("KILL", "STOP", "SEGV", "BUS", "FPE", "ILL", "ABRT", "TRAP", "SYS")

_session_now: _session.Session | None = None  # started by `start`
_capture: str | None = None  # the capture of the last `start`


def _one_of(what: str, word: object, words: Iterable[str]) -> str:
    if not isinstance(word, str) or word not in words:
        raise ValueError(f"{what} must be {' or '.join(map(repr, words))}, not {word!r}")
    return word


def domains_from(domains: str | Iterable[str]) -> int:
    """Return `domains`, such as "python,native" or a list of names, as the library's bits."""
    names = domains.split(",") if isinstance(domains, str) else list(domains)
    if not names:
        raise ValueError("domains must name at least one of " + ", ".join(DOMAINS))
    return sum(DOMAINS[name] for name in {_one_of("a domain", name, DOMAINS) for name in names})


def signal_from(signal: int | str) -> int:
    """Return the number of `signal`: "USR2", "SIGUSR2" or a number. Raises ValueError."""
    import _signal  # type: ignore[import-not-found]

    number = signal
    if isinstance(signal, str):
        number = getattr(_signal, "SIG" + signal.upper().removeprefix("SIG"), 0)
    if not isinstance(number, int) or number not in _signal.valid_signals():
        raise ValueError(f"there is no signal {signal!r}")
    if number in (getattr(_signal, "SIG" + name, 0) for name in _NO_SNAPSHOT):
        raise ValueError(f"signal {signal} cannot take snapshots; use another, such as USR2")
    return number


class Options:
    """The options of `start`, checked. Raises ValueError."""

    def __init__(
        self,
        mode: str = "exact",
        rate: int | str | None = None,
        domains: str | Iterable[str] = tuple(DOMAINS),
        stacks: str = "python",
        objects: bool = False,
        snapshot_signal: int | str | None = None,
    ) -> None:
        self.mode = MODES.index(_one_of("mode", mode, MODES))
        if rate is not None and mode != "sampled":
            raise ValueError('rate works only with mode="sampled"')
        self.rate = 0 if rate is None else parse_size(rate)
        if self.rate >= _MOST_RATE:
            raise ValueError(f"rate must be below 1T, not {rate}")
        self.domains = domains_from(domains)
        self.stacks = STACKS[_one_of("stacks", stacks, STACKS)]
        self.objects = bool(objects)
        self.signal = None if snapshot_signal is None else signal_from(snapshot_signal)

    def for_core(self) -> tuple[int, int, int, int, bool]:
        """Return what `_core.start` takes."""
        return self.mode, self.rate, self.domains, self.stacks, self.objects

    def watch(self) -> None:
        """Let the signal take snapshots, now that the session runs. Raises ValueError."""
        if self.signal is not None and not _core.memory_on_signal(self.signal):
            raise ValueError(f"the program handles or ignores signal {self.signal} itself")


def options_from(memory: bool | str | Mapping[str, Any] | None) -> Options | None:
    """Return the options that `kymograph.start(memory=...)` got; None: memory is not recorded."""
    if memory is None or memory is False:
        return None
    if memory is True:
        return Options()
    if isinstance(memory, str):
        return Options(memory)
    if not hasattr(memory, "keys"):
        raise ValueError(f"memory must be a mode or a dict of options, not {memory!r}")
    try:
        return Options(**memory)
    except TypeError:
        known = "mode, rate, domains, stacks, objects and snapshot_signal"
        raise ValueError(f"memory takes {known}, not {', '.join(memory)}") from None


def start(
    path: Path | None = None,
    mode: Mode = "exact",
    *,
    rate: int | str | None = None,
    domains: str | Iterable[str] = tuple(DOMAINS),
    stacks: Literal["python", "native", "both", "none"] = "python",
    objects: bool = False,
    snapshot_signal: int | str | None = None,
    calls: bool = False,
    **session: Any,
) -> kymograph.Session:
    """Record allocations into the capture `path` until `stop` or the end of the process.

    Returns the Session, as `kymograph.start` does. Without `path` the capture is a temporary file,
    for `export_memory_history`; it is removed when the process ends, or, if it was killed, by the
    next process that makes one.

    mode: "exact" records every allocation and every free. "sampled" records some allocations,
        chosen by their bytes, and estimates the rest. "live" records no events, only what is held
        at the end, at the peak and at each `snapshot`.
    rate: with "sampled", the mean number of bytes between two samples, such as "512K", the default.
    domains: what is recorded: "native" (malloc, operator new, ...), "mappings" (mmap, brk, ...),
        "python" (Python's own allocators) and "tracked" (what libraries such as numpy report to
        tracemalloc); all by default.
    stacks: "python" frames, "native" frames, "both" merged, or "none".
    objects: at the end and at snapshots, also record the surviving Python objects by type, each
        with the shortest path of references that keeps it alive.
    snapshot_signal: a signal that takes a snapshot, such as "USR2".
    calls: also record calls; further options are those of `kymograph.start`.

    While another session runs, memory is recorded into its capture until `stop`: the Session is
    nested, and `path`, `calls` and further options have no effect.

    Raises ValueError for an invalid option, SessionError when memory is recorded already or was in
    the running session, and OSError when the file cannot be created.
    """
    global _session_now, _capture
    if running():
        raise _core.SessionError("memory is being recorded already")
    options: dict[str, Any] = {
        "mode": mode,
        "rate": rate,
        "domains": domains,
        "stacks": stacks,
        "objects": objects,
        "snapshot_signal": snapshot_signal,
    }
    checked = Options(**options)  # before a temporary file is made
    if _core.running():
        return _join(checked, path)
    chosen = os.fsdecode(path) if path is not None else _scratch.new_path()
    began = kymograph.start(chosen, calls=calls, memory=options, **session)
    _session_now, _capture = _session.apart(began), os.path.abspath(chosen)
    return began


def _join(options: Options, path: Path | None) -> kymograph.Session:
    """Record memory in the running session. If that does so already, it only gets a range."""
    global _session_now, _capture
    state = _core.memory_join(options.for_core())
    if state == 2:
        raise _core.SessionError("memory was recorded in the running session already, and stopped")
    began = kymograph.start(path if path is not None else "memory")
    if state == 0:
        began._at_end = _core.memory_leave
        try:
            options.watch()
        except BaseException:
            began.stop()
            raise
    outer = _session.outermost_path()
    _session_now = _session.apart(began)
    _capture = None if outer is None else os.path.abspath(os.fsdecode(outer))
    return began


def stop() -> None:
    """End the session that `start` began; does nothing if it has already ended.

    Raises SessionError if `start` was never called, and OSError when a write failed; the capture
    has everything written before that.
    """
    if _session_now is None:
        raise _core.SessionError("kymograph.memory.start was not called")
    _session_now.stop()
    if _core.memory_kept():
        import warnings

        warnings.warn(
            "another library has wrapped Python's allocators: Kymograph's wrappers stay below it "
            "and only pass calls on",
            RuntimeWarning,
            stacklevel=2,
        )


def running() -> bool:
    """Return whether a session begun by `start` records now."""
    return _session_now is not None and _session_now.running


def snapshot(reason: str = "") -> int:
    """Record how much memory is in use now, and who holds it; return the snapshot's number.

    `reason` is stored with it. Works in any session that records memory. Raises SessionError if
    none does.
    """
    if not isinstance(reason, str):
        raise TypeError(f"a reason must be a str, not {type(reason).__name__}")
    number: int = _core.memory_snapshot(reason)
    return number


def export_memory_history(path: Path, *, force: bool = False) -> None:
    """Write what was recorded since `start`; the extension of `path` chooses the format.

    .kymo is the capture itself, with its permissions; the others are those of `Capture.export`.
    While recording, the file has everything up to this call, of all threads. In the mode "live",
    which records no events, that is a snapshot taken by the call. A file that an export wrote is
    replaced, for .kymo any capture; with `force` whatever is there.

    Raises ValueError for an unknown extension, FileExistsError if another file is there, and
    SessionError if `start` was not called.
    """
    if _capture is None:
        raise _core.SessionError("kymograph.memory.start was not called")
    target = os.fsdecode(path)
    if running():
        with _core.open(_capture) as capture:
            live = capture.metadata.get("memory.mode") == "live"
        if live:
            snapshot("export")
    if target.endswith(".kymo"):
        if os.path.abspath(target) != _capture:
            _copy(_capture, target, force)
        return
    with kymograph.open(_capture) as capture:
        capture.export(target, force=force)


def _copy(path: str, target: str, force: bool) -> None:
    """Copy the capture at `path` with its permissions, also while it is being recorded."""
    import shutil

    try:
        _core.capture_check(target)
    except FileExistsError:
        if not force or not os.path.isfile(target):
            raise
        os.unlink(target)
    with _core.open(path) as capture:
        running = capture.info.ending == "running"
        if running:
            _core.save(capture, target)  # the newest events are not in the file yet
    if running:
        shutil.copymode(path, target)
    else:
        shutil.copy(path, target)
