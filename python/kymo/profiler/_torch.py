"""What is done about torch when the program has it: nothing of torch is imported here."""

from __future__ import annotations


def before_start(calls: bool) -> None:
    """A recording is about to begin; `calls` when functions are recorded."""


def after_stop() -> None:
    """A recording has ended, or could not begin."""
