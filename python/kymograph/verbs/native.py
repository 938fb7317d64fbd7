"""Hands a verb over to the native program `kymograph`.

The native program hands verbs written in Python back to Python. To keep a verb unknown to both
from going back and forth for ever, the first hand-over sets an environment variable to the process
id, which survives exec but differs in every child that inherits the variable.
"""

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False  # avoids importing typing
if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

NOTE = "KYMO_HANDED_OVER"


def _candidates() -> Iterator[Path]:
    """Return where the program may be: in the package, which includes it, or next to the
    interpreter."""
    # Imported here because `kymograph run` imports as little as possible.
    from pathlib import Path

    yield Path(__file__).parents[1] / "bin" / "kymograph"
    if sys.executable:
        yield Path(sys.executable).with_name("kymograph")


def find() -> Path | None:
    """Return the path of the native program, or None."""
    return next((p for p in _candidates() if p.is_file() and os.access(p, os.X_OK)), None)


def execute(arguments: list[str]) -> int:
    """Replace this process with the native program. On failure print one line to stderr and return
    2."""
    if os.environ.get(NOTE) == str(os.getpid()):
        verb = arguments[0] if arguments else ""
        return _fail(f"unknown verb '{verb}'")
    program = find()
    if program is None:
        return _fail("the program 'kymograph' is missing from the package; reinstall kymograph")
    environment = dict(os.environ)
    environment[NOTE] = str(os.getpid())
    if sys.executable:
        environment["KYMO_PYTHON"] = sys.executable
    try:
        os.execve(program, [str(program), *arguments], environment)
    except OSError as error:
        return _fail(f"cannot run {program}: {error.strerror}")


def _fail(message: str) -> int:
    print(f"kymograph: {message}", file=sys.stderr)
    return 2
