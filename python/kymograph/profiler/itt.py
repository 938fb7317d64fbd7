"""What torch.profiler.itt offers, recorded by kymograph when it records, and nothing otherwise."""

from __future__ import annotations

from kymograph.profiler._ranges import mark, range, range_pop, range_push

__all__ = ["is_available", "mark", "range", "range_pop", "range_push"]


def is_available() -> bool:
    """False: these ranges go to kymograph, not to an ITT collector."""
    return False
