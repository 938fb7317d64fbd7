"""Samples: parsing the option, and stopping the sampler."""

from __future__ import annotations

import atexit

from kymograph import _core

MOST = 10_000  # samples per second

root: str | None = None  # leave out functions in this file, and their callers


def parse(sample: int | str) -> tuple[int, int]:
    """Return the samples per second, and the clock: 0 for CPU time, 1 for elapsed time.

    Raises ValueError unless `sample` is a rate such as "1000" or "100,wall".
    """
    rate, comma, clock = str(sample).partition(",")
    number = int(rate) if rate.isascii() and rate.isdigit() and len(rate) < 10 else 0
    if isinstance(sample, bool) or not 1 <= number <= MOST or (comma and clock != "wall"):
        raise ValueError(
            f'sample must be a rate from 1 to {MOST} per second, like 1000 or "100,wall", '
            f"not {sample!r}"
        )
    return number, int(clock == "wall")


def _stop() -> None:
    if _core.running():  # false in a forked child
        _core.stop()


def stop_at_exit() -> None:
    """Stop before the interpreter ends, which is needed to name the functions in samples."""
    atexit.unregister(_stop)
    atexit.register(_stop)
