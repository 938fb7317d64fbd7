# kymograph only: torch loses quotes and everything beyond ASCII
"""Names with quotes, backslashes and letters of any script."""

import json

from torch.profiler import profile, record_function

names = ['say "hello"', "C:\\temp\\new", "größer", "学習", "tab\there", "🙂"]
with profile() as prof:
    for name in names:
        with record_function(name):
            pass

prof.export_chrome_trace("trace.json")
with open("trace.json", encoding="utf-8") as file:
    events = json.load(file)["traceEvents"]
found = [e["name"] for e in events if e.get("cat") == "user_annotation"]
assert sorted(found) == sorted(names), found
