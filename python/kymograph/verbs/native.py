"""Handing a verb over to the native program `kymograph`.

The program hands verbs it does not have to Python. A verb that neither has would go back
and forth for ever, so the first hand-over leaves a note in the environment: the process id,
which stays the same across exec and is another one in every child that inherits the note.
"""

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False  # typing is not imported for it
if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

NOTE = "KYMO_HANDED_OVER"


def _candidates() -> Iterator[Path]:
    """Where the program may be: beside this interpreter, else where the package put it."""
    # Imported here: `kymograph run` needs only the first, and imports nothing it can do without.
    from pathlib import Path

    if sys.executable:
        yield Path(sys.executable).with_name("kymograph")
    import importlib.metadata
    import sysconfig

    yield Path(sysconfig.get_path("scripts"), "kymograph")
    try:
        files = importlib.metadata.files("kymograph") or []
    except importlib.metadata.PackageNotFoundError:
        return
    for file in files:
        if file.parts[-2:] == ("bin", "kymograph"):
            yield Path(str(file.locate())).resolve()


def find() -> Path | None:
    """The native program, or None."""
    return next((p for p in _candidates() if p.is_file() and os.access(p, os.X_OK)), None)


def execute(arguments: list[str]) -> int:
    """Become the native program. Returns 2, after one line on stderr, when that fails."""
    if os.environ.get(NOTE) == str(os.getpid()):
        verb = arguments[0] if arguments else ""
        return _fail(f"neither the program nor the package has a verb '{verb}'")
    program = find()
    if program is None:
        return _fail(
            f"the program 'kymograph' is not installed beside {sys.executable}; reinstall kymograph"
        )
    environment = dict(os.environ)
    environment[NOTE] = str(os.getpid())
    if sys.executable:
        environment["KYMO_PYTHON"] = sys.executable
    try:
        os.execve(program, [str(program), *arguments], environment)
    except OSError as error:
        return _fail(f"{program} cannot be run: {error.strerror}")


def _fail(message: str) -> int:
    print(f"kymograph: {message}", file=sys.stderr)
    return 2
