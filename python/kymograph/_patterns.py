"""Patterns for what is left out of a recording; the extension's filters understand them."""

from __future__ import annotations

import os
import sys

_PACKAGE = os.path.dirname(__file__)


def literal(path: str) -> str:
    """A pattern that matches `path` and nothing else."""
    return "".join(f"[{c}]" if c in "*?[" else "\\\\" if c == "\\" else c for c in path)


def own() -> list[str]:
    """Kymo's own functions: Python code, C functions, and methods of its types.

    Recording them would put a span's __exit__ inside the span that it ends.
    """
    types = ("Capture", "Event", "Span")
    return [literal(_PACKAGE) + "/*", "kymograph._core", *(f"kymograph.{name}*" for name in types)]


def main_runner() -> list[str]:
    """The functions with which `python -m` runs a module, beneath every program we run."""
    runpy = sys.modules.get("runpy")
    if runpy is None:
        return []
    # A name pattern has no slashes, so that "?" stands for those of the file.
    file = runpy._run_code.__code__.co_filename
    return ["".join("?" if c in "/*?[\\" else c for c in file) + "._*"]


def _not_below(folder: str, *words: str) -> list[str]:
    """Patterns for what is below `folder`, except names that begin with one of `words`."""
    patterns = []
    beginnings = {word[:length] for word in words for length in range(len(word))}
    for beginning in sorted(beginnings):
        size = len(beginning)
        others = {word[size] for word in words if word.startswith(beginning)}
        patterns.append(f"{literal(folder)}/{beginning}[!{''.join(sorted(others))}]*")
    return patterns


def stdlib() -> list[str]:
    """The Python code of the standard library, without what is installed below it."""
    import sysconfig

    folders = {sysconfig.get_path("stdlib"), sysconfig.get_path("platstdlib")}
    folders.add(os.path.dirname(os.__file__))
    patterns = ["<frozen *"]
    for folder in sorted(folders):
        patterns += _not_below(folder, "site-p", "dist-p")
    return patterns
