"""Callables of C are recorded under the names they have, with what they call back inside."""

from __future__ import annotations

import contextlib
import functools
import operator
import re
import sys
import time
import types
import weakref
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from traced import MONITORING, Trace, Traced, read_trace, shown, trace

import kymograph

STARS = sys.version_info >= (3, 13)  # before, methods called with *arguments are not reported
SUPER_BY_CALL = sys.version_info < (3, 12)  # then super() is an instruction, reported as a call


# ---- C callables


def double(x: int) -> int:
    return 2 * x


def of_c(result: Trace) -> list[tuple[str, str]]:
    """Module and name of what the program called."""
    return [(call.file, call.name) for call in result.only("program").calls]


def test_functions_and_methods_of_c_have_module_and_type(traced: Traced) -> None:
    def program() -> None:
        len([])
        [].append(1)
        list.append([], 1)
        bound = {}.get
        bound(1)
        "".join([])
        dict.fromkeys([])
        str.maketrans({})
        operator.add(1, 2)
        int.from_bytes(b"", "big")
        int.mro()

    assert of_c(traced(program)) == [
        ("builtins", "len"),
        ("builtins", "list.append"),
        ("builtins", "list.append"),
        ("builtins", "dict.get"),
        ("builtins", "str.join"),
        ("builtins", "dict.fromkeys"),
        ("builtins", "str.maketrans"),
        ("_operator", "add"),
        ("builtins", "int.from_bytes"),
        ("builtins", "type.mro"),
    ]


def test_each_type_has_a_new_of_its_own(traced: Traced) -> None:
    class Mine: ...

    class Pair(tuple): ...

    def program() -> None:
        object.__new__(Mine)
        Mine.__new__(Mine)
        tuple.__new__(Pair)
        int.__new__(int, 1)

    assert of_c(traced(program)) == [
        ("builtins", "object.__new__"),
        ("builtins", "object.__new__"),
        ("builtins", "tuple.__new__"),
        ("builtins", "int.__new__"),
    ]


@pytest.mark.skipif(not MONITORING, reason="reported since 3.12")
def test_slot_wrappers_belong_to_their_type(traced: Traced) -> None:
    def program() -> None:
        dict.__init__({})
        list.__init__([])
        [].__len__()
        "".__len__()
        object.__repr__(1)
        int.__repr__(1)

    assert of_c(traced(program)) == [
        ("builtins", "dict.__init__"),
        ("builtins", "list.__init__"),
        ("builtins", "list.__len__"),
        ("builtins", "str.__len__"),
        ("builtins", "object.__repr__"),
        ("builtins", "int.__repr__"),
    ]


@pytest.mark.skipif(not MONITORING, reason="reported since 3.12")
def test_types_and_callable_objects_are_calls(traced: Traced) -> None:
    class Mine:
        def __call__(self) -> None: ...

    partial, getter = functools.partial(len, ()), operator.itemgetter(0)
    weak, mine = weakref.ref(Mine), Mine()

    def program() -> None:
        int("5")
        Mine()
        mine()
        partial()
        getter([1])
        weak()
        types.SimpleNamespace()

    prefix = "test_types_and_callable_objects_are_calls.<locals>."
    assert of_c(traced(program)) == [
        ("builtins", "int"),
        (__name__, f"{prefix}Mine"),
        (__name__, f"{prefix}Mine"),
        ("builtins", "partial(len)"),
        ("operator", "itemgetter"),
        (weak.__class__.__module__, weak.__class__.__name__),
        ("types", "SimpleNamespace"),
    ]


@pytest.mark.skipif(not MONITORING, reason="reported since 3.12")
def test_super_is_a_call(traced: Traced) -> None:
    class Base:
        def greet(self) -> None: ...

    class Derived(Base):
        def greet(self) -> None:
            super().greet()

    derived = Derived()
    result = traced(lambda: derived.greet())

    assert list(result.only("Derived.greet").lines()) == [
        "Derived.greet",
        "  super",
        "  Base.greet",
    ]


@pytest.mark.skipif(
    sys.version_info[:2] == (3, 10), reason="3.10 does not report methods around C functions"
)
def test_a_method_around_a_c_function_is_a_call_of_that(traced: Traced) -> None:
    method = types.MethodType(len, "abc")

    def program() -> int:
        return method()

    result = traced(program)

    assert result.result == 3
    assert of_c(result) == [("builtins", "len")]


@pytest.mark.skipif(not MONITORING, reason="reported since 3.12")
def test_methods_around_anything_keep_the_nesting(traced: Traced) -> None:
    method = types.MethodType(types.MethodType(max, 1), 2)
    of_python = types.MethodType(types.MethodType(lambda *args: args, 1), 2)
    of_type = types.MethodType(dict, {})

    def program() -> None:
        for _ in range(20):  # until the instructions are specialised
            method()
            method(*())
            method(**{})
            of_python()
            of_python(*(), **{})
            of_type()
            of_type(*())
            of_type(a=1)

    calls = [str(call) for call in traced(program).only("program").calls]

    with_stars = 20 if STARS else 0
    assert (calls.count("max"), calls.count("dict")) == (20 + 2 * with_stars, 40 + with_stars)
    assert {"range", "max", "dict", "<lambda>"} >= set(calls)
    assert calls.count("<lambda>") == 40


def back(number: int) -> int:
    return -number


ORDERED = types.MethodType(sorted, [2, 1])
WRONG = types.MethodType(len, 1)

stars = pytest.mark.skipif(not STARS, reason="reported since 3.13")


@stars
def test_a_method_around_c_with_star_arguments_lasts_until_its_caller_continues(
    traced: Traced,
) -> None:
    """Nobody tells when it ends."""

    def program() -> list[int]:
        try:
            WRONG(*())
        except TypeError:
            ORDERED(*(), **{"key": back})
        return ORDERED(*(), **{"key": back})

    result = traced(program)

    assert result.result == [2, 1]
    once = ["  sorted", "    back", "    back"]
    assert shown(result, "program") == ["program", "  len", *once, *once]


@stars
def test_such_a_call_has_its_duration(traced: Traced) -> None:
    nap = types.MethodType(time.sleep, 0.05)

    def program() -> None:
        nap(*())
        len("over")

    events = [e for e in traced(program).events if e.name in ("sleep", "len")]

    assert [(e.name, e.kind) for e in events] == [
        ("sleep", "enter"),
        ("sleep", "leave"),
        ("len", "enter"),
        ("len", "leave"),
    ]
    assert events[1].time - events[0].time >= 50_000_000


@stars
def test_whatever_the_caller_does_next_ends_such_a_call(traced: Traced) -> None:
    class Thing:
        @property
        def value(self) -> int:
            return 1

        def __getitem__(self, at: int) -> int:
            return at

        def __init__(self) -> None:
            pass

    def numbers() -> Iterator[int]:
        yield 1
        yield ORDERED(*(), **{"key": back})[0]

    thing = Thing()

    def program() -> None:
        for _ in range(20):  # until the instructions are specialised
            ORDERED(*())
            thing.value  # noqa: B018
            ORDERED(*())
            thing[1]
            ORDERED(*())
            Thing()
            ORDERED(*())
            for _ in numbers():
                ORDERED(*())
            with contextlib.suppress(TypeError):
                WRONG(*())

    (called,) = traced(program).find("program")

    (inner,) = {str(c.calls[0]) for c in called.calls if str(c) == "numbers resume>yield"}
    assert inner == "sorted"
    others = [str(c) for c in called.calls if not c.calls]
    assert others.count("sorted") == 20 * 6
    assert others.count("len") == 20
    assert not [c for c in called.calls if c.name == "sorted" and c.calls]


@stars
def test_such_calls_nest(traced: Traced) -> None:
    def deeper(n: int) -> int:
        return types.MethodType(max, [n])(*(), **{"key": lambda _: deeper(n - 1) if n else 0})

    def program() -> None:
        deeper(8)
        len("over")

    result = traced(program)

    assert len(result.find("max")) == 9
    assert [str(c) for c in result.only("program").calls] == ["deeper", "len"]


@stars
def test_such_a_call_may_pause_and_stop_the_session(capture_path: Path) -> None:
    def pausing(number: int) -> int:
        kymograph.pause()
        kymograph.resume()
        return number

    def stopping(number: int) -> int:
        if kymograph.running():
            kymograph.stop()
        return number

    for callback in (pausing, stopping):
        kymograph.start(capture_path)
        ORDERED(*(), **{"key": callback})
        back(1)
        if kymograph.running():
            kymograph.stop()
        read_trace(capture_path)  # and check it
    result = trace(capture_path, lambda: back(ORDERED(*())[0]))
    assert [len(result.find(name)) for name in ("sorted", "back")] == [1, 1]


@stars
def test_within_a_budget_such_a_call_is_over_at_once(traced: Traced) -> None:
    """What would show its end may be switched off."""

    def program() -> list[int]:
        return ORDERED(*(), **{"key": back})

    calls = [str(call) for call in traced(program, overhead=0.9).only("program").calls]
    assert calls == ["sorted", "back", "back"]


@pytest.mark.skipif(not STARS, reason="reported since 3.13")
def test_such_a_method_does_not_shift_the_limit_of_depth(traced: Traced) -> None:
    method = types.MethodType(len, "abc")

    def outer() -> None:
        inner()
        inner()

    def inner() -> int:
        return method(*())

    assert shown(traced(outer, max_depth=2), "outer") == ["outer", *["  inner"] * 2]
    assert shown(traced(outer, max_depth=3), "outer") == ["outer", *["  inner", "    len"] * 2]


def test_a_c_function_that_raises_is_unwound(traced: Traced) -> None:
    def program() -> None:
        for _ in range(20):
            with contextlib.suppress(TypeError):
                len(5)  # type: ignore[arg-type]
            try:
                [].index(1)
            except ValueError:
                pass
            try:
                "".join(*[[1]])  # type: ignore[list-item]
            except TypeError:
                pass

    result = traced(program)

    for name in ("len", "list.index", "str.join"):
        assert {call.left for call in result.find(name)} == {"unwind"}
        assert len(result.find(name)) == 20


def test_callbacks_are_nested_in_the_c_function(traced: Traced) -> None:
    def program() -> None:
        sorted([2, 1], key=double)
        functools.reduce(operator.add, [1, 2])
        functools.reduce(lambda a, b: a + b, [1, 2])
        re.sub("a", lambda match: "b", "aa")
        max([1, 2], key=double)

    result = traced(program)

    assert shown_calls(result, "sorted") == ["sorted", "  double", "  double"]
    assert shown_calls(result, "max")[-2:] == ["  double", "  double"]
    assert [len(call.calls) for call in result.find("reduce")] == [0, 1]
    sub = result.find("Pattern.sub")[0]
    assert [str(call) for call in sub.calls].count("<lambda>") == 2


def shown_calls(result: Trace, name: str) -> list[str]:
    return list(result.find(name)[0].lines())


def test_map_calls_where_it_is_read(traced: Traced) -> None:
    def program() -> list[int]:
        return [*map(double, [1, 2])]

    calls = [call for call in traced(program).only("program").calls if call.plain != "map"]

    assert [str(call) for call in calls] == ["double", "double"]


def test_a_with_statement_on_an_object_of_c_is_nested(traced: Traced, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("text")

    def program() -> str:
        with open(tmp_path / "file") as file:
            return file.read()

    result = traced(program)

    assert result.result == "text"
    assert "TextIOWrapper.read" in {call.plain for call in result.calls()}


def test_without_c_calls_only_python_is_recorded(traced: Traced) -> None:
    def program() -> None:
        len([])
        int("1")
        sorted([1, 2], key=double)

    assert shown(traced(program, c_calls=False), "program") == ["program", "  double", "  double"]


def test_without_calls_nothing_is_recorded(traced: Traced) -> None:
    def program() -> None:
        double(1)

    assert traced(program, calls=False).events == []


def test_calls_made_by_kymograph_are_not_recorded(traced: Traced) -> None:
    def program() -> None:
        for _ in range(20):
            with kymograph.span("span"):
                kymograph.instant("instant")
            kymograph.counter("counter", 1)
        kymograph.running()
        kymograph.stats()

    result = traced(program)

    names = {call.plain for call in result.only("program").walk()}
    assert names - {"range"} == {"program", "span"}
    assert not [call.name for call in result.calls() if call.file.startswith("kymograph")]


# ---- objects of C types that have names of their own


@pytest.mark.skipif(not MONITORING, reason="calls of objects are reported since 3.12")
def test_partials_are_named_after_what_they_call(traced: Traced) -> None:
    def target(x: int) -> int:
        return x

    def program() -> None:
        for _ in range(3):
            functools.partial(max, 1)(2)
            functools.partial(target, 1)()
            functools.partial(int)("3")

    counts = Counter(call.plain for call in traced(program).calls())

    assert counts["partial(max)"] == counts["partial(int)"] == 3
    assert sum(n for name, n in counts.items() if name.endswith("target)")) == 3


@pytest.mark.skipif(not MONITORING, reason="calls of objects are reported since 3.12")
def test_objects_that_have_a_name_are_called_by_it(traced: Traced) -> None:
    def make(name: str) -> Any:
        def function(x: int) -> int:
            return x

        function.__qualname__ = name
        return functools.lru_cache(maxsize=None)(function)

    def program() -> None:
        kept = [make("first"), make("second")]
        for i in range(3):
            for function in kept:
                function(i)
        for i in range(200):
            make(f"short_{i}")(i)  # at the address of the one before

    trace = traced(program)

    found = Counter(e.name for e in trace.events if e.kind == "enter" and e.file == __name__)
    assert found["first"] == found["second"] == 3
    assert all(found[f"short_{i}"] == 1 for i in range(200))


@pytest.mark.skipif(not MONITORING, reason="calls of objects are reported since 3.12")
def test_naming_an_object_runs_no_code_of_the_program(traced: Traced) -> None:
    asked = []

    class Shy:
        def __getattribute__(self, name: str) -> Any:
            asked.append(name)
            return object.__getattribute__(self, name)

        def __call__(self) -> None:
            pass

        @property
        def __name__(self) -> str:  # type: ignore[override]
            asked.append("property")
            return "shy"

    shy = Shy()
    trace = traced(lambda: shy())

    assert asked == []
    assert trace.find("__call__") or trace.find("Shy.__call__")
