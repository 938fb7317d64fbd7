"""Patterns for functions left out of a recording, in the syntax of the extension's filters."""

from __future__ import annotations

import os
import sys

_PACKAGE = os.path.dirname(__file__)

runner: list[str] = []  # patterns for the code of `kymograph run` itself


def literal(path: str) -> str:
    """Return a pattern that matches only `path`."""
    return "".join(f"[{c}]" if c in "*?[" else "\\\\" if c == "\\" else c for c in path)


def own() -> list[str]:
    """Patterns for kymograph's own functions: Python code, C functions, and methods of its types.

    Recording them would put a span's __exit__ inside the span it ends.
    """
    return [literal(_PACKAGE) + "/*", "kymograph.*", *runner]


def main_runner() -> list[str]:
    """Patterns for the functions of `python -m`, which are below every program we run."""
    runpy = sys.modules.get("runpy")
    if runpy is None:
        return []
    # A name pattern has no slashes, so "?" matches those of the file.
    file = runpy._run_code.__code__.co_filename
    return ["".join("?" if c in "/*?[\\" else c for c in file) + "._*"]


def _not_below(folder: str, *words: str) -> list[str]:
    """Return patterns for everything below `folder` except names that start with one of `words`."""
    patterns = []
    beginnings = {word[:length] for word in words for length in range(len(word))}
    for beginning in sorted(beginnings):
        size = len(beginning)
        others = {word[size] for word in words if word.startswith(beginning)}
        patterns.append(f"{literal(folder)}/{beginning}[!{''.join(sorted(others))}]*")
    return patterns


def stdlib() -> list[str]:
    """Patterns for the Python code of the standard library, without packages installed below it."""
    import sysconfig

    folders = {sysconfig.get_path("stdlib"), sysconfig.get_path("platstdlib")}
    folders.add(os.path.dirname(os.__file__))
    patterns = ["<frozen *"]
    for folder in sorted(folders):
        patterns += _not_below(folder, "site-p", "dist-p")
    return patterns
