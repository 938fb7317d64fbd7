"""The verbs of the command `kymograph` that live in Python: one module each, with a `run`."""

from __future__ import annotations

TYPE_CHECKING = False  # typing is not imported for it
if TYPE_CHECKING:
    from collections.abc import Callable

# A verb and the module whose `run(arguments) -> exit code` it is. Modules are imported when
# their verb is used, so that one verb does not pay for another.
VERBS: dict[str, str] = {
    "export-tables": "kymograph.verbs.export_tables",
    "python-info": "kymograph.verbs.python_info",
    "run": "kymograph.verbs.run",
}


def load(verb: str) -> Callable[[list[str]], int]:
    """The function that runs `verb`, one of VERBS."""
    from importlib import import_module

    run: Callable[[list[str]], int] = import_module(VERBS[verb]).run
    return run
