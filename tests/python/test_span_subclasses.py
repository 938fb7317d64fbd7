"""Classes that a program derives from kymograph.record_function."""

from __future__ import annotations

import gc
import sys
import weakref
from collections import Counter
from typing import Any

import pytest
from conftest import Read, Record

import kymograph


class Bare(kymograph.record_function):
    pass


class Noted(kymograph.record_function):
    """Has methods of its own, which call those of the span."""

    def __init__(self, name: str, **texts: object) -> None:
        super().__init__(f"noted {name}", "text", **texts)
        self.notes: list[str] = []

    def __enter__(self) -> Noted:
        self.notes.append("begins")
        assert super().__enter__() is self
        return self

    def __exit__(self, *exception: Any) -> None:
        super().__exit__(*exception)
        self.notes.append("ends")


def names(read: Read) -> Counter[str]:
    return Counter(event.name for event in read() if event.kind == "enter")


def test_objects_of_a_subclass_are_spans(record: Record, read: Read) -> None:
    noted = Noted("a", size=3)
    assert isinstance(noted, kymograph.Span) and issubclass(Noted, kymograph.record_function)
    assert not isinstance(kymograph.span("a"), Bare)
    assert (noted.name, noted.args) == ("noted a", "text")

    with record():
        with noted as entered, Bare("bare"):
            assert entered is noted
        with pytest.raises(KeyError), noted:
            raise KeyError("x")

    assert names(read) == {"noted a": 2, "bare": 1}
    assert noted.notes == ["begins", "ends"] * 2


def test_a_decorator_of_a_subclass_calls_its_methods(record: Record, read: Read) -> None:
    noted = Noted("d")

    @noted
    def recursive(depth: int) -> int:
        return recursive(depth - 1) + 1 if depth else 0

    @Bare("bare")
    def plain(depth: int) -> int:
        return plain(depth - 1) + 1 if depth else 0

    with record():
        assert (recursive(2), plain(2)) == (2, 2)

    assert names(read) == {"noted d": 3, "bare": 3}
    assert noted.notes == ["begins"] * 3 + ["ends"] * 3
    kinds = [event.kind for event in read() if event.name == "noted d"]
    assert kinds == ["enter"] * 3 + ["leave"] * 3


def test_a_bare_subclass_decorates_generators_in_slices(record: Record, read: Read) -> None:
    @Bare("numbers")
    def numbers() -> Any:
        yield 1
        yield 2

    with record():
        assert list(numbers()) == [1, 2]

    assert names(read) == {"numbers": 3}


def test_a_subclass_may_be_called_in_its_own_way(record: Record, read: Read) -> None:
    class Called(kymograph.record_function):
        def __call__(self, *values: Any) -> Any:  # type: ignore[override]
            return values

    with record():
        with Called("own call") as called:
            assert called() == ()
            assert called(1, 2, 3) == (1, 2, 3)

    assert names(read) == {"own call": 1}


def test_only_objects_of_subclasses_change_their_name(record: Record, read: Read) -> None:
    bare, noted = Bare("before"), Noted("before")
    bare.name, noted.name = "after", "noted after"
    with record():
        with bare, noted:
            pass

    assert names(read) == {"after": 1, "noted after": 1}
    assert noted.args == "text"
    with pytest.raises(AttributeError):
        kymograph.span("a").name = "b"
    with pytest.raises(TypeError):
        bare.name = 3  # type: ignore[assignment]


def test_wrong_uses_of_a_subclass_raise() -> None:
    with pytest.raises(TypeError):
        Bare(len)  # type: ignore[arg-type]
    with pytest.raises(TypeError):
        Bare()  # type: ignore[call-overload]
    with pytest.raises(TypeError, match="one positional argument"):
        Bare("a")()  # type: ignore[call-arg]
    with pytest.raises(TypeError, match="Span"):
        kymograph.Span.__enter__(3)  # type: ignore[type-var]
    with pytest.raises(TypeError, match="three"):
        Bare("a").__exit__(None)  # type: ignore[call-arg]


def test_objects_of_subclasses_are_freed() -> None:
    class Slotted(kymograph.record_function):
        __slots__ = ()

    for kind in (Bare, Slotted):
        before = sys.getrefcount(kind)
        for _ in range(100):
            with kind("x"):
                pass
        assert sys.getrefcount(kind) == before
    cycle = Bare("cycle")
    cycle.itself = cycle  # type: ignore[attr-defined]
    gone = weakref.ref(cycle)
    del cycle
    gc.collect()
    assert gone() is None
