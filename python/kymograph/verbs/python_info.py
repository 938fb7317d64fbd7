"""`python-info`: prints facts about this Python and its libkymo as JSON, for the native program."""

from __future__ import annotations

import json
import platform
import sys

import kymograph
from kymograph import _core


def run(arguments: list[str]) -> int:
    """Print one JSON object; takes no arguments."""
    if arguments:
        print("kymograph: python-info takes no arguments", file=sys.stderr)
        return 2
    facts = {
        "version": platform.python_version(),
        "executable": sys.executable,
        "kymo_version": kymograph.__version__,
        "extension": _core.__file__,
        "library": _core.library(),
    }
    print(json.dumps(facts))
    return 0
