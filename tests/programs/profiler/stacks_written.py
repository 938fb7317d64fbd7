# kymograph only: torch needs a hidden flag for this
"""Stacks for a flame graph."""

from torch.profiler import profile


def busy(count):
    return sum(range(count))


with profile(with_stack=True) as prof:
    for _ in range(10):
        busy(2000)

prof.export_stacks("stacks.txt", "self_cpu_time_total")
with open("stacks.txt") as file:
    lines = file.read().splitlines()
assert lines
assert all(int(line.rsplit(" ", 1)[1]) > 0 for line in lines)
assert any("busy;" in line for line in lines)
