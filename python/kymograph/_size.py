"""Sizes in bytes as people write them."""

from __future__ import annotations

_UNITS = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}


def parse_size(size: int | str) -> int:
    """`size` in bytes: a number, or a number with K, M, G or T (powers of 1024).

    Raises ValueError for anything else and for sizes below 1.
    """
    if isinstance(size, str):
        import re  # not before every program that is run with `kymograph run`

        flags = re.IGNORECASE | re.ASCII
        match = re.fullmatch(r"\s*(\d+)\s*([KMGT]?)(?:i?B)?\s*", size, flags)
        if not match:
            raise ValueError(f'a size is a number of bytes or like "64M" or "1G", not {size!r}')
        size = int(match[1]) * _UNITS[match[2].upper()]
    if not 1 <= size < 1 << 63:
        raise ValueError(f"a size of {size} bytes makes no sense")
    return size
