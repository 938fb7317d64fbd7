"""kymograph.op: operators with their arguments, as a block and as a decorator."""

from __future__ import annotations

import array
import gc
import math
import sys
import threading
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import pytest

import kymograph

Record = Callable[..., AbstractContextManager[Path]]
Read = Callable[[], list[kymograph.Event]]

NONE, TENSOR, INT, BOOL, FLOAT, TEXT, LIST, TUPLE, OTHER, COMPLEX = 0, 1, 2, 3, 4, 5, 7, 8, 9, 10


def lists(value: Any) -> Any:
    return [lists(each) for each in value] if isinstance(value, tuple) else value


def notes(read: Read, schema: str = "operator.in") -> list[dict[str, Any]]:
    return [
        {name: lists(value) for name, value in event.fields.items()}
        for event in read()
        if event.kind == "payload" and event.name == schema
    ]


def kept(note: dict[str, Any]) -> dict[str, Any]:
    """What a note says about values, without what it does not say."""
    head = ("rf_id", "seq", "scope", "thread", "fw_thread", "schema", "flags")
    return {name: value for name, value in note.items() if value and name not in head}


def test_operators_nest_with_calls_and_have_a_class_of_their_own(
    capture_path: Path, read: Read
) -> None:
    with (
        kymograph.trace(capture_path, c_calls=False),
        kymograph.op("outer"),
        kymograph.span("middle"),
        kymograph.op("inner"),
    ):
        pass

    marked = [e for e in read() if e.kind in ("enter", "leave") and e.name in "outer middle inner"]
    assert [(e.kind, e.name) for e in marked] == [
        *(("enter", "outer"), ("enter", "middle"), ("enter", "inner")),
        *(("leave", "inner"), ("leave", "middle"), ("leave", "outer")),
    ]
    with kymograph.open(capture_path) as capture:
        kinds = {function.name: function.kind for function in capture.callables}
    assert (kinds["outer"], kinds["middle"]) == ("operator", "span")


def test_values_are_recorded_in_order_with_their_nesting(record: Record, read: Read) -> None:
    values = [1, True, None, 2.5, "é", 1j, [3, (4, [])], {"a": 1}, 2**70, object()]
    with record(), kymograph.op("all", values):
        pass

    (note,) = notes(read)
    assert kept(note) == {
        "kinds": [
            *(INT, BOOL, NONE, FLOAT, TEXT, COMPLEX, LIST, INT, TUPLE, INT, LIST),
            *(OTHER, OTHER, OTHER),
        ],
        "ints": [1, 1, 2, 3, 2, 4, 0],
        "floats": [2.5, 0.0, 1.0],
        "texts": ["é", "dict", "int", "object"],
    }
    assert note["seq"] == -1
    assert note["flags"] == 0


def test_one_value_need_not_be_in_a_list(record: Record, read: Read) -> None:
    with record(), kymograph.op("one", 7):
        pass

    assert kept(notes(read)[0]) == {"kinds": [INT], "ints": [7]}


def test_inputs_by_keyword_have_their_names(record: Record, read: Read) -> None:
    with record(), kymograph.op("add", ([1, 2], 3), keywords={"alpha": [4], "out": None}):
        pass

    (note,) = notes(read)
    assert note["kinds"] == [LIST, INT, INT, INT, LIST, INT, NONE]
    assert note["names"][2:] == ["alpha", "out"]
    assert len(note["names"]) == 4


def test_buffers_are_tensors(record: Record, read: Read) -> None:
    numbers = array.array("d", [1, 2, 3, 4, 5, 6])
    table = memoryview(numbers).cast("B").cast("d", (2, 3))
    with record(), kymograph.op("sum", (numbers, table, b"bytes")) as one:
        one.outputs = (numbers,)

    (note,) = notes(read)
    assert note["kinds"] == [TENSOR, TENSOR, OTHER]
    assert note["tensors"][0] == id(numbers)
    assert note["storages"] == [numbers.buffer_info()[0]] * 2
    assert note["shapes"] == [[6], [2, 3]]
    assert note["strides"] == [[1], [3, 1]]
    assert note["numels"] == [6, 6]
    assert note["itemsizes"] == [8, 8]
    assert note["dtypes"] == ["double", "double"]
    assert note["devices"] == ["cpu", "cpu"]
    assert notes(read, "operator.out")[0]["tensors"] == [id(numbers)]


@pytest.mark.skipif(sys.version_info < (3, 12), reason="classes have no __buffer__")
def test_recording_runs_no_code_of_the_program(record: Record, read: Read) -> None:
    class Odd(bytearray):
        def __buffer__(self, flags: int, /) -> memoryview:
            raise AssertionError("called")

        def __getattribute__(self, name: str) -> Any:
            raise AssertionError("called")

    class Words(list):  # type: ignore[type-arg]
        def __iter__(self) -> Any:
            raise AssertionError("called")

        def __len__(self) -> int:
            raise AssertionError("called")

    with record(), kymograph.op("odd", (Odd(), Words([1]))):
        pass

    note = notes(read)[0]
    assert note["kinds"] == [OTHER, LIST, INT]
    assert note["texts"] == ["Odd"]


def test_an_endless_list_ends(record: Record, read: Read) -> None:
    endless: list[Any] = []
    endless.append(endless)
    with record(), kymograph.op("deep", endless):
        pass

    assert notes(read)[0]["kinds"] == [LIST] * 6 + [OTHER]


def test_a_long_list_is_cut_and_its_length_kept(record: Record, read: Read) -> None:
    with record(), kymograph.op("cat", (list(range(100_000)), 0)):
        pass

    (note,) = notes(read)
    assert note["flags"] == 65_536 << 8 | 5  # the values are in parts, and not all are there
    first, *others = notes(read, "operator.part")
    assert first["ints"][:3] == [100_000, 0, 1]
    assert sum(len(part["ints"]) for part in (first, *others)) == 65_536


def test_many_arrays_keep_their_shapes(record: Record, read: Read) -> None:
    arrays = [memoryview(bytearray(i + 1)) for i in range(60)]
    with record(), kymograph.op("stack", (arrays,)):
        pass

    assert notes(read)[0]["shapes"] == [[i + 1] for i in range(60)]


def test_a_decorated_function_records_its_arguments_and_result(record: Record, read: Read) -> None:
    @kymograph.op("scale", schema="scale(x, factor) -> x")
    def scale(x: float, factor: float = 2.0) -> float:
        return x * factor

    @kymograph.op
    def both(x: int) -> tuple[int, int]:
        return x, x

    with record():
        assert scale(1.5, factor=3.0) == 4.5
        assert both(5) == (5, 5)
    assert scale.__name__ == "scale"

    first, second = notes(read)
    assert (first["schema"], first["floats"]) == ("scale(x, factor) -> x", [1.5, 3.0])
    assert first["names"][1:] == ["factor"]
    assert [kept(note) for note in notes(read, "operator.out")] == [
        {"kinds": [FLOAT], "floats": [4.5]},
        {"kinds": [INT, INT], "ints": [5, 5]},
    ]
    ids = [note["rf_id"] for note in (first, second)]
    assert ids == [note["rf_id"] for note in notes(read, "operator.out")]
    assert len(set(ids)) == 2
    names = [e.name for e in read() if e.kind == "enter"]
    assert names == ["scale", both.__qualname__]


def test_only_plain_functions_can_be_operators() -> None:
    def generator() -> Any:
        yield

    async def coroutine() -> None: ...

    for function in (generator, coroutine):
        with pytest.raises(TypeError, match="one call"):
            kymograph.op("x")(function)


def test_an_exception_ends_the_operator_without_outputs(record: Record, read: Read) -> None:
    @kymograph.op("fails")
    def fails() -> None:
        raise ValueError

    with record():
        with pytest.raises(ValueError):
            fails()
        with pytest.raises(KeyError), kymograph.op("block"):
            raise KeyError

    assert [(e.kind, e.name) for e in read() if e.kind in ("enter", "leave")] == [
        *(("enter", "fails"), ("leave", "fails"), ("enter", "block"), ("leave", "block"))
    ]
    assert notes(read, "operator.out") == []


def test_attributes_have_kinds(record: Record, read: Read) -> None:
    with record(), kymograph.op("all_reduce", attributes={"name": "ring"}) as one:
        one.attributes["ranks"] = 8
        one.attributes["async"] = True
        one.attributes["ratio"] = 0.5

    (note,) = notes(read, "operator.attributes")
    assert note["names"] == ["name", "ranks", "async", "ratio"]
    assert note["texts"] == ["ring", "8", "true", "0.5"]
    assert note["kinds"] == [0, 1, 2, 2]


def test_attributes_may_be_any_float(record: Record, read: Read) -> None:
    with record(), kymograph.op("step", attributes={"loss": math.nan, "least": -math.inf}):
        pass

    (note,) = notes(read, "operator.attributes")
    assert note["texts"] == ["nan", "-inf"]
    assert note["kinds"] == [0, 0]


def test_attributes_that_cannot_be_kept_do_not_hide_an_exception(record: Record) -> None:
    with record(), pytest.raises(KeyError), kymograph.op("x", attributes={"a": []}):
        raise KeyError("of the program")


@pytest.mark.parametrize("value", [[], object()])
def test_attributes_that_cannot_be_kept_raise(record: Record, read: Read, value: object) -> None:
    with (
        record(),
        pytest.raises(TypeError, match="an attribute must be"),
        kymograph.op("x", attributes={"a": value}),
    ):
        pass

    assert [e.kind for e in read() if e.name == "x"] == ["enter", "leave"]


def test_wrong_arguments_raise_without_a_session() -> None:
    for arguments in (
        {"name": 1},
        {"name": "x", "keywords": []},
        {"name": "x", "keywords": {1: 2}},
        {"name": "x", "schema": 1},
        {"name": "x", "attributes": 3},
        {},
    ):
        with pytest.raises(TypeError):
            kymograph.op(**arguments)  # type: ignore[call-overload]


def test_one_that_is_open_cannot_be_opened_again() -> None:
    one = kymograph.op("x")
    with one, pytest.raises(RuntimeError, match="open already"), one:
        pass
    with one:
        pass


def test_nothing_is_recorded_without_a_session_or_across_one(record: Record, read: Read) -> None:
    one = kymograph.op("before", 1)
    one.__enter__()
    with record():
        one.__exit__(None, None, None)
        two = kymograph.op("inside", 1)
        two.__enter__()
    two.outputs = (1,)
    two.__exit__(None, None, None)

    assert [(e.kind, e.name) for e in read() if e.kind in ("enter", "leave")] == [
        ("enter", "inside")
    ]


def test_threads_have_their_own_operators(record: Record, read: Read) -> None:
    def work(number: int) -> None:
        for i in range(50):
            with kymograph.op(f"work {number}", (number, i)):
                pass

    with record():
        threads = [threading.Thread(target=work, args=(n,)) for n in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    found = notes(read)
    assert sorted(n["ints"] for n in found) == [[n, i] for n in range(4) for i in range(50)]
    assert len({n["rf_id"] for n in found}) == 200


def test_an_operator_in_a_cycle_is_collected() -> None:
    class Witness:
        gone = 0

        def __del__(self) -> None:
            Witness.gone += 1

    holder: list[Any] = [Witness()]
    holder.append(kymograph.op("x", holder))
    del holder
    gc.collect()
    assert Witness.gone == 1
