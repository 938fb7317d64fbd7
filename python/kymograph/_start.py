"""Imported while an interpreter starts whose environment says that it is a child of a recorded
process; kymograph.pth does that. Begins to record it, before its program runs.

Nothing here may fail or print: the program does not know of us.
"""

from __future__ import annotations

import os
import sys

_WITH_VALUE = "WX"  # options of python that take one


def program_of(argv: list[str]) -> tuple[str, str]:
    """Return what the command line `argv` of python runs: "m", "c" or "", and the module, the code
    or the script; "" is standard input."""
    words = list(argv[1:])
    while words:
        word = words.pop(0)
        if not word.startswith("-") or word in ("-", "--"):
            return "", "" if word == "-" else words[0] if word == "--" and words else word
        if word.startswith("--"):
            del words[:1]  # --check-hash-based-pycs
            continue
        for at, letter in enumerate(word[1:], 1):
            rest = word[at + 1 :]
            if letter in "mc":
                return letter, rest or (words[0] if words else "")
            if letter in _WITH_VALUE:
                if not rest:
                    del words[:1]
                break
    return "", ""


def _start() -> None:
    from kymograph import _core
    from kymograph._family import HELPER, VARIABLE, Family

    if _core.running():
        return  # another interpreter of a process that is recorded; its children need the variable
    text = os.environ.pop(VARIABLE)
    kind, name = program_of(sys.orig_argv)
    if kind == "m" and name.partition(".")[0] == "kymograph":
        return  # `kymograph run` records by itself
    if kind == "c" and HELPER in name:
        return
    try:
        family = Family.parse(text)
    except (ValueError, TypeError, EOFError):
        return
    from kymograph import _member

    if kind == "m":
        name = name.removesuffix(".__main__")
    elif kind == "c":
        name = "python"
    else:
        name = os.path.splitext(os.path.basename(name))[0]
    _member.begin_here(family, name or "python")


try:
    _start()
except Exception:
    pass  # a child that cannot be recorded runs unrecorded
