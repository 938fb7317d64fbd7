"""The flight recorder: what its options mean, and when `kymograph run` has it written."""

from __future__ import annotations

from kymograph import _core
from kymograph._size import parse_size

TYPE_CHECKING = False  # typing is not imported for it
if TYPE_CHECKING:
    from typing import Any

_UNITS = {"ns": 1, "us": 10**3, "µs": 10**3, "ms": 10**6, "s": 10**9, "min": 60 * 10**9}
_UNITS["h"] = 60 * _UNITS["min"]


def parse_duration(duration: float | str) -> int:
    """`duration` in nanoseconds: a number of seconds, or like "10s", "200ms", "5min".

    Raises ValueError for anything else and for what is not positive.
    """
    ns = 0.0
    if isinstance(duration, str):
        text = duration.strip()
        number = text.rstrip("abcdefghijklmnopqrstuvwxyzµ")
        unit = _UNITS.get(text[len(number) :])
        plain = number.strip().replace(".", "", 1)
        if unit and plain.isascii() and plain.isdigit():
            ns = float(number) * unit
    else:
        ns = duration * 1e9
    if not 1 <= ns < 1 << 62:
        raise ValueError(f'a time like "10s", "200ms" or "5min", not {duration!r}')
    return int(ns)


def parse(flight: int | str | None, slow: float | str | None) -> tuple[int, int, int]:
    """The options of `kymograph.start`: bytes, nanoseconds to keep, nanoseconds that are slow."""
    if flight is None:
        raise ValueError("slow needs flight: it says when a flight recorder is written")
    size = span = 0
    for part in flight.split(",") if isinstance(flight, str) else [flight]:
        try:
            # 10m would be either: neither takes it.
            if isinstance(part, str) and part.strip().endswith(("s", "m", "n", "h")):
                span = parse_duration(part)
            else:
                size = parse_size(part)
        except ValueError:
            raise ValueError(f'a part to keep like "10s" or "100M", not {flight!r}') from None
    return size, span, 0 if slow is None else parse_duration(slow)


def _write(why: str) -> None:
    try:
        _core.flight_write(why)
    except (_core.SessionError, OSError):
        pass  # the program's own trouble comes first; what is kept stays kept


def _on_uncaught(error: BaseException) -> None:
    _write(f"uncaught {type(error).__qualname__}")


def watch() -> None:
    """Have it written on signals and on exceptions that nobody catches."""
    import _signal  # type: ignore[import-not-found]
    import threading

    from kymograph import _program

    _core.flight_on_signal(_signal.SIGUSR2, False)
    # Those that would end the process, and with it what is kept in memory.
    for name in ("TERM", "HUP", "QUIT", "SEGV", "BUS", "ILL", "FPE", "ABRT"):
        _core.flight_on_signal(getattr(_signal, "SIG" + name), True)

    _program.on_uncaught = _on_uncaught
    report = threading.excepthook

    def excepthook(args: Any, /) -> None:
        if args.exc_type is not SystemExit:
            _write(f"uncaught {args.exc_type.__qualname__}")
        report(args)

    threading.excepthook = excepthook
