"""What the tracer refuses, what it leaves as it was, and what it counts instead of guessing."""

from __future__ import annotations

import re
import subprocess
import sys
import threading
import time
import traceback
import types
from pathlib import Path
from typing import Any

import pytest
from program import good
from traced import MONITORING, names

import kymograph
from kymograph import _core


def execute(program: str, *arguments: object) -> str:
    """What PROGRAM prints in a process of its own."""
    done = subprocess.run(
        [sys.executable, "-c", program, *map(str, arguments)],
        capture_output=True,
        text=True,
        timeout=400,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.skipif(not MONITORING, reason="sys.monitoring came with 3.12")
def test_resume_raises_when_no_tool_is_free_and_can_be_tried_again(capture_path: Path) -> None:
    def before() -> None: ...
    def after() -> None: ...

    monitoring: Any = sys.monitoring
    kymograph.start(capture_path)
    before()
    kymograph.pause()
    monitoring.use_tool_id(3, "three")
    monitoring.use_tool_id(4, "four")
    try:
        with pytest.raises(RuntimeError, match="3 and 4 are both taken"):
            kymograph.resume()
    finally:
        monitoring.free_tool_id(3)
        monitoring.free_tool_id(4)
    kymograph.resume()
    after()
    kymograph.stop()

    found = {name.rpartition(".")[2] for name in names(capture_path)}
    assert {"before", "after"} <= found


@pytest.mark.skipif(not MONITORING, reason="sys.monitoring came with 3.12")
def test_the_next_user_of_our_tool_id_sees_what_was_left_out(capture_path: Path) -> None:
    printed = execute(
        "import kymograph, sys\n"
        "M = sys.monitoring\n"
        "def victim(): pass\n"
        "def other(): pass\n"
        "kymograph.start(sys.argv[1], exclude=['victim'])\n"
        "victim(); other()\n"
        "kymograph.stop()\n"
        "seen = []\n"
        "M.use_tool_id(4, 'next')\n"
        "M.register_callback(4, M.events.PY_START, lambda c, o: seen.append(c.co_name))\n"
        "M.set_events(4, M.events.PY_START)\n"
        "victim(); other()\n"
        "print(*seen)\n",
        capture_path,
    )

    assert printed.split() == ["victim", "other"]


def test_naming_a_thread_runs_no_code_of_the_program(capture_path: Path) -> None:
    class Shy(threading.Thread):
        asked = 0

        def __getattribute__(self, name: str) -> Any:
            if name == "_name":
                Shy.asked += 1
            return super().__getattribute__(name)

        def run(self) -> None:
            pass

    def asked() -> int:
        Shy.asked = 0
        thread = Shy(name="shy one")
        thread.start()
        thread.join()
        return Shy.asked

    without = asked()
    kymograph.start(capture_path)
    recorded = asked()
    kymograph.stop()

    assert recorded == without
    with kymograph.open(capture_path) as capture:
        assert "shy one" in {thread.name for thread in capture.threads}


def test_an_unknown_layout_of_frames_is_refused(capture_path: Path) -> None:
    _core.frames_know(False)
    try:
        with pytest.raises(RuntimeError, match="does not know the frames of this Python"):
            kymograph.start(capture_path)
        assert not kymograph.running()
    finally:
        _core.frames_know(True)

    kymograph.start(capture_path)
    kymograph.stop()


@pytest.mark.skipif(sys.version_info < (3, 13), reason="_interpreters came with 3.13")
def test_a_subinterpreter_is_refused(capture_path: Path) -> None:
    printed = execute(
        "import _interpreters, sys\n"
        "import kymograph\n"
        "source = '''\n"
        "import kymograph\n"
        "try:\n"
        "    kymograph.start(%r)\n"
        "except RuntimeError as error:\n"
        "    print(error)\n"
        "''' % sys.argv[1]\n"
        "made = _interpreters.create('legacy')\n"
        "sys.stdout.flush()\n"
        "print(_interpreters.run_string(made, source))\n",
        capture_path,
    )

    assert "in the main interpreter only" in printed


def test_a_frame_without_a_line_has_none_as_in_traceback() -> None:
    def both() -> tuple[Any, Any]:
        return kymograph.CapturedTraceback.extract(), traceback.extract_stack()

    nowhere = b"\xff" * 20 if sys.version_info >= (3, 11) else b"\xfe\x80" * 20
    function = types.FunctionType(
        both.__code__.replace(co_linetable=nowhere), globals(), closure=both.__closure__
    )
    ours, theirs = function()

    assert ours.summary()[-1].lineno is None
    assert theirs[-1].lineno is None


def test_the_sample_of_a_frame_without_a_line_has_none(capture_path: Path) -> None:
    def spin() -> None:
        end = time.thread_time() + 0.2
        while time.thread_time() < end:
            pass

    nowhere = b"\xff" * 20 if sys.version_info >= (3, 11) else b"\xfe\x80" * 20
    function = types.FunctionType(spin.__code__.replace(co_linetable=nowhere), globals())
    kymograph.start(capture_path, calls=False, sample=1000)
    function()
    kymograph.stop()

    with kymograph.open(capture_path) as capture:
        frames = {frame for stack in capture.stacks().values() for frame in stack}
    found = [frame for frame in frames if frame.name.endswith("spin")]
    assert found and all(frame.line is None for frame in found)
    assert all(frame.line != 0 for frame in frames)
    for arguments in (["dump"], ["report"], ["export", "--to", "collapsed", "-o", "-"]):
        printed = good(*arguments, capture_path)
        assert "spin" in printed and not re.search(r":0\b", printed), arguments


@pytest.mark.timing
def test_code_that_comes_and_goes_does_not_slow_captures_down() -> None:
    printed = execute(
        "import kymograph, time, types\n"
        "E = kymograph.CapturedTraceback.extract\n"
        "def g(): return E()\n"
        "def some(n):\n"
        "    began = time.process_time()\n"
        "    for _ in range(n):\n"
        "        types.FunctionType(g.__code__.replace(co_name='g'), globals())()\n"
        "    return time.process_time() - began\n"
        "first = min(some(1000) for _ in range(3))\n"
        "some(30_000)\n"
        "print(min(some(1000) for _ in range(3)) / first)\n"
    )

    assert float(printed) < 5


def test_functions_after_the_first_quarter_of_a_million_have_names() -> None:
    printed = execute(
        "import kymograph, types\n"
        "E = kymograph.CapturedTraceback.extract\n"
        "def g(): return E()\n"
        "for _ in range(2**18 + 10):\n"
        "    types.FunctionType(g.__code__.replace(co_name='g'), globals())()\n"
        "def brand_new(): return E()\n"
        "print(brand_new().summary()[-1].name, kymograph.stack_stats()['unnamed'])\n"
    )

    assert printed.split() == ["brand_new", "0"]


@pytest.mark.skipif(MONITORING, reason="later versions have code watchers")
def test_the_type_of_code_objects_is_left_as_it_was(capture_path: Path) -> None:
    printed = execute(
        "import ctypes, sys, types\n"
        "def dealloc(): return ctypes.c_void_p.from_address(id(types.CodeType) + 48).value\n"
        "before = dealloc()\n"
        "import kymograph\n"
        "imported = dealloc()\n"
        "kymograph.start(sys.argv[1])\n"
        "during = dealloc()\n"
        "kymograph.stop()\n"
        "print(imported == before, during == before, dealloc() == before)\n",
        capture_path,
    )

    assert printed.split() == ["True", "False", "True"]
