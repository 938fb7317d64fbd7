"""Sizes as people write them."""

from __future__ import annotations

import pytest

from kymograph._size import parse_size


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
        ("1T", 1 << 40),
        ("100B", 100),
        ("3k", 3072),
    ],
)
def test_a_size_is_a_number_with_an_optional_unit(text: int | str, size: int) -> None:
    assert parse_size(text) == size


@pytest.mark.parametrize("text", ["", "M", "-1", "1.5G", "64 X", "0x10", "1 2", "٣", "0", 0, -5])
def test_anything_else_is_a_value_error(text: int | str) -> None:
    with pytest.raises(ValueError, match="size"):
        parse_size(text)


def test_a_size_beyond_all_memory_is_a_value_error() -> None:
    with pytest.raises(ValueError, match="size"):
        parse_size("9999999999T")
