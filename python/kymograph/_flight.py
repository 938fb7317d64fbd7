"""When `kymograph run` writes the flight recorder."""

from __future__ import annotations

from kymograph import _core

TYPE_CHECKING = False  # avoids importing typing
if TYPE_CHECKING:
    from typing import Any


def _write(why: str) -> None:
    try:
        _core.flight_write(why)
    except (_core.SessionError, OSError):
        pass  # the program's own error comes first; the records are kept


def _on_uncaught(error: BaseException) -> None:
    _write(f"uncaught {type(error).__qualname__}")


def watch_signals() -> None:
    """Write the flight recorder on signals."""
    import _signal  # type: ignore[import-not-found]

    _core.flight_on_signal(_signal.SIGUSR2, False)
    # Signals that would end the process and lose the records in memory.
    for name in ("TERM", "HUP", "QUIT", "SEGV", "BUS", "ILL", "FPE", "ABRT"):
        _core.flight_on_signal(getattr(_signal, "SIG" + name), True)


def watch() -> None:
    """Write the flight recorder on signals and uncaught exceptions."""
    import threading

    from kymograph import _program

    watch_signals()
    _program.on_uncaught = _on_uncaught
    report = threading.excepthook

    def excepthook(args: Any, /) -> None:
        if args.exc_type is not SystemExit:
            _write(f"uncaught {args.exc_type.__qualname__}")
        report(args)

    threading.excepthook = excepthook
