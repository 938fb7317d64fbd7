# kymo only: torch cannot pause the recording of functions
"""Functions are not recorded while collection is off."""

import json

from torch.profiler import ProfilerActivity, profile


def seen():
    pass


def unseen():
    pass


with profile(activities=[ProfilerActivity.CPU], with_stack=True) as prof:
    seen()
    prof.toggle_collection_dynamic(False, [ProfilerActivity.CPU])
    unseen()
    prof.toggle_collection_dynamic(True, [ProfilerActivity.CPU])
    seen()

prof.export_chrome_trace("trace.json")
with open("trace.json") as file:
    names = [e["name"].rsplit(": ", 1)[-1] for e in json.load(file)["traceEvents"]]
assert names.count("seen") == 2 and names.count("unseen") == 0
