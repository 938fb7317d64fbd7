"""Calls that an exception ends are ended."""

import json

from torch.profiler import profile


def fail(depth):
    if depth == 0:
        raise LookupError
    fail(depth - 1)


def attempt():
    try:
        fail(3)
    except LookupError:
        return "caught"


with profile(with_stack=True) as prof:
    assert attempt() == "caught"
    assert attempt() == "caught"

prof.export_chrome_trace("trace.json")
with open("trace.json") as file:
    names = [e["name"] for e in json.load(file)["traceEvents"]]
assert sum(name.endswith(": fail") for name in names) == 8
assert sum(name.endswith(": attempt") for name in names) == 2
