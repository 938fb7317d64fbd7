"""A function that calls itself."""

import itertools
import json

from torch.profiler import profile


def depth(number):
    return 0 if number == 0 else 1 + depth(number - 1)


with profile(with_stack=True) as prof:
    assert depth(20) == 20

prof.export_chrome_trace("trace.json")
with open("trace.json") as file:
    events = json.load(file)["traceEvents"]
calls = [e for e in events if e["name"].endswith(": depth")]
assert len(calls) == 21
calls.sort(key=lambda event: event["ts"])
assert all(a["dur"] >= b["dur"] for a, b in itertools.pairwise(calls))
