"""Captured tracebacks: their Python part, against the interpreter's own."""

from __future__ import annotations

import asyncio
import gc
import importlib
import json
import pickle
import random
import sys
import sysconfig
import threading
import traceback
import weakref
from collections.abc import Callable, Iterator
from types import CodeType
from typing import Any

import pytest
from conftest import RunCode

import kymograph
from kymograph import CapturedTraceback, _core

Pair = tuple[CapturedTraceback, traceback.StackSummary]


def both() -> Pair:
    """This stack, as kymograph and as the interpreter have it."""
    return CapturedTraceback.extract(), traceback.extract_stack()


def rows(summary: traceback.StackSummary) -> list[tuple[str, int | None, str]]:
    return [(frame.filename, frame.lineno, frame.name) for frame in summary]


def check(pair: Pair) -> None:
    captured, expected = pair
    assert rows(captured.summary()) == rows(expected)


def deep(n: int, call: Callable[[], Pair]) -> Pair:
    return deep(n - 1, call) if n else call()


def test_a_capture_is_what_the_interpreter_says() -> None:
    check(both())


def test_recursion() -> None:
    check(deep(200, both))


def test_calls_back_from_c() -> None:
    check(next(map(deep, [3], [both])))
    found: list[Pair] = []
    sorted([1, 2], key=lambda _: found.append(deep(3, both)) or 0)  # type: ignore[func-returns-value]
    for pair in found:
        check(pair)


def test_generators() -> None:
    def numbers(depth: int) -> Iterator[Pair]:
        if depth:
            yield from numbers(depth - 1)
        yield both()

    for pair in numbers(5):
        check(pair)


def test_a_generator_that_is_thrown_into() -> None:
    def waits() -> Iterator[Pair]:
        try:
            yield both()
        except KeyError:
            yield both()

    generator = waits()
    check(next(generator))
    check(generator.throw(KeyError()))  # type: ignore[attr-defined]


def test_coroutines() -> None:
    async def inner() -> Pair:
        await asyncio.sleep(0)
        return both()

    async def outer() -> list[Pair]:
        return [await inner(), *await asyncio.gather(inner(), inner())]

    for pair in asyncio.run(outer()):
        check(pair)


def test_constructors_and_methods_that_python_calls() -> None:
    class Made:
        def __init__(self) -> None:
            self.pair = both()

        def __len__(self) -> int:
            check(both())
            return 1

        def __getitem__(self, item: object) -> Pair:
            return both()

        @property
        def prop(self) -> Pair:
            return both()

    for _ in range(20):  # until the interpreter has a shorter way for it
        made = Made()
        check(made.pair)
        check(made[0])
        check(made.prop)
        assert len(made) == 1


def test_closures_comprehensions_lambdas_and_class_bodies() -> None:
    cell = 1

    def closure() -> Pair:
        assert cell
        return both()

    check(closure())
    check([both() for _ in range(1)][0])  # noqa: RUF015
    check((lambda: both())())

    class Body:
        pair = both()

    check(Body.pair)


def test_exceptions_do_not_shift_it() -> None:
    def fails(n: int) -> None:
        if n:
            fails(n - 1)
        raise ValueError

    for n in range(5):
        with pytest.raises(ValueError):
            fails(n)
        check(deep(n, both))
        try:
            fails(n)
        except ValueError:
            check(both())


def test_destructors() -> None:
    found: list[Pair] = []

    class Dies:
        def __del__(self) -> None:
            found.append(both())

    def with_cell() -> Dies:
        dies = Dies()
        return (lambda: dies)()

    with_cell()
    made = Dies()
    made.me = made  # type: ignore[attr-defined]
    del made
    gc.collect()
    assert len(found) == 2
    for pair in found:
        check(pair)


def test_threads() -> None:
    found: list[Pair] = []
    threads = [threading.Thread(target=lambda: found.append(deep(5, both))) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 8
    for pair in found:
        check(pair)


def test_random_stacks() -> None:
    """Random ways of calling, nested at random, frame by frame."""
    chance = random.Random(5)
    checked = 0

    class Calls:
        def __init__(self, way: int = 0) -> None:
            if way:
                go(way - 1)

        def __call__(self, way: int) -> None:
            go(way)

    def generator(way: int) -> Iterator[int]:
        yield 1
        go(way)
        yield 2

    async def coroutine(way: int) -> None:
        go(way)

    def drive(way: int) -> None:
        with pytest.raises(StopIteration):
            coroutine(way).send(None)

    def go(left: int) -> None:
        nonlocal checked
        if not left:
            captured = CapturedTraceback.extract()
            frame, expected = sys._getframe(), []
            while frame is not None:
                place = (frame.f_code.co_filename, frame.f_code.co_name)
                expected.append((*place, frame.f_lineno))
                frame = frame.f_back  # type: ignore[assignment]
            found = [
                (f["filename"], f["name"], f["line"])
                for f in kymograph.symbolize_tracebacks([captured])[0]
            ]
            assert found[1:] == expected[1:]
            assert found[0][:2] == expected[0][:2]
            checked += 1
            return
        left -= 1
        ways: list[Callable[[], object]] = [
            lambda: go(left),
            lambda: list(map(go, [left])),
            lambda: sorted([1], key=lambda _: go(left) or 0),  # type: ignore[func-returns-value]
            lambda: list(generator(left)),
            lambda: Calls()(left),
            lambda: Calls(left + 1),
            lambda: drive(left),
            lambda: eval("go(left)", {"go": go, "left": left}),
        ]
        chance.choice(ways)()

    for _ in range(2000):
        go(chance.randrange(12))
    assert checked >= 2000


def test_every_line_of_the_standard_library() -> None:
    """Line tables are decoded without the code object; the interpreter's own way agrees."""

    def codes(code: CodeType) -> Iterator[CodeType]:
        yield code
        for constant in code.co_consts:
            if isinstance(constant, CodeType):
                yield from codes(constant)

    chance = random.Random(1)
    compared = 0
    for name in ("argparse", "ast", "asyncio.base_events", "dataclasses", "inspect", "typing"):
        module = importlib.import_module(name)
        assert module.__file__ is not None
        with open(module.__file__, encoding="utf-8") as file:
            whole = compile(file.read(), module.__file__, "exec")
        for code in codes(whole):
            size = len(code.co_code)
            for start, end, line in code.co_lines():
                for offset in range(start, end, 2):
                    # The search begins where one for another instruction ended.
                    for before in (0, chance.randrange(0, size, 2), max(offset - 2, 0), offset):
                        assert _core.code_line(code, offset, before) == (line or 0)
                    compared += 1
    assert compared > 30_000


@pytest.mark.skipif(
    sys.version_info < (3, 14) and bool(sysconfig.get_config_var("Py_GIL_DISABLED")),
    reason="without a GIL, 3.13 keeps functions for good once there was a second thread",
)
def test_names_survive_their_functions() -> None:
    namespace: dict[str, Any] = {"both": both}
    exec(compile("def gone():\n\n  return both()", "gone é.py", "exec"), namespace)
    captured, expected = namespace["gone"]()
    dead = weakref.ref(namespace["gone"])
    code = weakref.ref(namespace["gone"].__code__)
    wanted = rows(expected)
    del namespace, expected
    gc.collect()
    assert dead() is None
    assert code() is None, "the traceback keeps its code alive"
    assert rows(captured.summary()) == wanted
    assert ("gone é.py", 3, "gone") in wanted


def test_functions_that_come_to_lie_at_the_place_of_a_dead_one() -> None:
    """Thousands of functions, made and dropped: each capture has its own's name."""
    held = []
    for i in range(2000):
        namespace: dict[str, Any] = {"extract": CapturedTraceback.extract}
        exec(compile(f"def f{i}(): return extract()", f"file{i}.py", "exec"), namespace)
        held.append(namespace[f"f{i}"]())
    for i, frames in enumerate(kymograph.symbolize_tracebacks(held)):
        assert (frames[0]["name"], frames[0]["filename"]) == (f"f{i}", f"file{i}.py")


def test_equal_stacks_have_one_id_and_others_have_not() -> None:
    gc.collect()
    same = [CapturedTraceback.extract() for _ in range(100)]
    assert len({tb.id for tb in same}) == 1
    other = CapturedTraceback.extract()
    assert other.id != same[0].id


def test_a_million_may_be_held() -> None:
    gc.collect()  # functions that die meanwhile would give later ones another id
    before = kymograph.stack_stats()["stacks"]
    held = [CapturedTraceback.extract() for _ in range(1_000_000)]
    assert len({tb.id for tb in held}) == 1
    assert kymograph.stack_stats()["stacks"] - before <= 2


def test_skip() -> None:
    def caller() -> CapturedTraceback:
        return CapturedTraceback.extract(skip=1)

    assert rows(caller().summary())[-1][2] == "test_skip"
    assert len(CapturedTraceback.extract(skip=10_000)) == 0


def test_wrong_arguments() -> None:
    with pytest.raises(ValueError, match="skip works only with Python frames"):
        CapturedTraceback.extract(cpp=True, skip=1)
    with pytest.raises(ValueError, match="must not be negative"):
        CapturedTraceback.extract(skip=-1)
    with pytest.raises(TypeError, match="unexpected argument 'depth'"):
        CapturedTraceback.extract(depth=1)  # type: ignore[call-arg]
    with pytest.raises(TypeError, match="keyword arguments only"):
        CapturedTraceback.extract(1)  # type: ignore[call-arg,arg-type]
    with pytest.raises(TypeError, match="not a captured traceback: 1"):
        kymograph.symbolize_tracebacks([1])  # type: ignore[list-item]
    with pytest.raises(ValueError, match="'full', 'names', 'none', not 'fast'"):
        kymograph.symbolize_tracebacks([], "fast")  # type: ignore[arg-type]


def test_format_is_that_of_traceback() -> None:
    captured, expected = both()
    assert captured.format() == traceback.format_list(expected)
    assert CapturedTraceback.format_all([captured, None, captured]) == [
        captured.format(),
        None,
        captured.format(),
    ]


def test_cleanup() -> None:
    captured = CapturedTraceback.extract()
    captured.cleanup()
    captured.cleanup()
    assert captured.summary() == []
    assert captured.format() == []
    assert (captured.id, len(captured)) == (0, 0)


def test_pickling_drops_the_stack() -> None:
    again = pickle.loads(pickle.dumps(CapturedTraceback.extract()))
    assert isinstance(again, CapturedTraceback)
    assert again.summary() == []


def test_symbolizing_shares_frames_and_json_says_the_same() -> None:
    pairs = [deep(n, both)[0] for n in (3, 5, 3)]
    frames = kymograph.symbolize_tracebacks(pairs)
    assert frames[0] == frames[2]
    assert frames[0][0] is frames[2][0] is frames[1][0]
    known = json.loads(kymograph.json_symbolize(pairs))
    assert [[known["frames"][i] for i in stack] for stack in known["tracebacks"]] == frames


def test_hooks_add_frames_of_generated_code() -> None:
    def hook(filename: str, line: int) -> list[dict[str, Any]] | None:
        if filename != "generated.py":
            return None
        return [{"name": "template", "filename": "page.html", "line": line * 10}]

    namespace: dict[str, Any] = {"extract": CapturedTraceback.extract}
    exec(compile("\ndef render(): return extract()", "generated.py", "exec"), namespace)
    captured = namespace["render"]()
    kymograph.add_frame_hook(hook)
    try:
        frames = kymograph.symbolize_tracebacks([captured])[0]
    finally:
        kymograph.remove_frame_hook(hook)
    assert frames[0] == {"name": "render", "filename": "generated.py", "line": 2}
    assert frames[1] == {"name": "template", "filename": "page.html", "line": 20}
    assert len(kymograph.symbolize_tracebacks([captured])[0]) == len(frames) - 1


def test_hooks_are_called_for_python_frames_alone() -> None:
    seen: list[str] = []
    captured = kymograph.gather_traceback(python=True, cpp=True)
    kymograph.add_frame_hook(lambda filename, line: seen.append(filename))
    try:
        frames = kymograph.symbolize_tracebacks([captured])[0]
    finally:
        kymograph.remove_frame_hook(kymograph._traceback._frame_hooks[-1])
    python = kymograph.symbolize_tracebacks([kymograph.gather_traceback(python=True, cpp=False)])[0]
    assert len(seen) == len({(frame["filename"], frame["line"]) for frame in python}) < len(frames)


def test_gathering_chooses_parts() -> None:
    python = kymograph.gather_traceback(python=True, cpp=False)
    native = kymograph.gather_traceback(python=False, cpp=True)
    assert rows(python.summary())[-1][2] == "test_gathering_chooses_parts"
    assert len(native) > 3
    assert not any(frame.filename == __file__ for frame in native.summary())
    assert len(kymograph.gather_traceback(python=False, script=True, cpp=False)) == 0


def test_a_layout_that_is_not_known_is_noticed() -> None:
    assert _core.stack_check(0)
    assert not _core.stack_check(1)


def test_it_does_not_cost_the_import(run_code: RunCode) -> None:
    run_code("import sys, kymograph; assert 'kymograph._traceback' not in sys.modules")


def test_captures_at_the_end_of_the_interpreter(run_code: RunCode) -> None:
    run_code(
        "import atexit, kymograph, sys\n"
        "class D:\n"
        "  def __del__(self, extract=kymograph.CapturedTraceback.extract):\n"
        "    extract(); extract(cpp=True)\n"
        "sys.kept = D()\n"
        "d = D(); d.me = d\n"
        "atexit.register(lambda: kymograph.CapturedTraceback.extract().format())\n"
    )


def test_a_traceback_given_often_has_one_list_of_frames() -> None:
    one, other = kymograph.gather_traceback(), kymograph.gather_traceback()

    found = kymograph.symbolize_tracebacks([one, other, one, one])

    assert found[0] is found[2] is found[3]
    assert [frame["name"] for frame in found[1]] == [frame["name"] for frame in found[0]]
    assert len(kymograph.symbolize_tracebacks([one] * 100_000)) == 100_000
