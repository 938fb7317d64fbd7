"""The same, compressed."""

import gzip
import json

from torch.profiler import profile, record_function

with profile() as prof:
    with record_function("work"):
        pass

prof.export_chrome_trace("trace.json.gz")
with gzip.open("trace.json.gz", "rt") as file:
    names = [event["name"] for event in json.load(file)["traceEvents"]]
assert names.count("work") == 1
