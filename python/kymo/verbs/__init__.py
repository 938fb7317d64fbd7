"""The verbs of the command `kymo` that live in Python: one module each, with a `run`."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module

# A verb and the module whose `run(arguments) -> exit code` it is. Modules are imported when
# their verb is used, so that one verb does not pay for another.
VERBS: dict[str, str] = {
    "python-info": "kymo.verbs.python_info",
}


def load(verb: str) -> Callable[[list[str]], int]:
    """The function that runs `verb`, one of VERBS."""
    run: Callable[[list[str]], int] = import_module(VERBS[verb]).run
    return run
