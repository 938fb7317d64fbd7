"""Chakra files, read without any of Chakra's code."""

from __future__ import annotations

from pathlib import Path
from typing import Any


def varint(data: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = data[at]
        value |= (byte & 0x7F) << shift
        at, shift = at + 1, shift + 7
        if byte < 0x80:
            return value, at


def fields(data: bytes) -> dict[int, list[Any]]:
    """The fields of a protocol buffer by number: ints, and bytes."""
    found: dict[int, list[Any]] = {}
    at = 0
    while at < len(data):
        tag, at = varint(data, at)
        value: Any
        value, at = varint(data, at)
        if tag & 7 == 2:
            value, at = data[at : at + value], at + value
        else:
            assert tag & 7 == 0
        found.setdefault(tag >> 3, []).append(value)
    assert at == len(data)
    return found


def chakra_attributes(messages: list[bytes]) -> dict[str, Any]:
    """Name and value; which field holds the value depends on its type."""
    all_fields = [fields(message) for message in messages]
    return {
        one[1][0].decode(): next((value[0] for key, value in one.items() if key != 1), 0)
        for one in all_fields
    }


def chakra_messages(path: Path) -> list[dict[int, list[Any]]]:
    data, at, messages = path.read_bytes(), 0, []
    while at < len(data):
        length, at = varint(data, at)
        messages.append(fields(data[at : at + length]))
        at += length
    assert at == len(data)
    return messages
