"""The recording made by `kymograph run`: its session, and what happens to its capture.

Some programs end in a state in which nothing can be imported: after chroot, or out of memory. So
everything needed at the end is imported at the start and kept small.
"""

from __future__ import annotations

import atexit
import os
import sys
import time

import kymograph
from kymograph import (
    _children,
    _core,
    _family,
    _member,
    _messages,
    _patterns,
    _program,
    _ranks,
    _session,
    _spawn,
    _summary,
)
from kymograph._exported import Export, remove
from kymograph._program import Refused

TYPE_CHECKING = False  # avoids importing typing
if TYPE_CHECKING:
    from typing import Any

_GRACE_MS = 1000  # how long the main thread may take to notice SIGTERM
_BUSY = 16  # EBUSY; importing errno here would hide the program's own import


class Recording:
    """The session of a program, and what happens to its capture.

    given: the options as `kymograph run` parsed them. settings: those that `kymograph.start`
    takes. stem: the capture's name without -o.
    """

    def __init__(self, given: dict[str, Any], settings: dict[str, Any], stem: str) -> None:
        self.given = given
        self.settings = settings
        self.quiet = "quiet" in given
        self.pid = os.getpid()
        self.began = 0.0
        self.session: _session.Session | None = None
        self.finished = False
        self.lists_threads = True
        self.follows = given.get("children", True) and hasattr(os, "register_at_fork")
        self.family: Any = None
        self._name(given.get("output", stem + ".kymo") if "dir" not in given else self._in(stem))
        self.trace: Export | None = None  # the execution trace
        if "execution-trace" in given:
            self.trace = Export(given["execution-trace"], "et", "force" in given)

    def _in(self, stem: str) -> str:
        """Return a name in the directory of --dir that no other process has: many hosts may share
        it."""
        folder, known = self.given["dir"], _ranks.of_this_process()
        try:
            os.makedirs(folder, exist_ok=True)
        except OSError as error:
            raise Refused(f"--dir {folder}: {error.strerror}") from None
        host = os.uname().nodename.partition(".")[0]
        which = f"rank{int(known['rank']):05}" if "rank" in known else str(self.pid)
        return os.path.join(folder, f"{stem}-{host}-{which}.kymo")

    def _name(self, output: str) -> None:
        """Record into `output`."""
        chosen = "" if output.endswith(".kymo") else _core.export_format(output)
        if chosen is None:
            raise Refused(
                f"-o {output}: the extension chooses the format: .kymo, .json, .pftrace, .html, "
                "...; see 'kymograph help export'"
            )
        self.output = os.path.abspath(output)
        self.shown = output
        # An export is made from a capture, which is next to it until then.
        self.export = Export(output, chosen, "force" in self.given) if chosen else None
        beside = ".kymo" if self.export else ""
        self.capture = self.output + beside
        self.shown_capture = self.shown + beside

    def check(self) -> None:
        """Raise Refused if an export could not be written at the end."""
        for export in (self.export, self.trace):
            if export is not None:
                export.check()

    # ---- the beginning

    def start(self) -> None:
        """Start the session. Raises Refused."""
        _patterns.runner = _patterns.main_runner()
        # An overhead budget takes samples, too.
        if not {"sample", "overhead", "memory"}.isdisjoint(self.settings):
            from kymograph import _sample

            _sample.root = _program.execute.__code__.co_filename
        self.children = _children.Children()
        self.lists_threads = os.access("/proc/self/task", os.R_OK)
        self.began = time.perf_counter()
        if self.follows:
            self._follow()
        try:
            try:
                self._start()
            except OSError as error:
                if error.errno != _BUSY:
                    raise
                # A program that starts itself again, as a reloading server does, uses the same
                # capture name: this is the child. The execution trace is its parent's.
                stem, ending = os.path.splitext(self.shown)
                self._name(f"{stem}-{self.pid}{ending}")
                self.trace = None
                self.check()
                self._start()
        except OSError as error:
            path = self.shown_capture if os.path.exists(self.capture) else self.shown
            raise Refused(f"cannot record into {path}: {error.strerror}") from None
        except MemoryError:
            raise Refused(
                "not enough memory to record; use --budget with less than the default 64M"
            ) from None
        except (ValueError, RuntimeError) as error:
            raise Refused(str(error)) from None
        if "flight" in self.settings:
            from kymograph import _flight

            _flight.watch()
        else:
            self._watch_endings()
        if not self.quiet:
            _core.crash_message(self._where())
        if "on-crash" in self.given:
            kymograph.crash_stacks()  # after the flight recorder, so that its handlers run second
        # Registered before the program's handlers, so it runs after them.
        atexit.register(self.finish)

    def _start(self) -> None:
        _core.memory_apart(True)  # until the program begins
        known = _ranks.of_this_process()
        shared = os.path.dirname(self.capture) if "dir" in self.given else ""
        session = kymograph.start(self.capture, **self.settings)
        self.session = _session.apart(session)
        if shared:
            _core.compare_clocks(shared)
        for key, value in known.items():
            kymograph.metadata(key, value)
        if self.family is not None:
            self.family.folder = self.capture + ".d"
            self.family.repeats = None if session.nested else _session.repeatable
            kymograph.metadata("family", self.family.id)
            _family.clear(self.family.folder)
            _member.offer(self.family)

    def _follow(self) -> None:
        """Record child processes, too."""
        self.family = _family.Family(self.capture + ".d", self.settings, "on-crash" in self.given)
        _spawn.on_exec.append(self._on_exec)
        _member.follow(self.family)

    def _on_exec(self, begins: bool) -> None:
        """The program is about to become another one, or that failed."""
        if begins and os.getpid() == self.pid and self.session is not None:
            kymograph.metadata("process.ended", "exec")
            if self.family is not None:
                _messages.end(self.family)
            self.session.stop()

    def _watch_endings(self) -> None:
        """Finish the capture on SIGTERM and os._exit, which end the process immediately."""
        import _signal  # type: ignore[import-not-found]

        def on_term(number: int, frame: object) -> None:
            self.finish()
            _signal.signal(number, _signal.SIG_DFL)
            os.kill(os.getpid(), number)

        def in_child() -> None:
            if _signal.getsignal(_signal.SIGTERM) is on_term:
                _signal.signal(_signal.SIGTERM, _signal.SIG_DFL)

        if _signal.getsignal(_signal.SIGTERM) == _signal.SIG_DFL:
            _signal.signal(_signal.SIGTERM, on_term)
            # A handler in Python runs only when Python code does: a child that waits in C would not
            # end.
            if self.follows:
                _member.handlers.append((_signal.SIGTERM, on_term))
            else:
                os.register_at_fork(after_in_child=in_child)
            # The handler above waits for the main thread to run Python code.
            _core.end_on_signal(_signal.SIGTERM, _GRACE_MS, self._ended_by_signal())
        _member.hook_exit(self.finish)

    def _ended_by_signal(self) -> str | None:
        """Return what to print if SIGTERM ends the program while no Python code can run."""
        if self.quiet:
            return None
        return f"kymograph: SIGTERM ended the program; {self._where()}\n"

    def _where(self) -> str:
        """Return where the capture is, and what to do with it."""
        export, capture = self.export or self.trace, self.shown_capture
        what = export.command(capture) if export else f"kymograph report {capture}"
        return f"the capture is {self.shown_capture}\nkymograph: next: {what}"

    # ---- the end

    def finish(self) -> None:
        """Stop the session and report the result."""
        if os.getpid() != self.pid or self.finished:
            return  # a forked child, or already reported
        _core.memory_apart(True)
        self.finished = True
        try:
            self._finish()
        except KeyboardInterrupt:
            _summary.say(f"interrupted; the capture is {self.shown_capture}")
        except Exception as error:  # ours, whatever the program did to the process
            _summary.say(
                f"the recording of {self.shown} ended early: {type(error).__name__}: {error}"
            )

    def _finish(self) -> None:
        seconds = time.perf_counter() - self.began
        missing = self._missing()
        if self.family is not None:
            _messages.end(self.family)
            _family.tidy(self.family.folder)
            _messages.clear(self.family.folder)
        try:
            if self.session is not None:
                self.session.stop()
        except OSError as error:
            _summary.say(
                f"recording failed: {error.strerror}; {self.shown_capture} has everything "
                "written before that"
            )
            return
        except _core.CaptureError as error:  # it was deleted, or its descriptor closed
            _summary.say(f"{self.shown_capture}: {str(error).removeprefix(self.capture + ': ')}")
            return
        for stream in (sys.stdout, sys.stderr):
            try:
                stream.flush()
            except Exception:
                pass  # the interpreter tries again, and reports it
        if not os.path.exists(self.capture):
            _summary.say(f"{self.shown_capture} is gone: it was removed or cannot be reached")
            return
        if self.export is not None and not self.export.write(self.capture, self.shown_capture):
            return
        if self.trace is not None and not self.trace.write(self.capture, self.shown_capture):
            return
        if not self.quiet:
            said = _summary.recorded(
                self.capture, self.output, self.shown, seconds, missing, self._members()
            )
            _summary.say(said)
            if self.trace is not None:
                _summary.say(f"wrote {self.trace.shown}, the execution trace")
            for line in self._warnings():
                _summary.say(line)
            _summary.say(f"next: {self.next()}")
        if self.export is not None:
            self._remove_all()

    def _remove_all(self) -> None:
        """Remove the captures of this process and its children."""
        remove(self.capture)
        if self.family is not None:
            _family.clear(self.family.folder)

    def _members(self) -> list[str]:
        """Return the paths of the children's captures."""
        if self.family is None:
            return []
        return [f"{self.family.folder}/{name}" for name in self.family.members()]

    def _missing(self) -> list[str]:
        """Return what the program did that is not in the capture, besides lost records."""
        seconds, unrecorded = self.children.seconds(), _spawn.unrecorded()
        time = "" if seconds is None else f"{_summary.duration(seconds)} of CPU time"
        if time and not self._members():
            kymograph.metadata("children.cpu_time", _summary.duration(seconds or 0))
            return [f"child processes ({time})"]
        if unrecorded:
            kymograph.metadata("children.unrecorded", unrecorded)
            return [unrecorded]
        return []

    def _warnings(self) -> list[str]:
        if "sample" in self.settings and not self.lists_threads:
            return [
                "/proc/self/task cannot be read: only the main thread and threads that record "
                "calls were sampled"
            ]
        others = any(name in self.settings for name in ("sample", "memory", "ops"))
        if not self.settings.get("calls", True) and not others:
            return [
                "--calls off alone records only the program's own marks; add --sample 1000 for "
                "samples"
            ]
        patterns = self.settings.get("include")
        if patterns and self.settings.get("calls", True) and not _core.count_calls(self.capture)[0]:
            return [f"no called function matches --include {' '.join(patterns)}"]
        return []

    def next(self) -> str:
        if self.export is not None and self.export.format in ("chrome", "perfetto"):
            return f"open {self.shown} in ui.perfetto.dev"
        if self.export is not None:
            return f"'kymograph help export' lists what opens {self.shown}"
        report = "report --memory" if "memory" in self.settings else "report"
        return f"kymograph {report} {self.shown} · kymograph view {self.shown}"

    def drop(self) -> None:
        """Discard the recording of a program that did not run."""
        self.finished = True
        atexit.unregister(self.finish)
        if self.session is not None:
            self.session.stop()
        self._remove_all()
