"""Callables of C are recorded under the names they have, with what they call back inside."""

from __future__ import annotations

import contextlib
import functools
import operator
import re
import sys
import types
import weakref
from pathlib import Path

import pytest
from traced import MONITORING, Trace, Traced, shown

import kymo

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
        ("functools", "partial"),
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


@pytest.mark.skipif(not STARS, reason="reported since 3.13")
@pytest.mark.parametrize("overhead", [0, 0.9])
def test_a_method_around_c_that_is_called_with_star_arguments_is_a_call(
    traced: Traced, overhead: float
) -> None:
    """Nobody tells when it ends: it is over at once, and what it calls back lies beside it."""
    ordered = types.MethodType(sorted, [2, 1])
    wrong = types.MethodType(len, 1)

    def by(number: int) -> int:
        return -number

    def program() -> list[int]:
        with contextlib.suppress(TypeError):
            wrong(*())
        return ordered(*(), **{"key": by})

    result = traced(program, overhead=overhead)

    assert result.result == [2, 1]
    calls = [str(call) for call in result.only("program").calls]
    assert [name for name in calls if "suppress" not in name] == ["len", "sorted", "by", "by"]


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


def test_what_kymo_calls_itself_is_not_recorded(traced: Traced) -> None:
    def program() -> None:
        for _ in range(20):
            with kymo.span("span"):
                kymo.instant("instant")
            kymo.counter("counter", 1)
        kymo.running()
        kymo.stats()

    result = traced(program)

    names = {call.plain for call in result.only("program").walk()}
    assert names - {"range"} == {"program", "span"}
    assert not [call.name for call in result.calls() if call.file.startswith("kymo")]
