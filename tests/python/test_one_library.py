"""One libkymo per process: native code and Python share a session."""

from __future__ import annotations

import ctypes
from pathlib import Path

from conftest import Read, Record

import kymograph
from kymograph import _core


class Options(ctypes.Structure):
    _fields_ = [
        ("size", ctypes.c_size_t),
        ("path", ctypes.c_char_p),
        ("budget", ctypes.c_uint64),
        ("policy", ctypes.c_int),
        ("level", ctypes.c_int),
        ("clock", ctypes.c_int),
    ]


def native() -> ctypes.CDLL:
    """The library as a native program's loader finds it: it is in the process already."""
    return ctypes.CDLL("libkymo.so.0")


def test_the_library_lies_beside_the_extension() -> None:
    assert _core.__file__
    assert Path(_core.library()).parent == Path(_core.__file__).parent


def test_there_is_one_library_however_it_is_loaded() -> None:
    by_path = ctypes.CDLL(_core.library())

    assert by_path._handle == native()._handle
    with Path("/proc/self/maps").open() as maps:
        assert len({line.split()[-1] for line in maps if "libkymo.so" in line}) == 1


def test_native_code_marks_into_the_session_of_python(record: Record, read: Read) -> None:
    instant = native().kymo__instant
    instant.argtypes = [ctypes.c_char_p]
    name = b"from C"  # kept until the end of the session

    with record():
        kymograph.instant("from Python")
        instant(name)

    assert [event.name for event in read()] == ["from Python", "from C"]


def test_python_marks_into_a_session_of_native_code(read: Read, capture_path: Path) -> None:
    path = bytes(capture_path)
    options = Options(size=ctypes.sizeof(Options), path=path)

    assert native().kymo_start(ctypes.byref(options)) == 0
    assert kymograph.running()
    kymograph.instant("from Python")
    assert native().kymo_stop() == 0

    assert not kymograph.running()
    assert [event.name for event in read()] == ["from Python"]


def test_python_names_are_right_in_later_native_sessions(read: Read, capture_path: Path) -> None:
    path = bytes(capture_path)
    options = Options(size=ctypes.sizeof(Options), path=path)

    for _ in range(3):
        assert native().kymo_start(ctypes.byref(options)) == 0
        kymograph.instant("the same literal")
        assert native().kymo_stop() == 0
        assert [event.name for event in read()] == ["the same literal"]
