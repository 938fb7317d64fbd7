"""`python -m kymograph VERB …`: runs verbs written in Python here, and others in the native
program."""

from __future__ import annotations

import sys

from kymograph.verbs import VERBS, load


def main(arguments: list[str]) -> int:
    """Run the command line `arguments` and return its exit code."""
    if arguments and arguments[0] in VERBS:
        return load(arguments[0])(arguments[1:])
    from kymograph.verbs.native import execute

    return execute(arguments)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
