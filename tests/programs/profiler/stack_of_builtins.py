"""Functions that are implemented in C."""

import json

from torch.profiler import profile


def measure(words):
    return sorted(len(word) for word in words)


with profile(with_stack=True) as prof:
    measure(["a", "bb", "ccc"])

prof.export_chrome_trace("trace.json")
with open("trace.json") as file:
    names = [event["name"] for event in json.load(file)["traceEvents"]]
assert names.count("<built-in function len>") == 3
assert names.count("<built-in function sorted>") == 1
