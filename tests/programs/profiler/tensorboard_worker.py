"""With a name for the worker, and compressed."""

import gzip
import json
import os

from torch.profiler import profile, record_function, tensorboard_trace_handler

handler = tensorboard_trace_handler("log", worker_name="rank3", use_gzip=True)
with profile(on_trace_ready=handler):
    with record_function("work"):
        pass

(name,) = os.listdir("log")
assert name.startswith("rank3.") and name.endswith(".pt.trace.json.gz"), name
with gzip.open(os.path.join("log", name), "rt") as file:
    assert any(event["name"] == "work" for event in json.load(file)["traceEvents"])
