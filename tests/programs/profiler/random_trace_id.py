"""Every trace has an id of its own."""

import json
import re

from torch.profiler import profile, record_function

ids = []
for number in range(2):
    with profile() as prof:
        with record_function("work"):
            pass
    ids.append(prof.get_trace_id())
    prof.export_chrome_trace(f"trace{number}.json")
    with open(f"trace{number}.json") as file:
        assert json.load(file)["trace_id"] == ids[-1]
assert ids[0] != ids[1]
assert all(re.fullmatch(r"[0-9A-F]{32}", trace_id) for trace_id in ids), ids
