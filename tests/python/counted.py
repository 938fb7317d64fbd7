"""Run programs one after the other and say how often each of them called what.

    counted.py TOOL OUT PROGRAM...

A program is a script, or a module of the package `test` of the standard library. OUT becomes
a JSON list with an entry for each: how it ended, and, unless TOOL is `none`, the calls of
Python functions by file, first line and name and of C functions by owner and name.

Whatever the tool, a program finds the same stack below it, and the same modules: some look.
"""

from __future__ import annotations

import cProfile
import gc
import importlib
import io
import json
import os
import random
import sys
import threading
import types
import unittest
from collections import Counter
from collections.abc import Iterable
from contextlib import redirect_stderr, redirect_stdout
from typing import Any

from traced import check

import kymograph

Outcome = dict[str, Any]
Counts = dict[str, dict[str, int]]

FILE = os.path.abspath(__file__)
HERE = os.path.dirname(FILE)
PLACE = os.getcwd() + os.sep  # each tool has its own
CAPTURE = f"{os.getcwd()}.kymo"  # beside it: some programs list the files that are there


def module_of(name: str) -> types.ModuleType | None:
    """The module that holds the tests of NAME; None for a script."""
    return None if name.endswith(".py") else importlib.import_module(f"test.{name}")


def load(name: str) -> Any:
    """What `program` runs for NAME; all that can be done before is done here."""
    module = module_of(name)
    if module:
        return unittest.defaultTestLoader.loadTestsFromModule(module)
    with open(os.path.join(HERE, "..", "programs", name), encoding="utf-8") as file:
        return compile(file.read(), name, "exec")


def program(loaded: Any) -> Any:
    """Run it. What is called in here counts, and nothing else."""
    if isinstance(loaded, types.CodeType):
        exec(loaded, {"__name__": "__main__"})
        return None
    result = unittest.TestResult()
    loaded.run(result)
    return result


def outcome(result: Any, printed: str) -> Outcome:
    """How a program ended, in a form that does not depend on the run."""
    if result is None:
        return {"printed": printed}
    return {
        "run": result.testsRun,
        "failures": sorted(str(test) for test, _ in result.failures),
        "errors": sorted(str(test) for test, _ in result.errors),
        "skipped": sorted(str(test) for test, _ in result.skipped),
    }


# ---- the tools


def python_key(file: str, line: int, name: str) -> str:
    return f"{file.replace(PLACE, '')}:{line}:{name}"


def c_key(function: Any) -> str:
    """Its module and name; of methods the name only.

    A method is shown as bound to its object, whichever type it was taken from.
    """
    bound_to = function.__self__
    if isinstance(bound_to, types.ModuleType) or (bound_to is None and function.__module__):
        return f"{function.__module__}.{function.__name__}"
    return str(function.__name__)


class Profile:
    """A counting profile function."""

    def __init__(self) -> None:
        self.python: Counter[tuple[str, int, str]] = Counter()
        self.c: Counter[str] = Counter()
        self.on = False

    def __call__(self, frame: Any, event: str, arg: Any) -> None:
        if event == "call":
            code = frame.f_code
            self.on |= code is program.__code__
            if self.on:
                self.python[code.co_filename, code.co_firstlineno, code.co_name] += 1
        elif event == "c_call":
            if self.on:
                self.c[c_key(arg)] += 1
        elif event == "return" and frame.f_code is program.__code__:
            self.on = False

    def counts(self) -> Counts:
        python = {python_key(*key): count for key, count in self.python.items()}
        return {"python": python, "c": dict(self.c)}


def with_setprofile(loaded: Any) -> tuple[Any, Counts]:
    profile = Profile()
    threading.setprofile(profile)
    sys.setprofile(profile)
    try:
        result = program(loaded)
    finally:
        lost = sys.getprofile() is not profile
        sys.setprofile(None)
        threading.setprofile(None)
    if lost:
        raise SystemExit("the program has removed the profile function")
    return result, profile.counts()


def with_cprofile(loaded: Any) -> tuple[Any, Counts]:
    profiler = cProfile.Profile()
    profiler.enable()
    try:
        result = program(loaded)
    finally:
        profiler.disable()
    python: Counter[str] = Counter()
    c: Counter[str] = Counter()
    for entry in profiler.getstats():
        code = entry.code
        if isinstance(code, str):
            c[code] += entry.callcount
        else:
            key = python_key(code.co_filename, code.co_firstlineno, code.co_name)
            python[key] += entry.callcount
    del c["<method 'disable' of '_lsprof.Profiler' objects>"]
    return result, {"python": dict(python), "c": dict(c)}


def with_kymo(loaded: Any) -> tuple[Any, Counts]:
    kymograph.start(CAPTURE, c_calls=True)
    try:
        result = program(loaded)
    finally:
        kymograph.stop()
    counts = read()
    os.unlink(CAPTURE)
    return result, counts


def read() -> Counts:
    """What `program` called, from the capture, which shall be well formed."""
    counts: Counter[int] = Counter()
    names: dict[int, tuple[bool, str]] = {}
    with kymograph.open(CAPTURE) as recording:
        check(tally(recording.events(), counts, names))
    return totals(counts, names)


def tally(
    events: Iterable[kymograph.Event], counts: Counter[int], names: dict[int, tuple[bool, str]]
) -> Iterable[kymograph.Event]:
    """EVENTS, while the calls that `program` makes are counted by their keys."""
    counting = False
    for event in events:
        kind = event.kind
        if kind == "enter":
            key = event.key
            if key not in names:
                names[key] = name_of(event)
                counting |= names[key][1].endswith(":program") and event.file == FILE
            if counting:
                counts[key] += 1
        elif kind == "leave" and event.name == "program" and event.file == FILE:
            counting = False
        yield event


def name_of(event: kymograph.Event) -> tuple[bool, str]:
    """Is it a Python function, and its key."""
    name = event.name
    if event.line:
        return True, python_key(event.file, event.line, name.rpartition(".")[2])
    is_method = "." in name or not event.file
    return False, name.rpartition(".")[2] if is_method else f"{event.file}.{name}"


def totals(counts: Counter[int], names: dict[int, tuple[bool, str]]) -> Counts:
    result: dict[str, Counter[str]] = {"python": Counter(), "c": Counter()}
    for key, count in counts.items():
        is_python, name = names[key]
        result["python" if is_python else "c"][name] += count
    return {kind: dict(counter) for kind, counter in result.items()}


def with_none(loaded: Any) -> tuple[Any, Counts]:
    return program(loaded), {}


# Programs that are not given to a tool, and why.
NOT_FOR: dict[str, dict[str, str]] = {
    "none": {},
    "kymograph": {},
    "setprofile": {
        "test_generators": "signal handlers raise in it, and it is removed",
    },
    "cprofile": {
        "threads.py": "it has one stack for all threads, and may crash",
    },
}
if (3, 12) <= sys.version_info < (3, 13):
    NOT_FOR["cprofile"]["test_ordered_dict"] = (
        "it crashes, where a method is called without its object"
    )

if (3, 11) <= sys.version_info < (3, 12):
    unseen = (
        "it is told of the end of a generator that is thrown into and not of its beginning, "
        "and takes that for the end of its caller"
    )
    NOT_FOR["cprofile"] |= {"test_generators": unseen, "test_yield_from": unseen}

TOOLS = {
    "none": with_none,
    "kymograph": with_kymo,
    "setprofile": with_setprofile,
    "cprofile": with_cprofile,
}


def run(tool: str, names: Iterable[str]) -> list[Outcome]:
    gc.disable()  # what finalizers call would depend on when they run
    # Programs that look at all modules shall find the same ones, whatever the tool. These
    # are there when `python -m` runs a program, as `kymograph run` does; what a session needs is
    # loaded by a session.
    for needed in ("atexit", "importlib.util", "runpy"):
        importlib.import_module(needed)
    if not kymograph.running():
        kymograph.start(CAPTURE)
        kymograph.stop()
        os.unlink(CAPTURE)
    tools = {name for name in sys.modules if name.partition(".")[0] == "kymograph"}
    hidden = {name: sys.modules.pop(name) for name in tools}
    try:
        return [run_one(tool, name) for name in names]
    finally:
        sys.modules.update(hidden)


def run_one(tool: str, name: str) -> Outcome:
    loaded = load(name)
    random.seed(0)
    output = io.StringIO()
    with redirect_stdout(output), redirect_stderr(output):
        result, counts = TOOLS["none" if name in NOT_FOR[tool] else tool](loaded)
    return {**outcome(result, output.getvalue()), **counts}


def main(arguments: list[str]) -> None:
    tool, out, *names = arguments
    done = run(tool, names)
    with open(out, "w", encoding="utf-8") as file:
        json.dump(done, file)


if __name__ == "__main__":
    main(sys.argv[1:])
