"""A schedule and functions together."""

import json

from torch.profiler import profile, schedule


def compute(number):
    return sum(range(number))


with profile(
    schedule=schedule(wait=1, warmup=1, active=2, repeat=1),
    on_trace_ready=lambda prof: prof.export_chrome_trace("trace.json"),
    with_stack=True,
) as prof:
    for number in range(6):
        compute(number)
        prof.step()

with open("trace.json") as file:
    events = json.load(file)["traceEvents"]
assert sum(e["name"].endswith(": compute") for e in events) == 2
steps = sorted(e["name"] for e in events if e.get("cat") == "user_annotation")
assert steps == ["ProfilerStep#2", "ProfilerStep#3"], steps
