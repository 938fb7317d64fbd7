"""Parses sizes, times and shares, with one grammar for Python and for the command line.

A size is a number with K, M, G or T, like "64M"; a time has a unit, like "200ms"; a share is "5%"
or 0.05. A plain number means bytes, and only where a time is not possible.
"""

from __future__ import annotations

LEAST_BUDGET = 1 << 20  # the library's minimum
LEAST_FLIGHT = 64 << 10

_SIZES = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}
_TIMES = {"ns": 1, "us": 10**3, "µs": 10**3, "ms": 10**6, "s": 10**9, "min": 60 * 10**9}
_TIMES["h"] = 60 * _TIMES["min"]


def _split(text: str) -> tuple[str, str]:
    """Split `text` into the number at its start, digits with at most one point, and the rest."""
    text = text.strip()
    end = 0
    while end < len(text) and text[end] in "0123456789.":
        end += 1
    number, rest = text[:end], text[end:].strip()
    if number.count(".") > 1 or number.startswith(".") or number.endswith("."):
        return "", rest
    return number, rest


def _shown(size: int) -> str:
    for unit in ("M", "K"):
        if size >= _SIZES[unit]:
            return f"{size // _SIZES[unit]}{unit}"
    return f"{size} byte"


def parse_size(size: int | str, least: int = 1) -> int:
    """Return `size` in bytes; at least `least`. Raises ValueError."""
    number = -1.0
    if isinstance(size, str):
        digits, unit = _split(size)
        unit = unit.upper().removesuffix("B").removesuffix("I" if len(unit) > 2 else "")
        if digits and unit in _SIZES and (unit or "." not in digits):
            number = (float(digits) if "." in digits else int(digits)) * _SIZES[unit]
    elif isinstance(size, int) and not isinstance(size, bool):
        number = size
    if number < 0:
        raise ValueError(f'a size is like "64M" or "1G", not {size!r}')
    if not least <= number < 1 << 63:
        raise ValueError(f"a size of {size} is out of range; at least {_shown(least)} is needed")
    return int(number)


def parse_time(time: str) -> int:
    """Return `time`, such as "10s", "200ms" or "5min", in nanoseconds. Raises ValueError."""
    ns = 0.0
    if isinstance(time, str):
        digits, unit = _split(time)
        if digits and unit in _TIMES:
            ns = float(digits) * _TIMES[unit]
    if not 1 <= ns < 1 << 62:
        raise ValueError(f'a time has a unit, like "200ms", "10s" or "5min"; not {time!r}')
    return int(ns)


def parse_slow(slow: str) -> tuple[int, str | None]:
    """`slow`, like "200ms" or "Handler.*=200ms", as nanoseconds and pattern. Raises ValueError."""
    pattern, equals, time = slow.rpartition("=") if isinstance(slow, str) else ("", "", slow)
    if equals and not pattern:
        raise ValueError(f'slow needs a pattern before "=", like "Handler.*=200ms"; not {slow!r}')
    return parse_time(time), pattern or None


def parse_share(share: float | str) -> float:
    """Return `share`, "5%" or 0.05, as a fraction between 0 and 1. Raises ValueError."""
    fraction = 0.0
    if isinstance(share, str):
        digits, percent = _split(share)
        if digits and percent in ("", "%"):
            fraction = float(digits) / (100 if percent else 1)
    elif isinstance(share, (int, float)) and not isinstance(share, bool):
        fraction = share
    if not 0 < fraction < 1:
        raise ValueError(f'a share is like "5%" or 0.05, and less than 100%; not {share!r}')
    return fraction


def parse_flight(flight: str) -> tuple[int, int]:
    """Return what a flight recorder keeps, as bytes and nanoseconds; 0 for no limit.

    A size, a time, or both as "10s,100M". Raises ValueError.
    """
    size = span = 0
    for part in flight.split(",") if isinstance(flight, str) else [""]:
        try:
            unit = _split(part)[1]
            if unit in _TIMES:
                span = parse_time(part)
            elif unit and unit != "m":  # minutes, or megabytes?
                size = parse_size(part, LEAST_FLIGHT)
            else:
                raise ValueError
        except ValueError:
            raise ValueError(
                'what to keep has a unit, like "10s" or "100M", and is at least 64K; '
                f"not {flight!r}"
            ) from None
    return size, span
