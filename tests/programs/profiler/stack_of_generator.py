"""A generator runs in slices, each of which is recorded."""

import json

from torch.profiler import profile


def numbers(count):
    yield from range(count)


def consume():
    return sum(number for number in numbers(3))


with profile(with_stack=True) as prof:
    assert consume() == 3

prof.export_chrome_trace("trace.json")
with open("trace.json") as file:
    events = json.load(file)["traceEvents"]
slices = [e for e in events if e["name"].endswith(": numbers")]
assert len(slices) == 4, len(slices)
