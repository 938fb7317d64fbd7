"""The program chooses the id of the trace."""

import json

from torch.profiler import profile, record_function

with profile(custom_trace_id_callback=lambda: "run-17") as prof:
    with record_function("work"):
        pass

assert prof.get_trace_id() == "run-17"
prof.export_chrome_trace("trace.json")
with open("trace.json") as file:
    assert json.load(file)["trace_id"] == "run-17"
