"""Captured tracebacks: the native frames between the Python frames."""

from __future__ import annotations

import _ctypes
import ctypes
import ctypes.util
import gc
import os
import random
import shlex
import shutil
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import kymograph
from kymograph import CapturedTraceback, _core

ROOT = Path(__file__).resolve().parents[2]
EVALUATE = "_PyEval_EvalFrameDefault"
NATIVE, MANAGED = 1, 2

pytestmark = pytest.mark.skipif(
    os.uname().machine not in ("x86_64", "aarch64"), reason="no native stacks on this machine"
)


@pytest.fixture(scope="module")
def helper(tmp_path_factory: pytest.TempPathFactory) -> Path:
    target = tmp_path_factory.mktemp("native") / "stacks.so"
    compiler = shlex.split(os.environ.get("CC", "cc"))
    command = [
        *compiler,
        *("-std=gnu11", "-O2", "-g", "-fPIC", "-shared", "-D_GNU_SOURCE"),
        f"-I{ROOT / 'include'}",
        str(ROOT / "tests" / "programs" / "stacks.c"),
        _core.library(),
        f"-Wl,-rpath,{Path(_core.library()).parent}",
        *("-o", str(target), "-pthread", "-ldl"),
    ]
    try:
        subprocess.run(command, check=True, capture_output=True, text=True)
    except FileNotFoundError:
        pytest.skip(f"there is no C compiler: {compiler[0]}")
    return target


@pytest.fixture
def without_gil(helper: Path) -> ctypes.CDLL:
    return ctypes.CDLL(str(helper))


@pytest.fixture
def with_gil(helper: Path) -> ctypes.PyDLL:
    return ctypes.PyDLL(str(helper))


def is_python(frame: dict[str, Any]) -> bool:
    filename: str = frame["filename"]
    return filename.endswith(".py") or filename.startswith("<")


def names(tb: CapturedTraceback) -> list[str]:
    """Innermost first; Python functions as `py:name`."""
    return [
        f"py:{frame['name']}" if is_python(frame) else frame["name"]
        for frame in kymograph.symbolize_tracebacks([tb], "names")[0]
    ]


def has_symbols() -> bool:
    """Does this interpreter tell the names of its native functions, the inner ones too?"""
    found = next(map(lambda _: CapturedTraceback.extract(cpp=True), [1]))  # noqa: C417
    return {EVALUATE, "map_next"} <= set(names(found))


def test_python_frames_come_before_the_evaluator_that_ran_them() -> None:
    if not has_symbols():
        pytest.skip("this interpreter was stripped of its symbols")
    found: list[CapturedTraceback] = []

    def inner(_: object) -> int:
        found.append(CapturedTraceback.extract(cpp=True))
        return 0

    def middle(n: int) -> None:
        if n:
            middle(n - 1)
        else:
            sorted([1], key=inner)

    def outer() -> None:
        list(map(middle, [3]))

    outer()
    stack = names(found[0])
    python = [i for i, name in enumerate(stack) if name.startswith("py:")]
    assert [stack[i] for i in python][:6] == ["py:inner", *["py:middle"] * 4, "py:outer"]
    at = python[0]
    assert stack[at + 1] == EVALUATE
    sorting = next(i for i, name in enumerate(stack) if "sort" in name)
    assert at < sorting < python[1]
    if sys.version_info >= (3, 11):  # one evaluator for all of them
        assert python[1:5] == list(range(python[1], python[1] + 4))
        assert stack[python[4] + 1] == EVALUATE
    else:
        for i in python[:6]:
            assert EVALUATE in stack[i + 1 : i + 3]
    mapping = next(i for i, name in enumerate(stack) if name == "map_next")
    assert python[4] < mapping < python[5]
    # Every evaluator of the whole stack has its Python frames right before it.
    for i, name in enumerate(stack):
        if name == EVALUATE:
            assert stack[i - 1].startswith("py:") or stack[i - 1].startswith("_PyEval"), stack[
                : i + 1
            ]


def test_generators_have_their_own_evaluator() -> None:
    if not has_symbols():
        pytest.skip("this interpreter was stripped of its symbols")

    def generator() -> Iterator[CapturedTraceback]:
        yield CapturedTraceback.extract(cpp=True)

    stack = names(list(generator())[0])  # noqa: RUF015
    at = stack.index("py:generator")
    caller = stack.index("py:test_generators_have_their_own_evaluator")
    assert stack[at + 1] == EVALUATE
    assert any("gen_" in name for name in stack[at:caller])
    assert any("list" in name for name in stack[at:caller])


def test_a_thread_that_python_has_never_seen(without_gil: ctypes.CDLL) -> None:
    found: list[CapturedTraceback] = []

    def callback() -> None:
        found.append(CapturedTraceback.extract(cpp=True))

    without_gil.on_a_new_thread(ctypes.CFUNCTYPE(None)(callback))
    stack = names(found[0])
    assert stack.count("py:callback") == 1
    assert stack.index("py:callback") < stack.index("calls")
    assert not any("test_a_thread" in name for name in stack)


def test_a_thread_without_python_has_native_frames_only(without_gil: ctypes.CDLL) -> None:
    before = kymograph.stack_stats()["captures"]
    stack = without_gil.of_a_native_thread()
    assert stack
    assert kymograph.stack_stats()["captures"] > before
    library = ctypes.CDLL(_core.library())
    count = library.kymo_stack_frames(stack, None, 0)
    frames = (ctypes.c_uint32 * (4 * count))()
    library.kymo_stack_frames(stack, frames, ctypes.c_size_t(count))
    assert count >= 2
    assert not any(frames[4 * i + 3] for i in range(count)), "it has Python frames"
    library.kymo_stack_release(stack)


def test_releasing_needs_neither_the_gil_nor_a_lock(with_gil: ctypes.PyDLL) -> None:
    library = ctypes.PyDLL(_core.library())
    stacks = (ctypes.c_uint32 * 1000)(
        *(library.kymo_stack_capture(NATIVE | MANAGED, 0) for _ in range(1000))
    )
    assert all(stacks)
    assert with_gil.with_the_gil_and_a_lock(stacks, ctypes.c_size_t(len(stacks))) == 1


def unwinder(library: ctypes.CDLL) -> None:
    found = ctypes.util.find_library("unwind")
    if not found or not library.find_unwind(found.encode()):
        pytest.skip("there is no libunwind to compare with")


def random_ways(
    chance: random.Random, compare: Callable[[], None], through: Callable[[int, Any], int]
) -> Callable[[int], None]:
    """Calls nested in random ways, with a comparison at the end."""

    class Calls:
        def __init__(self, left: int) -> None:
            go(left)

    def generator(left: int) -> Iterator[int]:
        yield 1
        go(left)
        yield 2

    async def coroutine(left: int) -> None:
        go(left)

    def drive(left: int) -> None:
        with pytest.raises(StopIteration):
            coroutine(left).send(None)

    def raising(left: int) -> None:
        try:
            raise KeyError
        except KeyError:
            go(left)

    callback = ctypes.CFUNCTYPE(ctypes.c_int)
    expression = compile("go(left)", "<string>", "eval")  # once: functions get numbers for good

    def native(left: int) -> None:
        def back() -> int:
            go(left)
            return 7

        assert through(chance.randrange(20), callback(back)) == 7

    def go(left: int) -> None:
        if left <= 0:
            compare()
            return
        left -= 1
        ways: list[Callable[[], object]] = [
            lambda: go(left),
            lambda: list(map(go, [left])),
            lambda: sorted([1], key=lambda _: go(left) or 0),  # type: ignore[func-returns-value]
            lambda: list(generator(left)),
            lambda: Calls(left),
            lambda: drive(left),
            lambda: raising(left),
            lambda: native(left),
            lambda: eval(expression, {"go": go, "left": left}),
        ]
        chance.choice(ways)()

    return go


def python_frames() -> list[tuple[str, str, int]]:
    frame = sys._getframe(2)
    found = []
    while frame is not None:
        found.append((frame.f_code.co_name, frame.f_code.co_filename, frame.f_lineno))
        frame = frame.f_back  # type: ignore[assignment]
    return found


@pytest.mark.parametrize("gil", [True, False])
def test_random_stacks_are_those_of_libunwind_and_of_the_interpreter(
    helper: Path, gil: bool
) -> None:
    library = ctypes.PyDLL(str(helper)) if gil else ctypes.CDLL(str(helper))
    unwinder(library)
    captures = int(os.environ.get("KYMO_CAPTURES", "20000")) // 4
    total: list[int] = []

    def run(seed: int) -> None:
        chance = random.Random(seed)
        compared = 0

        def compare() -> None:
            nonlocal compared
            compared += 1
            assert library.compare(NATIVE | MANAGED) == -1
            if compared % 16 == 0:
                captured = CapturedTraceback.extract(cpp=True)
                native = [
                    (frame["name"], frame["filename"], frame["line"])
                    for frame in kymograph.symbolize_tracebacks([captured], "none")[0]
                    if not frame["line"] == 0
                ]
                assert native[1:] == python_frames()

        go = random_ways(chance, compare, library.through)
        for _ in range(captures):
            go(chance.randrange(10))
        total.append(compared)

    failed: list[BaseException] = []

    def guarded(seed: int) -> None:
        try:
            run(seed)
        except BaseException as error:
            failed.append(error)

    thread = threading.Thread(target=guarded, args=(1,))
    thread.start()
    run(2)
    thread.join()
    assert not failed
    assert sum(total) >= 2 * captures


def test_memory_stays_bounded_and_is_given_back(helper: Path) -> None:
    """Many different stacks, none held."""
    library = ctypes.PyDLL(str(helper))

    def capture() -> None:
        CapturedTraceback.extract(cpp=True)

    go = random_ways(random.Random(3), capture, library.through)
    for _ in range(5000):
        go(random.randrange(8))
    gc.collect()
    stats = kymograph.stack_stats()
    assert stats["bytes"] <= stats["limit"]
    assert stats["dropped"] == 0


def test_a_library_that_is_gone_when_its_names_are_asked_for(helper: Path, tmp_path: Path) -> None:
    copy = tmp_path / "leaves.so"
    shutil.copy(helper, copy)
    found: list[CapturedTraceback] = []

    def callback() -> int:
        found.append(CapturedTraceback.extract(cpp=True))
        return 7

    library = ctypes.CDLL(str(copy))
    back = ctypes.CFUNCTYPE(ctypes.c_int)(callback)
    assert library.through(3, back) == 7
    _ctypes.dlclose(library._handle)
    assert str(copy) not in Path("/proc/self/maps").read_text()
    stack = names(found[0])
    assert stack.count("through") == 4
    copy.unlink()
    again = names(found[0])  # what was found once stays known
    assert again == stack


def test_modes() -> None:
    tb = CapturedTraceback.extract(cpp=True)
    full, by_name, none = (
        kymograph.symbolize_tracebacks([tb], mode)[0] for mode in ("full", "names", "none")
    )
    assert len(full) >= len(by_name) == len(none)
    for frame in none:
        if not is_python(frame):
            assert "+0x" in frame["name"], frame
            assert frame["line"] == 0


def test_addresses_of_this_process() -> None:
    libc = ctypes.CDLL(None)
    address = ctypes.cast(libc.qsort, ctypes.c_void_p).value
    assert address is not None
    (place,) = kymograph.symbolize_addresses([address])
    assert "qsort" in place[2]
    ((_, _, nothing),) = kymograph.symbolize_addresses([8])
    assert nothing == "??+0x8"
