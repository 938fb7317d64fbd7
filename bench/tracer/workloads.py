"""What is traced: single kinds of call, and a few small programs."""

from __future__ import annotations

import ast
import difflib
import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass

try:
    from re import _compiler as sre  # type: ignore[attr-defined]
except ImportError:  # 3.10
    import sre_compile as sre


@dataclass(frozen=True)
class Workload:
    name: str
    what: str
    run: Callable[[int], object]  # do it that many times
    calls: int = 1  # a time is divided by this too: ns per call
    python: bool = True  # has calls of Python functions
    program: bool = False  # many calls of many kinds: µs per iteration

    @property
    def unit(self) -> str:
        return "µs" if self.program else "ns"

    @property
    def scale(self) -> float:
        """Nanoseconds in one `unit`."""
        return 1e3 if self.program else 1.0


FIB_N = 14
FIB_CALLS = 1219


def fib(n: int) -> int:
    return n if n < 2 else fib(n - 1) + fib(n - 2)


def run_fib(count: int) -> None:
    for _ in range(count):
        fib(FIB_N)


def empty() -> None:
    pass


def run_function(count: int) -> None:
    for _ in range(count):
        empty()


class Thing:
    def method(self, x: int) -> int:
        return x


def run_method(count: int) -> None:
    thing = Thing()
    for _ in range(count):
        thing.method(1)


def run_len(count: int) -> None:
    pair = (1, 2)
    for _ in range(count):
        len(pair)


def items(count: int) -> Iterator[int]:
    i = 0
    while i < count:
        yield i
        i += 1


def run_generator(count: int) -> None:
    for _ in items(count):
        pass


async def awaited() -> int:
    return 1


async def awaiting(count: int) -> None:
    for _ in range(count):
        await awaited()


def run_coroutine(count: int) -> None:
    try:
        awaiting(count).send(None)
    except StopIteration:
        pass


def raising() -> None:
    raise ValueError


def run_exception(count: int) -> None:
    for _ in range(count):
        try:
            raising()
        except ValueError:
            pass


PATTERN = r"(?P<a>[a-z]+(\d{1,3}|x*?)foo)|(?:[^abc]+bar|baz(?=qux))*\s+$"


def run_re(count: int) -> None:
    for _ in range(count):
        sre.compile(PATTERN, 0)


DOCUMENT = {
    "a": [1, 2.5, None, True, {"b": "ccccc"}],
    "d": list(range(20)),
    "e": {str(i): i for i in range(10)},
}
ENCODER = json.JSONEncoder(indent=1)


def run_json(count: int) -> None:
    for _ in range(count):
        ENCODER.encode(DOCUMENT)


SOURCE = """\
def f(a, b=1, *c, d, **e):
    for i in range(10):
        if a[i] > b and not c: x.y.z(i, k=[j*2 for j in q])
    return {**e, 'k': (a, b)}
"""


def run_ast(count: int) -> None:
    for _ in range(count):
        ast.unparse(ast.parse(SOURCE))


BEFORE = ["the quick brown fox", "jumps over", "the lazy dog"] * 3
AFTER = ["the quick red fox", "leaps over", "a lazy cat", "now"] * 3


def run_difflib(count: int) -> None:
    for _ in range(count):
        for _ in difflib.ndiff(BEFORE, AFTER):
            pass


GRAMMAR = r"""
    ?start: sum
    ?sum: product (("+" | "-") product)*
    ?product: atom (("*" | "/") atom)*
    ?atom: NUMBER | NAME | "-" atom | "(" sum ")" | NAME "(" [sum ("," sum)*] ")"
    NUMBER: /[0-9]+(\.[0-9]+)?/
    NAME: /[a-z_]+/
    %ignore /[ \t]+/
"""
EXPRESSION = " + ".join(f"f(a * {i}, -(b / 2.5)) - (c_{'x' * (i % 5)} + 7)" for i in range(20))


def run_lark(count: int) -> None:
    """Not of the standard library: the benchmark has it installed beforehand."""
    global _lark_parser
    if _lark_parser is None:
        import lark

        _lark_parser = lark.Lark(GRAMMAR, parser="lalr").parse
    for _ in range(count):
        _lark_parser(EXPRESSION)


_lark_parser: Callable[[str], object] | None = None

WORKLOADS = [
    Workload("fib", "recursive Python function", run_fib, calls=FIB_CALLS),
    Workload("function", "Python function that does nothing", run_function),
    Workload("method", "Python method", run_method),
    Workload("len", "C function", run_len, python=False),
    Workload("generator", "item of a generator", run_generator),
    Workload("coroutine", "await of a coroutine", run_coroutine),
    Workload("exception", "exception through a frame", run_exception),
    Workload("re", "compile a regular expression", run_re, program=True),
    Workload("json", "encode with indentation", run_json, program=True),
    Workload("ast", "parse and unparse", run_ast, program=True),
    Workload("difflib", "ndiff of two texts", run_difflib, program=True),
    Workload("lark", "a parser in pure Python", run_lark, program=True),
]
