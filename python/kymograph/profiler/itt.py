"""What torch.profiler.itt offers, recorded by kymograph when it records, and nothing otherwise."""

from __future__ import annotations

from kymograph.profiler._ranges import mark, range, range_pop, range_push

__all__ = ["is_available", "mark", "range", "range_pop", "range_push"]


def is_available() -> bool:
    """False: no ITT collector is told of these ranges; kymograph records them itself."""
    return False
