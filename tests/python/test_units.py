"""Sizes, times and shares as people write them, in Python and on the command line alike."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from ran import RUN, execute

import kymograph
from kymograph._units import parse_flight, parse_share, parse_size, parse_time


@pytest.mark.parametrize(
    ("text", "size"),
    [
        (1, 1),
        (4096, 4096),
        ("1", 1),
        ("64M", 64 << 20),
        ("64m", 64 << 20),
        ("64MB", 64 << 20),
        ("64 MiB", 64 << 20),
        (" 1G ", 1 << 30),
        ("1.5G", 3 << 29),
        ("1T", 1 << 40),
        ("100B", 100),
        ("3k", 3072),
    ],
)
def test_a_size_is_a_number_with_an_optional_unit(text: int | str, size: int) -> None:
    assert parse_size(text) == size


@pytest.mark.parametrize(
    "text",
    ["", "M", "-1", "1.5", "1..5G", "64 X", "0x10", "1 2", "٣", "0", 0, -5, True, 1.5, None],
)
def test_anything_else_is_not_a_size(text: Any) -> None:
    with pytest.raises(ValueError, match="size"):
        parse_size(text)


def test_a_size_beyond_all_memory_is_a_value_error() -> None:
    with pytest.raises(ValueError, match="size"):
        parse_size("9999999999T")


def test_a_size_may_be_too_small_for_what_it_is_for() -> None:
    assert parse_size("256K", 256 << 10) == 256 << 10
    with pytest.raises(ValueError, match="at least 256K"):
        parse_size("255K", 256 << 10)


def test_a_time_has_a_unit() -> None:
    assert [parse_time(text) for text in ("10s", "200ms", "1.5 s", "5min", "1h", "3us")] == [
        10_000_000_000,
        200_000_000,
        1_500_000_000,
        300_000_000_000,
        3_600_000_000_000,
        3_000,
    ]


@pytest.mark.parametrize(
    "text", ["", "s", "1", "-1s", "1 fortnight", "nan", "1e9s", "0s", 0, 1, 0.25]
)
def test_anything_else_is_not_a_time(text: Any) -> None:
    with pytest.raises(ValueError, match="a time has a unit"):
        parse_time(text)


def test_a_share_is_a_percentage_or_a_fraction() -> None:
    shares = [parse_share(share) for share in ("5%", "0.5 %", "0.05", 0.05)]
    assert shares == pytest.approx([0.05, 0.005, 0.05, 0.05])


@pytest.mark.parametrize("share", ["5", 5, "500%", "100%", 1, "0%", "-5%", "five", "", True, None])
def test_anything_else_is_not_a_share(share: Any) -> None:
    with pytest.raises(ValueError, match="a share is like"):
        parse_share(share)


def test_a_flight_recorder_keeps_a_time_or_a_size_or_both() -> None:
    assert parse_flight("10s") == (0, 10_000_000_000)
    assert parse_flight("100M") == (100 << 20, 0)
    assert parse_flight("10s,100M") == (100 << 20, 10_000_000_000)


@pytest.mark.parametrize("flight", ["10", 10, "10m", "1K", "", "10s,", 4 << 20])
def test_a_flight_size_needs_a_unit(flight: Any) -> None:
    with pytest.raises(ValueError, match="what to keep has a unit"):
        parse_flight(flight)


WRONG = [
    ("overhead", "5"),
    ("overhead", "500%"),
    ("budget", "1K"),
    ("budget", "much"),
    ("flight", "10"),
    ("flight", "10m"),
]


@pytest.mark.parametrize(("option", "value"), WRONG)
def test_python_and_the_command_refuse_the_same(
    option: str, value: str, capture_path: Path, folder: Path
) -> None:
    with pytest.raises(ValueError):
        kymograph.start(capture_path, **{option: value})  # type: ignore[arg-type]
    done = execute(*RUN, f"--{option}", value, "-c", "print(1)")

    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith(f"kymograph: --{option} {value} is not a ")
    assert done.stderr.count("\n") == 1
    assert list(folder.iterdir()) == []


def test_a_pattern_alone_is_one_pattern(capture_path: Path) -> None:
    """A string is one pattern, not one per letter."""

    def jason() -> None: ...

    def other() -> None: ...

    for option, called in (("include", {"jason"}), ("exclude", {"other"})):
        with kymograph.trace(capture_path, c_calls=False, **{option: "*jason"}):  # type: ignore[arg-type]
            jason()
            other()

        with kymograph.open(capture_path) as capture:
            names = {e.name.rpartition(".")[2] for e in capture.events() if e.kind == "enter"}
        assert names & {"jason", "other"} == called
