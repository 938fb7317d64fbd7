"""`kymograph run`: run a Python program as `python` does, and record it.

The options are told to people by the native program (src/cli/verb_run.c); a test sees that
it and this file know the same ones.
"""

from __future__ import annotations

import atexit
import os
import sys
import time

import kymograph
from kymograph import _patterns, _program, _summary
from kymograph._program import Refused
from kymograph._size import parse_size

TYPE_CHECKING = False  # typing is not imported for it
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

# ---- the command line


def _on_off(text: str) -> bool:
    if text not in ("on", "off"):
        raise ValueError("on or off")
    return text == "on"


def _c_calls(text: str) -> bool | str:
    if text not in ("on", "off", "fast"):
        raise ValueError("on, off or fast")
    return text if text == "fast" else text == "on"


def _share(text: str) -> float:
    try:
        share = float(text[:-1]) / 100 if text.endswith("%") else float(text)
    except ValueError:
        share = 0
    if not 0 < share <= 10:
        raise ValueError("a share of the program's time like 5%")
    if not kymograph._core.trace_can_throttle():
        raise ValueError("possible with Python 3.11.0 to 3.11.3")
    return share


def _number(least: int, most: int) -> Callable[[str], int]:
    def read(text: str) -> int:
        number = int(text) if text.isascii() and text.isdigit() else least - 1
        if not least <= number <= most:
            raise ValueError(f"a number from {least} to {most}")
        return number

    return read


def _word(*words: str) -> Callable[[str], str]:
    def read(text: str) -> str:
        if text not in words:
            raise ValueError(" or ".join(words))
        return text

    return read


def _size(text: str) -> int:
    try:
        return parse_size(text)
    except ValueError:
        raise ValueError("a size like 64M or 1G") from None


def _flight(text: str) -> str:
    from kymograph._flight import parse

    try:
        parse(text, None)
    except ValueError:
        raise ValueError("a part to keep like 10s or 100M") from None
    return text


def _slow(text: str) -> str:
    from kymograph._flight import parse_duration

    try:
        parse_duration(text)
    except ValueError:
        raise ValueError("a time like 200ms or 1s") from None
    return text


def _sample(text: str) -> str:
    from kymograph._sample import MOST, parse

    try:
        parse(text)
    except ValueError:
        raise ValueError(f"a rate from 1 to {MOST}, like 1000 or 100,wall") from None
    return text


class _Option:
    """How an option is read; `keyword` is what `kymograph.start` calls it, if it does."""

    def __init__(
        self,
        letter: str = "",
        keyword: str = "",
        read: Callable[[str], Any] | None = None,
        repeats: bool = False,
    ) -> None:
        self.letter = letter
        self.keyword = keyword
        self.read = read  # None for a switch
        self.repeats = repeats


OPTIONS = {
    "output": _Option("o", read=str),
    "calls": _Option(keyword="calls", read=_on_off),
    "sample": _Option(keyword="sample", read=_sample),
    "c-calls": _Option(keyword="c_calls", read=_c_calls),
    "gc": _Option(keyword="gc", read=_on_off),
    "include": _Option(keyword="include", read=str, repeats=True),
    "exclude": _Option(keyword="exclude", read=str, repeats=True),
    "no-stdlib": _Option(),
    "max-depth": _Option(keyword="max_depth", read=_number(1, 2**31 - 1)),
    "overhead": _Option(keyword="overhead", read=_share),
    "flight": _Option(keyword="flight", read=_flight),
    "slow": _Option(keyword="slow", read=_slow),
    "budget": _Option(keyword="budget", read=_size),
    "policy": _Option(keyword="policy", read=_word("help", "drop")),
    "level": _Option(keyword="level", read=_number(1, 19)),
    "on-crash": _Option(read=_word("stacks")),
    "quiet": _Option("q"),
}


class Request:
    """A command line taken apart."""

    def __init__(self) -> None:
        self.help = False
        self.given: dict[str, Any] = {}  # by the name of the option
        self.program: _program.Program | None = None

    def settings(self) -> dict[str, Any]:
        """What was given of the options of `kymograph.start`."""
        settings = {
            OPTIONS[name].keyword: value
            for name, value in self.given.items()
            if OPTIONS[name].keyword
        }
        if "no-stdlib" in self.given:
            settings["stdlib"] = False
        return settings

    def take(self, name: str, value: str) -> None:
        """Note that the option `name` was given. Raises Refused for a wrong value."""
        option = OPTIONS[name]
        if option.read is None:
            self.given[name] = True
            return
        try:
            read = option.read(value)
        except ValueError as error:
            raise Refused(f"--{name} {value} is not {error}; see 'kymograph help run'") from None
        if option.repeats:
            self.given.setdefault(name, []).append(read)
        else:
            self.given[name] = read


def _unknown(option: str) -> Refused:
    import difflib

    near = difflib.get_close_matches(option.lstrip("-"), [*OPTIONS, "help"], 1)
    hint = f"; did you mean --{near[0]}?" if near and option.startswith("--") else ";"
    return Refused(f"'run' has no option {option}{hint} 'kymograph help run' lists them")


def _value(name: str, words: list[str]) -> str:
    if not words:
        raise Refused(f"{name} needs something behind it; see 'kymograph help run'")
    return words.pop(0)


def _take_long(request: Request, word: str, words: list[str]) -> None:
    name, equals, value = word[2:].partition("=")
    if name == "help" and not equals:
        request.help = True
    elif name not in OPTIONS:
        raise _unknown(f"--{name}")
    elif OPTIONS[name].read is not None:
        request.take(name, value if equals else _value(f"--{name}", words))
    elif equals:
        raise Refused(f"--{name} takes no value; write it alone")
    else:
        request.take(name, "")


def _take_short(request: Request, word: str, words: list[str]) -> None:
    """`-o FILE`, `-oFILE`, `-q`; and `-m` and `-c`, which end the options."""
    letters = {option.letter: name for name, option in OPTIONS.items() if option.letter}
    rest = word[1:]
    while rest and not request.help and not request.program:
        letter, rest = rest[0], rest[1:]
        if letter == "h":
            request.help = True
        elif letter in "mc":
            text = rest or _value(f"-{letter}", words)
            kind = _program.Module if letter == "m" else _program.Command
            request.program = kind(text, words)
            rest = ""
        elif letter not in letters:
            raise _unknown(f"-{letter}")
        elif OPTIONS[letters[letter]].read is not None:
            request.take(letters[letter], rest or _value(f"-{letter}", words))
            rest = ""
        else:
            request.take(letters[letter], "")


def parse(arguments: list[str]) -> Request:
    """Take `arguments` apart. Raises Refused."""
    request = Request()
    words = list(arguments)
    while words and not request.help and not request.program:
        word = words.pop(0)
        if word == "--" and words:
            request.program = _program.Script(words)
        elif word.startswith("--") and word != "--":
            _take_long(request, word, words)
        elif word.startswith("-") and word not in ("-", "--"):
            _take_short(request, word, words)
        elif word == "-":
            raise Refused("a program cannot be read from standard input; write it to a file")
        elif word != "--":
            request.program = _program.Script([word, *words])
    if "slow" in request.given and "flight" not in request.given and not request.help:
        raise Refused(
            "--slow needs --flight, of which it writes what is kept; see 'kymograph help run'"
        )
    if not request.program and not request.help:
        raise Refused("'run' needs a script, -m MODULE or -c CODE; see 'kymograph help run'")
    return request


# ---- the recording


def _remove(path: str) -> None:
    try:
        os.unlink(path)
    except OSError:
        pass  # it is gone already, or stays


class Recording:
    """The session of a program, and what becomes of its capture."""

    def __init__(self, request: Request) -> None:
        assert request.program is not None
        output: str = request.given.get("output", request.program.stem + ".kymo")
        self.output = os.path.abspath(output)
        self.shown = output
        chosen = "" if output.endswith(".kymo") else kymograph._core.export_format(output)
        if chosen is None:
            raise Refused(
                f"-o {output}: the name chooses the format; it ends in .kymo, or as 'kymograph "
                "help export' says: .json, .pftrace, .html, ..."
            )
        self.format = chosen  # of the export; "" for the capture itself
        # An export is made from a capture, which lies beside it until that is done.
        beside = ".kymo" if self.format else ""
        self.capture = self.output + beside
        self.shown_capture = self.shown + beside
        self.quiet = "quiet" in request.given
        self.on_crash = "on-crash" in request.given
        self.settings = request.settings()
        self.pid = os.getpid()
        self.began = 0.0
        self.native = ""

    def check(self) -> None:
        """Raise Refused for an export that could not be written at the end."""
        if not self.format:
            return  # its start will say so
        from kymograph.verbs.native import find

        program = find()
        if program is None:
            raise Refused("the program 'kymograph', which exports, is missing; reinstall kymograph")
        self.native = str(program)
        if os.path.isdir(self.output):
            raise Refused(f"{self.shown}: this is a directory; name a file in it")
        if os.path.exists(self.output) and not os.access(self.output, os.W_OK):
            raise Refused(f"{self.shown} cannot be written: Permission denied")

    def start(self) -> None:
        """Start the session. Raises Refused."""
        exclude = [*self.settings.pop("exclude", ()), *_patterns.main_runner()]
        if "sample" in self.settings:
            from kymograph import _sample

            _sample.root = _program.execute.__code__.co_filename
        self.began = time.perf_counter()
        try:
            kymograph.start(self.capture, exclude=exclude, **self.settings)
        except OSError as error:
            path = self.shown_capture if os.path.exists(self.capture) else self.shown
            raise Refused(f"{path} cannot be recorded into: {error.strerror}") from None
        except (ValueError, RuntimeError) as error:
            raise Refused(str(error)) from None
        if "flight" in self.settings:
            from kymograph import _flight

            _flight.watch()
        if self.on_crash:
            kymograph.crash_stacks()  # after the flight recorder: its handlers come second
        # Registered before anything of the program's, and so called after all of it.
        atexit.register(self.finish)

    def finish(self) -> None:
        """Stop the session and say what came of it."""
        if os.getpid() != self.pid:
            return  # a child that was forked
        seconds = time.perf_counter() - self.began
        try:
            if kymograph.running():
                kymograph.stop()
        except OSError as error:
            _summary.say(
                f"recording failed: {error.strerror}; {self.shown_capture} holds what was "
                "written until then"
            )
            return
        for stream in (sys.stdout, sys.stderr):
            try:
                stream.flush()
            except Exception:
                pass  # the interpreter tries again, and complains
        try:
            self.keep(seconds)
        except KeyboardInterrupt:
            _summary.say(f"interrupted; the capture is {self.shown_capture}")

    def keep(self, seconds: float) -> None:
        """Turn the capture into what was asked for."""
        if self.format and not self.export():
            return
        if not self.quiet:
            _summary.say(_summary.recorded(self.capture, self.output, self.shown, seconds))
            _summary.say(f"next: {self.next()}")
        if self.format:
            _remove(self.capture)

    def next(self) -> str:
        if self.format in ("chrome", "perfetto"):
            return f"open {self.shown} in ui.perfetto.dev"
        if self.format:
            return f"'kymograph help export' says what opens {self.shown}"
        return f"kymograph report {self.shown} · kymograph export {self.shown} --to chrome"

    def export(self) -> bool:
        """Write the export; False, after one line, when that fails."""
        import signal

        arguments = ["export", self.capture, "--to", self.format, "-o", self.output]
        try:
            # Not with subprocess: neither its threads nor its imports are wanted at exit.
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)  # a program may ignore its children
            child = os.posix_spawn(self.native, [self.native, *arguments], os.environ)
            done = os.waitpid(child, 0)[1] == 0
        except OSError:
            done = False
        if not done:
            _summary.say(
                f"{self.shown} was not written, and the capture is kept; to try again: "
                f"kymograph export {self.shown_capture} --to {self.format} -o {self.shown}"
            )
        return done

    def drop(self) -> None:
        """Forget the recording of a program that did not run."""
        atexit.unregister(self.finish)
        if kymograph.running():
            kymograph.stop()
        _remove(self.capture)


def _quoted(word: str) -> str:
    plain = word.replace("_", "").replace("-", "").replace(".", "").replace("/", "")
    return word if plain.isalnum() else "'" + word.replace("'", "'\\''") + "'"


def _describe(arguments: list[str]) -> None:
    """Note in the capture what was run."""
    kymograph.metadata("command", " ".join(["kymograph run", *map(_quoted, arguments)]))
    kymograph.metadata("python", sys.version.partition(" ")[0])


def _record(request: Request, arguments: list[str]) -> int:
    """Run and record the program of `request`; its exit code. Raises Refused."""
    assert request.program is not None
    recording = Recording(request)
    recording.check()
    error = _program.prepare(request.program)
    if error is not None:
        return _program.report(error)
    recording.start()
    _describe(arguments)
    try:
        return _program.execute(request.program)
    except Refused:
        recording.drop()
        raise


def run(arguments: list[str]) -> int:
    """Run the program that `arguments` ask for; its exit code, or 2 when it was not run."""
    try:
        request = parse(arguments)
        if request.help or request.program is None:
            from kymograph.verbs.native import execute

            return execute(["help", "run"])
        return _record(request, arguments)
    except Refused as refused:
        _summary.say(str(refused))
        return 2
