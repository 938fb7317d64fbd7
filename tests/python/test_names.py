"""Names in any script, of any length, from any string."""

from __future__ import annotations

from pathlib import Path

import pytest
from conftest import Read, Record

import kymograph

NAMES = {
    "empty": "",
    "ascii": "plain",
    "german": "größe",
    "chinese": "数据加载",
    "russian": "загрузка",
    "emoji": "🐍" * 20,
    "control characters": "tab\tand\nnewline",
    "format": "%s %n {} \\",
    "10 000 bytes": "x" * 10_000,
    "10 000 characters": "é" * 10_000,
}


@pytest.mark.parametrize("name", NAMES.values(), ids=NAMES.keys())
def test_a_name_comes_back_as_it_was(record: Record, read: Read, name: str) -> None:
    with record():
        with kymograph.span(name):
            kymograph.instant(name)
        kymograph.counter(name, 1)
        kymograph.async_begin(name, 1)

    assert [event.name for event in read()] == [name] * 5


@pytest.mark.parametrize(
    ("name", "shown"),
    [("lone \ud800", "lone \\ud800"), ("\udcff", "\\udcff"), ("a\0b", "a\\x00b")],
    ids=["lone surrogate", "undecodable byte", "nul"],
)
def test_what_has_no_utf8_form_is_escaped(
    record: Record, read: Read, capture_path: Path, name: str, shown: str
) -> None:
    with record():
        kymograph.instant(name)
        kymograph.metadata(name, name)
        kymograph.thread_name(name)

    assert [event.name for event in read()] == [shown]
    with kymograph.open(capture_path) as capture:
        assert capture.metadata[shown] == shown
        assert [thread.name for thread in capture.threads] == [shown]


def test_names_built_at_run_time_are_copied(record: Record, read: Read) -> None:
    with record():
        for i in range(5000):
            kymograph.instant(f"name {i} " + "x" * (i % 50))

    assert [event.name for event in read()] == [f"name {i} " + "x" * (i % 50) for i in range(5000)]


def test_a_subclass_of_str_is_a_name(record: Record, read: Read) -> None:
    class Name(str):
        __slots__ = ()

    with record():
        kymograph.instant(Name("mine"))

    assert [event.name for event in read()] == ["mine"]


def test_a_name_is_right_in_every_session(read: Read, capture_path: Path) -> None:
    names = ["first", "second", "größe"]

    for session in range(20):
        kymograph.start(capture_path, calls=False)
        for name in names:
            kymograph.instant(name)
        kymograph.instant(f"session {session}")
        kymograph.stop()

        assert [event.name for event in read()] == [*names, f"session {session}"]
