"""Every kind of call is recorded where it belongs and under its name."""

from __future__ import annotations

import contextlib
import functools
import gc
import itertools
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from traced import MONITORING, QUALIFIED, Python, Traced, read_trace, shown

import kymograph


def double(x: int) -> int:
    return 2 * x


# ---- functions


def test_a_call_is_recorded_inside_its_caller(python: Python) -> None:
    def inner() -> None: ...

    def outer() -> None:
        inner()
        inner()

    def program() -> None:
        outer()

    assert python(program) == ["program", "  outer", "    inner", "    inner"]


def test_a_function_has_its_file_and_first_line(traced: Traced) -> None:
    def program() -> None: ...

    call = traced(program).only("program")

    assert call.file == __file__
    assert call.line == program.__code__.co_firstlineno


@pytest.mark.skipif(not QUALIFIED, reason="code objects have qualified names since 3.11")
def test_names_say_where_functions_are_defined(traced: Traced) -> None:
    class Shelf:
        def sort(self) -> list[int]:
            def by(book: int) -> int:
                return (lambda: -book)()

            return sorted([1, 2], key=by)

    prefix = f"{test_names_say_where_functions_are_defined.__name__}.<locals>."
    names = [call.name for call in traced(lambda: Shelf().sort(), c_calls=False).calls()]

    assert f"{prefix}Shelf.sort" in names
    assert f"{prefix}Shelf.sort.<locals>.by" in names
    assert f"{prefix}Shelf.sort.<locals>.by.<locals>.<lambda>" in names


def test_methods_of_every_kind_are_calls(python: Python) -> None:
    class Thing:
        def method(self) -> None: ...

        @classmethod
        def of_class(cls) -> None: ...

        @staticmethod
        def static() -> None: ...

        @property
        def value(self) -> int:
            return self._value

        @value.setter
        def value(self, value: int) -> None:
            self._value = value

        @value.deleter
        def value(self) -> None: ...

        def __getattr__(self, name: str) -> int:
            return 0

        def __getitem__(self, at: int) -> int:
            return at

        def __len__(self) -> int:
            return 3

        def __add__(self, other: object) -> int:
            return 1

        def __call__(self) -> None: ...

    thing = Thing()

    def program() -> None:
        thing.method()
        Thing.method(thing)
        bound = thing.method
        bound()
        thing.of_class()
        thing.static()
        thing.value = 1
        _ = thing.value
        del thing.value
        _ = thing.missing
        _ = thing[0]
        len(thing)
        _ = thing + thing
        thing()

    name = "Thing." if QUALIFIED else ""
    expected = ["method", "method", "method", "of_class", "static", "value", "value", "value"]
    expected += ["__getattr__", "__getitem__", "__len__", "__add__", "__call__"]
    assert python(program) == ["program", *(f"  {name}{method}" for method in expected)]


def test_a_cached_property_is_called_once(traced: Traced) -> None:
    class Thing:
        @functools.cached_property
        def cached(self) -> int:
            return 1

    thing = Thing()

    def program() -> int:
        return thing.cached + thing.cached

    calls = [call.plain.rpartition(".")[2] for call in traced(program, c_calls=False).calls()]
    assert calls.count("cached") == 1


def test_creating_an_object_calls_new_and_init(python: Python) -> None:
    class Meta(type):
        def __call__(cls, *args: Any) -> Any:
            return super().__call__(*args)

    class Thing(metaclass=Meta):
        def __new__(cls, value: int) -> Any:
            return super().__new__(cls)

        def __init__(self, value: int) -> None: ...

    def program() -> None:
        Thing(1)

    names = ["Meta.__call__", "Thing.__new__", "Thing.__init__"]
    if not QUALIFIED:
        names = [name.partition(".")[2] for name in names]
    assert python(program) == ["program", f"  {names[0]}", f"    {names[1]}", f"    {names[2]}"]


def test_a_class_body_is_a_call(python: Python) -> None:
    def program() -> None:
        class Thing:
            class Inner:
                value = 1

    inner = "Thing.Inner" if QUALIFIED else "Inner"
    assert python(program) == ["program", "  Thing", f"    {inner}"]


def test_decorators_are_called_when_the_function_is_defined(python: Python) -> None:
    def decorate(function: Any) -> Any:
        @functools.wraps(function)
        def wrapper() -> Any:
            return function()

        return wrapper

    def program() -> None:
        @decorate
        def decorated() -> None: ...

        decorated()

    calls = python(program)

    assert calls[:2] == ["program", "  decorate"]
    assert calls[-2:] == ["  wrapper", "    decorated"]


def test_lambdas_and_closures_are_calls(python: Python) -> None:
    def adder(n: int) -> Callable[[int], int]:
        return lambda x: x + n

    def program() -> None:
        adder(1)(adder(2)(3))

    assert python(program) == ["program", "  adder", "  adder", "  <lambda>", "  <lambda>"]


def test_comprehensions_are_calls_where_they_have_a_frame(python: Python) -> None:
    def program() -> None:
        _ = [x for x in (1, 2)]
        _ = {x for x in (1, 2)}
        _ = {x: x for x in (1, 2)}

    frames = ["  <listcomp>", "  <setcomp>", "  <dictcomp>"]
    assert python(program) == ["program", *([] if MONITORING else frames)]


def test_recursion_is_nested(traced: Traced) -> None:
    def down(n: int) -> None:
        if n:
            down(n - 1)

    calls = traced(lambda: down(50)).find("down")

    assert len(calls) == 51
    assert all(len(call.calls) == 1 for call in calls[:-1])
    assert all(outer.calls[0] is inner for outer, inner in itertools.pairwise(calls))


def test_code_given_to_exec_and_eval_is_called(python: Python) -> None:
    def program() -> None:
        exec("def made(): return 1\nmade()")
        eval("(lambda: 2)()")
        exec(compile("pass", "other.py", "exec"))

    assert python(program) == [
        "program",
        "  <module>",
        "    made",
        "  <module>",
        "    <lambda>",
        "  <module>",
    ]


def test_context_managers_are_calls(python: Python) -> None:
    class Manager:
        def __enter__(self) -> None: ...

        def __exit__(self, *_: object) -> bool:
            return True

    def program() -> None:
        with Manager():
            pass
        with Manager():
            raise ValueError

    name = "Manager." if QUALIFIED else ""
    assert python(program) == ["program", *[f"  {name}__enter__", f"  {name}__exit__"] * 2]


def test_generator_context_managers_are_calls(python: Python) -> None:
    @contextlib.contextmanager
    def managed() -> Iterator[None]:
        try:
            yield
        except ValueError:
            pass

    def program() -> None:
        with managed():
            pass
        with managed():
            raise ValueError

    slices = [line.strip() for line in python(program) if "managed" in line]

    assert slices == [
        "managed call>yield",
        "managed resume>return",
        "managed call>yield",
        "managed throw>return",
    ]


# ---- exceptions


def test_an_exception_unwinds_every_frame_it_passes(python: Python) -> None:
    def raising() -> None:
        raise ValueError

    def passing() -> None:
        raising()

    def cleaning() -> None:
        try:
            passing()
        finally:
            int("1")

    def program() -> None:
        with contextlib.suppress(ValueError):
            cleaning()

    calls = [line for line in python(program) if "__" not in line]

    assert calls == [
        "program",
        "  cleaning call>unwind",
        "    passing call>unwind",
        "      raising call>unwind",
    ]


def test_an_exception_of_a_callback_unwinds_through_c(traced: Traced) -> None:
    def key(_: int) -> int:
        raise ValueError

    def program() -> None:
        try:
            sorted([1, 2], key=key)
        except ValueError:
            pass

    assert shown(traced(program), "program") == [
        "program",
        "  sorted call>unwind",
        "    key call>unwind",
    ]


def test_a_recursion_error_unwinds_every_frame(traced: Traced) -> None:
    def down() -> None:
        down()

    def program() -> int:
        try:
            down()
        except RecursionError:
            return 1
        return 0

    result = traced(program, gc=False)

    calls = result.find("down")
    assert result.result == 1
    assert len(calls) > sys.getrecursionlimit() // 2
    assert {call.left for call in calls} == {"unwind"}


# ---- where tracing begins and ends


def test_frames_that_are_open_when_tracing_begins_are_recorded_as_open(capture_path: Path) -> None:
    def begin() -> None:
        kymograph.start(capture_path, gc=False)
        double(1)

    def outer() -> None:
        begin()
        double(2)

    outer()
    double(3)
    kymograph.stop()
    result = read_trace(capture_path)

    test = test_frames_that_are_open_when_tracing_begins_are_recorded_as_open.__name__
    assert list(result.only(test).lines()) == [
        f"{test} open>never",
        "  outer open>return",
        "    begin open>return",
        "      double",
        "    double",
        "  double",
    ]


def test_the_same_without_c_calls(capture_path: Path) -> None:
    def begin() -> None:
        kymograph.start(capture_path, c_calls=False, gc=False)
        double(1)

    def outer() -> None:
        begin()
        double(2)

    outer()
    double(3)
    kymograph.stop()
    result = read_trace(capture_path)

    test = test_the_same_without_c_calls.__name__
    assert list(result.only(test).lines()) == [
        f"{test} open>never",
        "  outer open>return",
        "    begin open>return",
        "      double",
        "    double",
        "  double",
    ]


def test_calls_open_at_the_end_have_no_leave(capture_path: Path) -> None:
    def inner() -> None:
        double(1)
        kymograph.stop()
        double(2)

    def outer() -> None:
        inner()

    kymograph.start(capture_path)
    outer()
    result = read_trace(capture_path)

    assert shown(result, "outer") == ["outer call>never", "  inner call>never", "    double"]


def test_calls_deeper_than_the_limit_are_left_out(traced: Traced) -> None:
    def inner() -> None:
        double(1)

    def middle() -> None:
        inner()
        len([])

    def outer() -> None:
        middle()
        middle()

    assert shown(traced(outer, max_depth=2), "outer") == ["outer", "  middle", "  middle"]


def test_what_ends_below_the_limit_does_not_shift_it(traced: Traced) -> None:
    def outer() -> None:
        middle()
        middle()
        middle()

    def middle() -> None:
        any(number for number in (0, 1, 2))  # closes the generator: GeneratorExit is thrown in
        with contextlib.suppress(ValueError):
            int("x")
        with contextlib.suppress(ZeroDivisionError):
            fail(3)

    def fail(depth: int) -> None:
        fail(depth - 1) if depth else 1 // 0

    assert shown(traced(outer, max_depth=2), "outer") == ["outer", *["  middle"] * 3]


def test_the_limit_is_per_session(capture_path: Path) -> None:
    def down(n: int) -> None:
        if n:
            down(n - 1)
        else:
            kymograph.stop()

    for _ in range(3):
        kymograph.start(capture_path, max_depth=4)
        down(10)
        assert len(read_trace(capture_path).find("down")) == 4


# ---- garbage collections


def test_a_collection_is_a_slice(traced: Traced) -> None:
    def program() -> None:
        gc.collect()

    calls = [call for call in traced(program).calls() if call.plain == "Python GC"]

    assert len(calls) >= 1
    assert all(str(call) == "Python GC" for call in calls)


def test_finalizers_are_nested_in_the_collection(traced: Traced) -> None:
    class Loop:
        def __init__(self) -> None:
            self.me = self

        def __del__(self) -> None:
            double(1)

    def program() -> None:
        gc.collect()

    Loop()
    result = traced(program, c_calls=False)

    collection = result.find("Python GC")[0]
    assert [call.plain.rpartition(".")[2] for call in collection.calls] == ["__del__"]
    assert [call.plain for call in collection.calls[0].calls] == ["double"]


def test_without_gc_collections_are_not_recorded(traced: Traced) -> None:
    assert traced(gc.collect, gc=False).find("Python GC") == []
