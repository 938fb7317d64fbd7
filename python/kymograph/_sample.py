"""Samples: what the option means, and their end."""

from __future__ import annotations

import atexit

from kymograph import _core

MOST = 10_000  # samples a second

root: str | None = None  # functions in this file, and their callers, are left out


def parse(sample: int | str) -> tuple[int, int]:
    """Samples a second, and of which time: 0 that a thread runs, 1 all of it.

    Raises ValueError for anything else than a rate, "1000" or "100,wall".
    """
    rate, comma, clock = str(sample).partition(",")
    number = int(rate) if rate.isascii() and rate.isdigit() and len(rate) < 10 else 0
    if isinstance(sample, bool) or not 1 <= number <= MOST or (comma and clock != "wall"):
        raise ValueError(
            f'sample must be a rate from 1 to {MOST} a second, or like "100,wall", not {sample!r}'
        )
    return number, int(clock == "wall")


def _stop() -> None:
    if _core.running():  # in a forked child nothing does
        _core.stop()


def stop_at_exit() -> None:
    """Stop before the interpreter ends: it has to name the functions in samples."""
    atexit.unregister(_stop)
    atexit.register(_stop)
