# kymograph only: torch writes JSON that cannot be read
"""A text with quotes that goes into the trace."""

import json

from torch.profiler import profile, record_function

with profile() as prof:
    with record_function("work"):
        pass
    prof.add_metadata("note", 'learning rate "0.1"')

prof.export_chrome_trace("trace.json")
with open("trace.json") as file:
    assert json.load(file)["note"] == 'learning rate "0.1"'
