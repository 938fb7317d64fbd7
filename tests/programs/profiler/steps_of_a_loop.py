"""Wait one step, warm up in one, record two."""

import json

from torch.profiler import profile, record_function, schedule

with profile(schedule=schedule(wait=1, warmup=1, active=2, repeat=1)) as prof:
    for number in range(6):
        with record_function(f"iteration {number}"):
            sum(range(100))
        prof.step()

prof.export_chrome_trace("trace.json")
with open("trace.json") as file:
    events = json.load(file)["traceEvents"]
names = sorted(e["name"] for e in events if e.get("cat") == "user_annotation")
assert names == ["ProfilerStep#2", "ProfilerStep#3", "iteration 2", "iteration 3"], names
