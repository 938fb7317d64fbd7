"""Every kind of call is recorded where it belongs and under its name."""

from __future__ import annotations

import asyncio
import contextlib
import functools
import gc
import itertools
import operator
import re
import sys
import types
import weakref
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from traced import MONITORING, QUALIFIED, Trace, read_trace, shown, trace

import kymo

Traced = Callable[..., Trace]

STARS = sys.version_info >= (3, 13)  # before, methods called with *arguments are not reported
SUPER_BY_CALL = sys.version_info < (3, 12)  # then super() is an instruction, reported as a call


@pytest.fixture
def traced(capture_path: Path) -> Traced:
    """`traced(function, **options)`: call it once, traced; the trace has its result."""
    return functools.partial(trace, capture_path)


@pytest.fixture
def python(capture_path: Path) -> Callable[[Callable[[], Any]], list[str]]:
    """`python(function)`: the Python calls that calling it made."""

    def calls(function: Callable[[], Any]) -> list[str]:
        result = trace(capture_path, function, c_calls=False, gc=False)
        return shown(result, function.__name__)

    return calls


Python = Callable[[Callable[[], Any]], list[str]]


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
def test_names_tell_where_functions_are_defined(traced: Traced) -> None:
    class Shelf:
        def sort(self) -> list[int]:
            def by(book: int) -> int:
                return (lambda: -book)()

            return sorted([1, 2], key=by)

    prefix = f"{test_names_tell_where_functions_are_defined.__name__}.<locals>."
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


# ---- generators


def counting(n: int) -> Iterator[int]:
    for i in range(n):
        yield i


def test_a_generator_is_a_slice_for_each_time_it_runs(python: Python) -> None:
    def program() -> None:
        generator = counting(2)
        next(generator)
        next(generator)
        next(generator, None)

    assert python(program) == [
        "program",
        "  counting call>yield",
        "  counting resume>yield",
        "  counting resume>return",
    ]


def test_the_slices_of_a_generator_have_its_id(traced: Traced) -> None:
    def program() -> None:
        one, two = counting(3), counting(3)
        for _ in range(4):
            next(one, None)
            next(two, None)

    ids = [call.id for call in traced(program).find("counting")]

    one, two = ids[:2]
    assert one and two and one != two
    assert ids == [one, two] * 4


def test_functions_have_no_id(traced: Traced) -> None:
    def program() -> None: ...

    assert traced(program).only("program").id == 0


def test_a_generator_that_never_ran_is_entered_at_its_end_where_the_interpreter_does(
    python: Python,
) -> None:
    def program() -> None:
        counting(1)
        counting(1).close()

    entered = [] if MONITORING else ["  counting throw>unwind"] * 2
    assert python(program) == ["program", *entered]


def test_throw_enters_a_generator(python: Python) -> None:
    def stubborn() -> Iterator[int]:
        try:
            yield 1
        except ValueError:
            yield 2

    def program() -> None:
        generator = stubborn()
        next(generator)
        generator.throw(ValueError())
        with contextlib.suppress(KeyError):
            generator.throw(KeyError())
        with contextlib.suppress(KeyError):
            stubborn().throw(KeyError())

    calls = [line for line in python(program) if "stubborn" in line]

    assert calls == [
        "  stubborn call>yield",
        "  stubborn throw>yield",
        "  stubborn throw>unwind",
        "  stubborn throw>unwind",
    ]


def cleaning_up() -> Iterator[int]:
    try:
        yield 1
    finally:
        int("1")


def test_close_throws_into_a_generator(python: Python) -> None:
    def program() -> None:
        generator = cleaning_up()
        next(generator)
        generator.close()

    assert python(program) == [
        "program",
        "  cleaning_up call>yield",
        "  cleaning_up throw>unwind",
    ]


def test_a_dropped_generator_is_closed_where_it_is_dropped(python: Python) -> None:
    def program() -> None:
        generator = cleaning_up()
        next(generator)
        del generator

    assert python(program) == [
        "program",
        "  cleaning_up call>yield",
        "  cleaning_up throw>unwind",
    ]


def test_cleaning_up_may_close_other_generators(python: Python) -> None:
    def outer() -> Iterator[int]:
        inner = cleaning_up()
        next(inner)
        try:
            yield 1
        finally:
            inner.close()

    def program() -> None:
        generator = outer()
        next(generator)
        generator.close()

    assert python(program) == [
        "program",
        "  outer call>yield",
        "    cleaning_up call>yield",
        "  outer throw>unwind",
        "    cleaning_up throw>unwind",
    ]


def test_yield_from_nests_generators(python: Python) -> None:
    def outer() -> Iterator[int]:
        yield from counting(1)

    def program() -> None:
        for _ in outer():
            pass

    assert python(program) == [
        "program",
        "  outer call>yield",
        "    counting call>yield",
        "  outer resume>return",
        "    counting resume>return",
    ]


def test_a_generator_alive_when_tracing_begins_goes_on(
    traced: Traced, capture_path: Path, tmp_path: Path
) -> None:
    generator = counting(4)
    next(generator)
    one = trace(tmp_path / "one.kymo", lambda: next(generator))
    two = trace(tmp_path / "two.kymo", lambda: next(generator))

    assert str(one.only("counting")) == "counting resume>yield"
    assert str(two.only("counting")) == "counting resume>yield"
    assert one.only("counting").id == two.only("counting").id


def test_generator_expressions_are_generators(python: Python) -> None:
    def program() -> None:
        sum(x for x in (1, 2))

    assert python(program) == [
        "program",
        "  <genexpr> call>yield",
        "  <genexpr> resume>yield",
        "  <genexpr> resume>return",
    ]


# ---- coroutines


@types.coroutine
def pause() -> Iterator[None]:
    yield


def test_a_coroutine_is_a_slice_for_each_time_it_runs(python: Python) -> None:
    async def inner() -> None:
        await pause()

    async def outer() -> None:
        await inner()

    def program() -> None:
        coroutine = outer()
        coroutine.send(None)
        with contextlib.suppress(StopIteration):
            coroutine.send(None)

    calls = [line for line in python(program) if "suppress" not in line and "__" not in line]

    assert calls == [
        "program",
        "  outer call>yield",
        "    inner call>yield",
        "      pause call>yield",
        "  outer resume>return",
        "    inner resume>return",
        "      pause resume>return",
    ]


def test_gathered_coroutines_interleave_by_slices(traced: Traced) -> None:
    async def worker(n: int) -> None:
        for _ in range(n):
            await asyncio.sleep(0)

    async def main() -> None:
        await asyncio.gather(worker(2), worker(2))

    slices = traced(lambda: asyncio.run(main())).find("worker")

    one, two = slices[0].id, slices[1].id
    assert [(call.id, str(call)) for call in slices] == [
        (one, "worker call>yield"),
        (two, "worker call>yield"),
        (one, "worker resume>yield"),
        (two, "worker resume>yield"),
        (one, "worker resume>return"),
        (two, "worker resume>return"),
    ]


def test_a_cancelled_task_is_thrown_into(traced: Traced) -> None:
    async def worker() -> None:
        await asyncio.sleep(10)

    async def main() -> None:
        task = asyncio.ensure_future(worker())
        await asyncio.sleep(0)
        task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await task

    slices = traced(lambda: asyncio.run(main())).find("worker")

    assert [str(call) for call in slices] == ["worker call>yield", "worker throw>unwind"]


def test_an_async_generator_is_a_slice_for_each_time_it_runs(python: Python) -> None:
    async def numbers() -> Any:
        for i in range(2):
            await pause()
            yield i

    async def read() -> None:
        async for _ in numbers():
            pass

    def program() -> None:
        coroutine = read()
        while True:
            try:
                coroutine.send(None)
            except StopIteration:
                return

    assert python(program) == [
        "program",
        "  read call>yield",
        "    numbers call>yield",
        "      pause call>yield",
        "  read resume>yield",
        "    numbers resume>yield",  # a value,
        "      pause resume>return",
        "    numbers resume>yield",  # which lets the reader go on until the next pause
        "      pause call>yield",
        "  read resume>return",
        "    numbers resume>yield",
        "      pause resume>return",
        "    numbers resume>return",
    ]


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


# ---- where tracing begins and ends


def test_frames_that_are_open_when_tracing_begins_are_recorded_as_open(capture_path: Path) -> None:
    def begin() -> None:
        kymo.start(capture_path, gc=False)
        double(1)

    def outer() -> None:
        begin()
        double(2)

    outer()
    double(3)
    kymo.stop()
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
        kymo.start(capture_path, c_calls=False, gc=False)
        double(1)

    def outer() -> None:
        begin()
        double(2)

    outer()
    double(3)
    kymo.stop()
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
        kymo.stop()
        double(2)

    def outer() -> None:
        inner()

    kymo.start(capture_path)
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


def test_the_limit_counts_anew_in_every_session(capture_path: Path) -> None:
    def down(n: int) -> None:
        if n:
            down(n - 1)
        else:
            kymo.stop()

    for _ in range(3):
        kymo.start(capture_path, max_depth=4)
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
