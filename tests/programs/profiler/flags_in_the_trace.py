"""The trace says with which options it was made."""

import json

from torch.profiler import profile, record_function

with profile(record_shapes=True, profile_memory=True, with_flops=True) as prof:
    with record_function("work"):
        pass

prof.export_chrome_trace("trace.json")
with open("trace.json") as file:
    trace = json.load(file)
assert trace["record_shapes"] == 1 and trace["profile_memory"] == 1 and trace["with_flops"] == 1
assert "with_stack" not in trace
