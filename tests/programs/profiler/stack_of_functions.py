"""with_stack records every call of a function."""

import json

from torch.profiler import profile, record_function


def leaf(number):
    return number + 1


def branch(number):
    return leaf(number) + leaf(number + 1)


with profile(with_stack=True) as prof:
    with record_function("grow"):
        for i in range(5):
            branch(i)

prof.export_chrome_trace("trace.json")
with open("trace.json") as file:
    events = [e for e in json.load(file)["traceEvents"] if e.get("cat") == "python_function"]
names = [e["name"].rsplit(": ", 1)[-1] for e in events]
assert names.count("branch") == 5 and names.count("leaf") == 10
ids = {e["args"]["Python id"]: e for e in events}
for event in events:
    if event["name"].endswith(": leaf"):
        assert ids[event["args"]["Python parent id"]]["name"].endswith(": branch")
