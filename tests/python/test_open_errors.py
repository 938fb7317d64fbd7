"""Files that are no readable capture: which exception, and what it says."""

from __future__ import annotations

import errno
import os
import struct
from pathlib import Path

import pytest
from conftest import Record

import kymograph

MAJOR = slice(8, 10)  # in the header, a little-endian 16-bit number


def test_a_missing_file_is_file_not_found(tmp_path: Path) -> None:
    path = tmp_path / "missing.kymo"

    with pytest.raises(FileNotFoundError) as raised:
        kymograph.open(path)

    assert raised.value.filename == str(path)
    assert raised.value.errno == errno.ENOENT


def test_a_directory_raises_is_a_directory_error(tmp_path: Path) -> None:
    with pytest.raises(IsADirectoryError) as raised:
        kymograph.open(tmp_path)

    assert raised.value.filename == str(tmp_path)


def test_a_file_in_a_file_is_not_a_directory(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")

    with pytest.raises(NotADirectoryError):
        kymograph.open(tmp_path / "file" / "trace.kymo")


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read every file")
def test_a_forbidden_file_is_permission_denied(record: Record) -> None:
    with record() as path:
        pass
    path.chmod(0)

    with pytest.raises(PermissionError) as raised:
        kymograph.open(path)

    assert raised.value.filename == str(path)


def test_an_empty_file_says_that_nothing_was_recorded(tmp_path: Path) -> None:
    path = tmp_path / "größe.kymo"
    path.touch()

    with pytest.raises(kymograph.CaptureError, match="empty") as raised:
        kymograph.open(path)

    assert str(path) in str(raised.value)
    assert "record again" in str(raised.value)


def test_a_text_file_is_not_a_capture(tmp_path: Path) -> None:
    path = tmp_path / "notes.txt"
    path.write_text("these are not the bytes you are looking for\n" * 100)

    with pytest.raises(kymograph.CaptureError, match="not a kymograph capture") as raised:
        kymograph.open(path)

    assert str(path) in str(raised.value)
    assert raised.value.filename == str(path)


@pytest.mark.parametrize("content", [b"k", b"\0", b"{}\n", b"\x7fELF"])
def test_a_tiny_file_is_not_a_capture(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "tiny"
    path.write_bytes(content)

    with pytest.raises(kymograph.CaptureError):
        kymograph.open(path)


def test_a_capture_of_a_newer_version_asks_for_an_update(record: Record) -> None:
    with record() as path:
        kymograph.instant("future")
    data = bytearray(path.read_bytes())
    (major,) = struct.unpack("<H", data[MAJOR])
    data[MAJOR] = struct.pack("<H", major + 1)
    path.write_bytes(data)

    with pytest.raises(kymograph.CaptureError, match="newer kymograph; update kymograph") as raised:
        kymograph.open(path)

    assert str(path) in str(raised.value)


def test_a_capture_error_is_a_value_error() -> None:
    assert issubclass(kymograph.CaptureError, ValueError)
    assert issubclass(kymograph.SessionError, RuntimeError)


@pytest.mark.parametrize("path", [None, 3, 1.5])
def test_a_value_that_is_not_a_path_is_a_type_error(path: object) -> None:
    with pytest.raises(TypeError):
        kymograph.open(path)  # type: ignore[arg-type]


def test_a_path_with_nul_is_a_value_error() -> None:
    with pytest.raises(ValueError, match="null"):
        kymograph.open("a\0b")


def test_paths_may_be_str_bytes_or_path_like(record: Record) -> None:
    with record() as path:
        kymograph.instant("found")

    for given in (path, str(path), os.fsencode(path)):
        with kymograph.open(given) as capture:
            assert capture.path == str(path)
            assert [event.name for event in capture.events()] == ["found"]


def test_a_path_may_be_invalid_utf8(tmp_path: Path) -> None:
    path = os.fsencode(tmp_path) + b"/\xff.kymo"

    kymograph.start(path, calls=False)
    kymograph.stop()

    with kymograph.open(path) as capture:
        assert capture.path == os.fsdecode(path)
