"""Names are those of what was called, whatever lives at an address; and asking for them
disturbs nobody."""

from __future__ import annotations

import collections
import ctypes
import functools
import gc
import sys
import types
import weakref
from collections.abc import Callable
from pathlib import Path
from typing import Any, NoReturn

import pytest
from traced import MONITORING, Traced, read_trace

import kymograph


def leaf() -> None: ...


# ---- texts


def test_names_and_files_in_any_script(traced: Traced, tmp_path: Path) -> None:
    file = tmp_path / "программа-日本.py"
    space: dict[str, Any] = {}
    exec(compile("def größe(): pass\nclass Ψ:\n    pass\n", str(file), "exec"), space)

    def program() -> None:
        space["größe"]()
        space["Ψ"]()

    result = traced(program)

    assert result.only("größe").file == str(file)
    if MONITORING:
        assert result.only("Ψ").name == "Ψ"


def renamed(name: str, file: str = "file.py", line: int = 1) -> Callable[[], None]:
    """A function whose code has this name."""
    changes: dict[str, Any] = {"co_name": name, "co_filename": file, "co_firstlineno": line}
    if sys.version_info >= (3, 11):
        changes["co_qualname"] = name
    return types.FunctionType(leaf.__code__.replace(**changes), {})


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("", ""),
        ("a\ud800b", r"a\ud800b"),
        ("nul\0nul", r"nul\x00nul"),
        ("line\nline\ttab\x1b[31m", "line\nline\ttab\x1b[31m"),
        ("x" * 10_000, "x" * 10_000),
        ("語" * 10_000, "語" * 10_000),
        ("%s%n{}", "%s%n{}"),
    ],
)
def test_hostile_names(traced: Traced, name: str, shown: str) -> None:
    function = renamed(name, file=f"{name}.py", line=7)

    calls = [call for call in traced(function, c_calls=False).calls() if call.line == 7]

    assert len(calls) == 1
    assert calls[0].name == shown
    assert calls[0].file == f"{shown}.py"


@pytest.mark.skipif(not MONITORING, reason="calls of types are reported since 3.12")
@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("%s%n{}", "%s%n{}"),
        ("x" * 10_000, "x" * 1023),  # cut, but never in the middle of a character
        ("語" * 10_000, "語" * 341),
        ("x" + "語" * 10_000, "x" + "語" * 340),
    ],
)
def test_hostile_names_of_types(traced: Traced, name: str, shown: str) -> None:
    hostile = type(name, (), {"__module__": "somewhere"})

    calls = [call for call in traced(lambda: hostile()).calls() if call.file == "somewhere"]

    assert [call.name for call in calls] == [shown]


def test_the_line_of_a_function_may_be_anything(traced: Traced) -> None:
    functions = [renamed("far", line=2**31 - 1), renamed("near", line=0)]

    result = traced(lambda: [function() for function in functions])

    assert result.only("far").line == 2**31 - 1
    assert result.only("near").line == 0


# ---- what dies


def test_a_code_object_at_the_address_of_a_dead_one_has_its_own_name(traced: Traced) -> None:
    addresses = set()

    def program() -> None:
        for i in range(2000):
            space: dict[str, Any] = {}
            exec(f"def made_{i}(): pass", space)
            made = space[f"made_{i}"]
            addresses.add(id(made.__code__))
            made()
            del made, space
            if i % 500 == 499:
                gc.collect()  # without a GIL nothing else frees code objects

    result = traced(program, c_calls=False)

    names = [call.name for call in result.calls() if call.name.startswith("made_")]
    assert names == [f"made_{i}" for i in range(2000)]
    assert len(addresses) < 2000, "no address was used twice: nothing was tested"


def test_nothing_is_kept_alive(capture_path: Path) -> None:
    def make() -> list[weakref.ref[Any]]:
        space: dict[str, Any] = {}
        exec("def made(): pass\nclass Made:\n    def __call__(self): pass", space)
        made, kind = space["made"], space["Made"]
        instance = kind()
        made()
        instance()
        kind.__new__(kind)
        references = [weakref.ref(x) for x in (made, made.__code__, kind, instance)]
        space.clear()
        return references

    kymograph.start(capture_path)
    references = make()
    gc.collect()
    alive = [reference() for reference in references]
    kymograph.stop()

    assert alive == [None] * 4
    read_trace(capture_path)


@pytest.mark.skipif(not MONITORING, reason="calls of types are reported since 3.12")
def test_a_type_at_the_address_of_a_dead_one_has_its_own_name(traced: Traced) -> None:
    addresses = set()

    def program() -> None:
        for i in range(300):
            made = type(f"Made{i}", (), {"__call__": lambda self: None})
            addresses.add(id(made))
            made()()
            object.__new__(made)
            del made
            gc.collect(0)

    result = traced(program)

    names = [call.name for call in result.calls() if call.name.startswith("Made")]
    assert names == [f"Made{i}" for i in range(300) for _ in range(2)]
    assert len(addresses) < 300, "no address was used twice: nothing was tested"


def test_each_type_has_its_own_new_wherever_it_lives(traced: Traced) -> None:
    """A type written in Python inherits __new__, one made by a C function has its own."""

    namedtuple: Any = collections.namedtuple

    def program() -> None:
        for i in range(100):
            made = namedtuple(f"Made{i}", "a")
            made(1)
            tuple.__new__(made, (1,))

    news = {call.name for call in traced(program).calls() if call.name.endswith(".__new__")}

    assert {"tuple.__new__"} <= news
    assert not [name for name in news if name.startswith("object.")]


class MethodDef(ctypes.Structure):
    _fields_ = (
        ("name", ctypes.c_char_p),
        ("function", ctypes.c_void_p),
        ("flags", ctypes.c_int),
        ("doc", ctypes.c_char_p),
    )


@ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.c_void_p, ctypes.c_void_p)  # type: ignore[untyped-decorator]
def implementation(_self: int, _args: int) -> Any:
    return None


def made_in_c(definition: MethodDef, name: bytes) -> Any:
    """A C function the way binding generators make them: with a definition of its own."""
    definition.name = name
    definition.function = ctypes.cast(implementation, ctypes.c_void_p)
    definition.flags = 4  # METH_NOARGS
    api = ctypes.pythonapi
    api.PyCapsule_New.restype = ctypes.py_object
    api.PyCapsule_New.argtypes = (ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p)
    api.PyCFunction_NewEx.restype = ctypes.py_object
    api.PyCFunction_NewEx.argtypes = (ctypes.c_void_p, ctypes.py_object, ctypes.py_object)
    capsule = api.PyCapsule_New(ctypes.addressof(definition), None, None)
    return api.PyCFunction_NewEx(ctypes.addressof(definition), capsule, "bindings")


def test_a_c_function_at_the_address_of_a_dead_one_has_its_own_name(traced: Traced) -> None:
    definition = MethodDef()

    def program() -> None:
        for i in range(100):
            function = made_in_c(definition, b"made_%d" % i)
            function()
            function()
            del function

    result = traced(program)

    calls = [(call.file, call.name) for call in result.calls() if call.file == "bindings"]
    assert calls == [("bindings", f"made_{i}") for i in range(100) for _ in range(2)]


# ---- whose method it is


def test_a_method_of_c_is_named_after_the_type_that_defines_it(traced: Traced) -> None:
    class Mine(list):  # type: ignore[type-arg]
        pass

    class Counting(dict):  # type: ignore[type-arg]
        pass

    mine, counting = Mine(), Counting()

    def program() -> None:
        for _ in range(10):
            mine.append(1)
            bound = mine.append
            bound(1)
            Mine.append(mine, 1)
            Counting.fromkeys([1])
            counting.update(a=1)
            method = counting.get
            method("a")

    names = {call.name for call in traced(program).only("program").calls} - {"range"}

    assert names == {"list.append", "dict.fromkeys", "dict.update", "dict.get"}


@pytest.mark.skipif(not MONITORING, reason="reported since 3.12")
def test_slots_of_a_subclass_are_named_after_the_type_that_defines_them(traced: Traced) -> None:
    class Base(dict):  # type: ignore[type-arg]
        pass

    class Mine(Base):
        def __init__(self) -> None:
            super().__init__()

        def __setitem__(self, key: str, value: int) -> None:
            super().__setitem__(key, value)

    def program() -> None:
        mine = Mine()
        mine["a"] = 1

    names = {call.plain for call in traced(program).calls()}

    assert {"dict.__init__", "dict.__setitem__"} <= names


# ---- nobody notices


def test_no_code_of_the_program_runs_to_find_a_name(traced: Traced) -> None:
    noticed: list[str] = []

    def notice(*what: object) -> NoReturn:
        noticed.append(str(what[-1]))
        raise AttributeError(what[-1])

    class Str(str):
        def __eq__(self, other: object) -> bool:
            noticed.append("str.__eq__")
            return False

        __hash__ = str.__hash__

        def encode(self, *_: Any) -> bytes:
            return notice("encode")

    class Meta(type):
        def __getattribute__(cls, name: str) -> Any:
            if name in ("__name__", "__qualname__", "__module__", "__dict__", "__mro__"):
                return notice(name)
            return super().__getattribute__(name)

        def __repr__(cls) -> str:
            return notice("repr")

        def __hash__(cls) -> int:
            return notice("hash")

        def __eq__(cls, other: object) -> bool:
            return notice("eq")

        def __instancecheck__(cls, instance: object) -> bool:
            return notice("instancecheck")

        __name__ = property(notice)
        __module__ = property(notice)

    class Hostile(metaclass=Meta):
        def __getattr__(self, name: str) -> Any:
            return notice(name)

        def __call__(self) -> None: ...

        def __repr__(self) -> str:
            return notice("repr")

        def __hash__(self) -> int:
            return notice("hash")

        def __eq__(self, other: object) -> bool:
            return notice("eq")

        def __bool__(self) -> bool:
            return notice("bool")

        @property  # type: ignore[misc]
        def __class__(self) -> Any:
            return notice("__class__")

        def method(self) -> None: ...

    instance = Hostile()
    method = types.MethodType(len, [])
    odd = renamed(Str("odd"), Str("odd.py"))
    partial = functools.partial(instance)
    del noticed[:]

    def program() -> None:
        Hostile()
        instance()
        instance.method()
        method()
        odd()
        partial()
        Hostile.__new__(Hostile)

    traced(program)

    assert noticed == []


def test_an_exception_in_flight_survives_its_first_sight(traced: Traced) -> None:
    """The names of what an exception leaves are looked up while it is being raised."""

    def program() -> str:
        space: dict[str, Any] = {}
        exec("def fails():\n    raise KeyError('mine')", space)
        try:
            space["fails"]()
        except KeyError as error:
            return str(error)
        return ""

    assert traced(program).result == "'mine'"
