# kymograph only: torch's option is not part of torch.profiler
"""Garbage collections, without recording functions."""

import gc
import json

from torch.profiler import _ExperimentalConfig, profile, record_function

config = _ExperimentalConfig(record_python_gc_info=True)
with profile(experimental_config=config) as prof:
    with record_function("before"):
        pass
    gc.collect()

prof.export_chrome_trace("trace.json")
with open("trace.json") as file:
    events = json.load(file)["traceEvents"]
collections = [e for e in events if e["name"] == "Python GC"]
assert len(collections) >= 1
assert "collected" in collections[-1]["args"]
