"""`kymograph run`: run a Python program as `python` does, and record it.

The native program prints the help (src/cli/run/verb_run.c); a test checks that both have the same
options.
"""

from __future__ import annotations

import os
import sys

import kymograph
from kymograph import _program, _summary, _units
from kymograph._program import Refused
from kymograph._recording import Recording

TYPE_CHECKING = False  # avoids importing typing
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

# ---- the command line


def _on_off(text: str) -> bool:
    if text not in ("on", "off"):
        raise ValueError("on or off")
    return text == "on"


def _c_calls(text: str) -> bool:
    if text == "fast":
        raise ValueError("available any more; use on or off, or --overhead 5% for less cost")
    return _on_off(text)


def _unit(parse: Callable[[str], Any], text: str, what: str) -> Any:
    """Return `parse(text)`. Raises ValueError with `what`, a description of valid text."""
    try:
        return parse(text)
    except ValueError:
        raise ValueError(what) from None


def _share(text: str) -> float:
    share: float = _unit(_units.parse_share, text, "a share like 5%, above 0% and below 100%")
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


def _budget(text: str) -> int:
    def parse(text: str) -> int:
        return _units.parse_size(text, _units.LEAST_BUDGET)

    size: int = _unit(parse, text, "a size like 64M or 1G, of at least 1M")
    return size


def _flight(text: str) -> str:
    _unit(_units.parse_flight, text, "a time or size to keep like 10s or 100M, of at least 64K")
    return text


def _slow(text: str) -> str:
    _unit(_units.parse_slow, text, "a time like 200ms or 1s, or PATTERN=200ms")
    return text


def _sample(text: str) -> str:
    from kymograph._sample import MOST, parse

    try:
        parse(text)
    except ValueError:
        raise ValueError(f"a rate from 1 to {MOST}, like 1000 or 100,wall") from None
    return text


def _source(text: str) -> tuple[str, bool]:
    name, _, value = text.rpartition("=")
    if not name or value not in ("on", "off"):
        raise ValueError("NAME=on or NAME=off")
    return name, value == "on"


def _ops(text: str) -> str:
    from kymograph._torch import MODES

    return _word(*MODES)(text)


def _memory_mode(text: str) -> str:
    from kymograph.memory import MODES

    return _word(*MODES)(text)


def _memory_rate(text: str) -> int:
    size: int = _unit(_units.parse_size, text, "a size like 512K or 1M")
    return size


def _memory_domains(text: str) -> str:
    from kymograph.memory import DOMAINS, domains_from

    _unit(domains_from, text, f"a list of {', '.join(DOMAINS)}")
    return text


def _memory_signal(text: str) -> int:
    from kymograph.memory import signal_from

    number: int = _unit(signal_from, text, "a signal like USR2")
    return number


class _Option:
    """How an option is parsed; `keyword` is its name in `kymograph.start`, if it has one."""

    def __init__(
        self,
        letter: str = "",
        keyword: str = "",
        read: Callable[[str], Any] | None = None,
        repeats: bool = False,
        usual: str = "",
    ) -> None:
        self.letter = letter
        self.keyword = keyword
        self.read = read  # None for a switch
        self.repeats = repeats
        self.usual = usual  # the value when none is given; "": it needs one


OPTIONS = {
    "output": _Option("o", read=str),
    "dir": _Option(read=str),
    "calls": _Option(keyword="calls", read=_on_off),
    "sample": _Option(keyword="sample", read=_sample),
    "c-calls": _Option(keyword="c_calls", read=_c_calls),
    "gc": _Option(keyword="gc", read=_on_off),
    "children": _Option(read=_on_off),
    "source": _Option(keyword="sources", read=_source, repeats=True),
    "ops": _Option(keyword="ops", read=_ops, usual="full"),
    "execution-trace": _Option(read=str),
    "memory": _Option(read=_memory_mode, usual="exact"),
    "memory-rate": _Option(read=_memory_rate),
    "memory-domains": _Option(read=_memory_domains),
    "memory-stacks": _Option(read=_word("python", "native", "both", "none")),
    "memory-objects": _Option(),
    "memory-signal": _Option(read=_memory_signal),
    "memory-preload": _Option(),
    "include": _Option(keyword="include", read=str, repeats=True),
    "exclude": _Option(keyword="exclude", read=str, repeats=True),
    "no-stdlib": _Option(),
    "max-depth": _Option(keyword="max_depth", read=_number(1, 2**31 - 1)),
    "overhead": _Option(keyword="overhead", read=_share),
    "flight": _Option(keyword="flight", read=_flight),
    "slow": _Option(keyword="slow", read=_slow),
    "budget": _Option(keyword="budget", read=_budget),
    "policy": _Option(keyword="policy", read=_word("help", "drop")),
    "level": _Option(keyword="level", read=_number(1, 19)),
    "on-crash": _Option(read=_word("stacks")),
    "no-command": _Option(),
    "force": _Option(),
    "quiet": _Option("q"),
}


class Request:
    """A parsed command line."""

    def __init__(self) -> None:
        self.help = False
        self.given: dict[str, Any] = {}  # by option name
        self.program: _program.Program | None = None

    def settings(self) -> dict[str, Any]:
        """Return the given options that `kymograph.start` takes."""
        settings = {
            OPTIONS[name].keyword: value
            for name, value in self.given.items()
            if OPTIONS[name].keyword
        }
        if "no-stdlib" in self.given:
            settings["stdlib"] = False
        if "execution-trace" in self.given:
            settings["ops"] = "full"
        if "sources" in settings:
            settings["sources"] = dict(settings["sources"])
        if "memory" in self.given:
            settings["memory"] = self._memory()
        if "no-command" in self.given:
            settings["command"] = False
        return settings

    def _memory(self) -> dict[str, Any]:
        words = {"memory": "mode", "memory-signal": "snapshot_signal"}
        return {
            words.get(name, name.removeprefix("memory-")): value
            for name, value in self.given.items()
            if name.startswith("memory") and name != "memory-preload"
        }

    def take(self, name: str, value: str) -> None:
        """Store the option `name`. Raises Refused for an invalid value."""
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
        raise Refused(f"{name} needs a value; see 'kymograph help run'")
    return words.pop(0)


def _optional(option: _Option, words: list[str]) -> str:
    """Return the next of `words` if it is a value of `option` and not a script of that name."""
    assert option.read is not None
    try:
        option.read(words[0])
    except (ValueError, IndexError):
        return option.usual
    return option.usual if os.path.exists(words[0]) else words.pop(0)


def _take_long(request: Request, word: str, words: list[str]) -> None:
    name, equals, value = word[2:].partition("=")
    if name == "help" and not equals:
        request.help = True
    elif name not in OPTIONS:
        raise _unknown(f"--{name}")
    elif OPTIONS[name].usual and not equals:
        request.take(name, _optional(OPTIONS[name], words))
    elif OPTIONS[name].read is not None:
        request.take(name, value if equals else _value(f"--{name}", words))
    elif equals:
        raise Refused(f"--{name} takes no value")
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
    """Parse `arguments`. Raises Refused."""
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
            raise Refused("cannot run a program from standard input; write it to a file")
        elif word != "--":
            request.program = _program.Script([word, *words])
    if "slow" in request.given and "flight" not in request.given and not request.help:
        raise Refused("--slow works only with --flight; see 'kymograph help run'")
    if "dir" in request.given and "output" in request.given and not request.help:
        raise Refused("--dir and --output exclude each other; use one of them")
    if "execution-trace" in request.given and not request.help:
        if request.given.get("ops", "full") != "full":
            raise Refused("--execution-trace needs all of an operator: use --ops full, or no --ops")
        if "dir" in request.given:
            raise Refused(
                "--execution-trace and --dir exclude each other; 'kymograph export FILE --to et' "
                "makes one of each capture"
            )
    if not request.help:
        for name in request.given:
            if name.startswith("memory-") and "memory" not in request.given:
                raise Refused(f"--{name} works only with --memory; see 'kymograph help run'")
        if "memory-rate" in request.given and request.given["memory"] != "sampled":
            raise Refused("--memory-rate works only with --memory=sampled")
        if {"flight", "memory-signal"} <= request.given.keys() and request.given[
            "memory-signal"
        ] == _memory_signal("USR2"):
            raise Refused("--flight takes USR2 to write the capture; use --memory-signal USR1")
    if not request.program and not request.help:
        raise Refused("'run' needs a script, -m MODULE or -c CODE; see 'kymograph help run'")
    return request


# ---- what is run


def _quoted(word: str) -> str:
    plain = word.replace("_", "").replace("-", "").replace(".", "").replace("/", "")
    return word if plain.isalnum() else "'" + word.replace("'", "'\\''") + "'"


def _describe(arguments: list[str], request: Request) -> None:
    """Store in the capture what was run."""
    assert request.program is not None
    if "no-command" in request.given:
        arguments = [request.program.stem]
    kymograph.metadata("command", " ".join(["kymograph run", *map(_quoted, arguments)]))
    kymograph.metadata("python", sys.version.partition(" ")[0])
    kymograph.process_name(request.program.stem)
    if "sample" in request.settings():  # the tracer names threads, but it may be off
        kymograph.thread_name("MainThread")


def _launch(request: Request, program: _program.Program) -> None:
    """Start a program over if it needs a preloaded library; else return. Raises Refused."""
    from kymograph import _preload

    if isinstance(program, _program.Script) and program.is_native():
        _preload.execute(program.argv, program.path, program.stem, request.given)
    if "memory-preload" in request.given and not _preload.is_loaded():
        _preload.again()


def _record(request: Request, arguments: list[str]) -> int:
    """Run and record the program of `request`; return its exit code. Raises Refused."""
    assert request.program is not None
    if "memory" in request.given:
        _launch(request, request.program)
    recording = Recording(request.given, request.settings(), request.program.stem)
    recording.check()
    error = _program.prepare(request.program)
    if error is not None:
        return _program.report(error)
    recording.start()
    _describe(arguments, request)
    try:
        return _program.execute(request.program)
    except Refused:
        recording.drop()
        raise


def run(arguments: list[str]) -> int:
    """Run the program that `arguments` name; return its exit code, or 2 when it was not run."""
    try:
        request = parse(arguments)
        if request.help or request.program is None:
            from kymograph.verbs.native import execute

            return execute(["help", "run"])
        return _record(request, arguments)
    except Refused as refused:
        _summary.say(str(refused))
        return 2
