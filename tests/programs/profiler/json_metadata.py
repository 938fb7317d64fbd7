"""Anything else that goes into the trace."""

import json

from torch.profiler import profile, record_function

with profile() as prof:
    prof.add_metadata_json("settings", json.dumps({"layers": [4, 2], "bias": True}))
    with record_function("work"):
        pass

prof.export_chrome_trace("trace.json")
with open("trace.json") as file:
    assert json.load(file)["settings"] == {"layers": [4, 2], "bias": True}
