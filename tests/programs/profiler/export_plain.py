"""A trace for chrome://tracing."""

import json

from torch.profiler import profile, record_function

with profile() as prof:
    with record_function("outer"):
        with record_function("inner"):
            pass

prof.export_chrome_trace("trace.json")
with open("trace.json") as file:
    trace = json.load(file)
spans = {e["name"]: e for e in trace["traceEvents"] if e.get("cat") == "user_annotation"}
outer, inner = spans["outer"], spans["inner"]
assert outer["ts"] <= inner["ts"]
assert inner["ts"] + inner["dur"] <= outer["ts"] + outer["dur"] + 0.002
assert trace["schemaVersion"] == 1
