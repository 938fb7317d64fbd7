# kymograph only: torch tells only Intel's collector of these
"""Ranges that are pushed and popped."""

from torch.profiler import itt, profile

with profile() as prof:
    itt.range_push("outer")
    itt.range_push("inner")
    itt.mark("here")
    itt.range_pop()
    itt.range_pop()
    with itt.range("block {}", 1):
        pass

names = [event.name for event in prof.events()]
assert names == ["outer", "inner", "block 1"], names
