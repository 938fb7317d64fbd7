"""The verbs of `kymograph` that are written in Python: one module each, with a `run`."""

from __future__ import annotations

TYPE_CHECKING = False  # avoids importing typing
if TYPE_CHECKING:
    from collections.abc import Callable

# Verbs, and the modules whose `run(arguments) -> exit code` implements them. A module is imported
# only when its verb is used.
VERBS: dict[str, str] = {
    "check-et": "kymograph.verbs.check_et",
    "export-dataset": "kymograph.verbs.export_dataset",
    "export-tables": "kymograph.verbs.export_tables",
    "python-info": "kymograph.verbs.python_info",
    "run": "kymograph.verbs.run",
}


def load(verb: str) -> Callable[[list[str]], int]:
    """Return the function that runs `verb`, one of VERBS."""
    from importlib import import_module

    run: Callable[[list[str]], int] = import_module(VERBS[verb]).run
    return run
