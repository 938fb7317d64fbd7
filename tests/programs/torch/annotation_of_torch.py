"""torch's own record_function, imported before anything is recorded."""

import json

from torch.autograd.profiler import record_function
from torch.profiler import profile

with profile() as prof:
    for _ in range(2):
        with record_function("by torch"):
            pass

prof.export_chrome_trace("trace.json")
with open("trace.json") as file:
    events = json.load(file)["traceEvents"]
names = [e["name"] for e in events if e.get("cat") == "user_annotation"]
assert names.count("by torch") == 2
