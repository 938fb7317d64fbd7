"""Functions of torch that are implemented in Python, and their callers."""

import json

import torch
from torch.nn import functional
from torch.profiler import profile


def activate(x):
    return functional.relu(x) + functional.softmax(x, dim=0)


activate(torch.ones(4))
with profile(with_stack=True) as prof:
    for _ in range(3):
        activate(torch.ones(4))

prof.export_chrome_trace("trace.json")
with open("trace.json") as file:
    events = json.load(file)["traceEvents"]
names = [e["name"] for e in events if e.get("cat") == "python_function"]
assert sum(name.endswith(": activate") for name in names) == 3
assert sum(name.endswith(": softmax") for name in names) == 3
