# kymograph only: an older torch does not have it
"""Activities with the types of events that are wanted."""

import json

from torch.profiler import ProfilerActivity, profile, record_function


def function():
    pass


def categories(types):
    with profile(activities=[{ProfilerActivity.CPU: types}], with_stack=True) as prof:
        with record_function("work"):
            function()
    prof.export_chrome_trace("trace.json")
    with open("trace.json") as file:
        events = json.load(file)["traceEvents"]
    return {e["cat"] for e in events if e.get("cat") in ("user_annotation", "python_function")}


assert categories(["USER_ANNOTATION"]) == {"user_annotation"}
assert categories(["USER_ANNOTATION", "PYTHON_FUNCTION"]) == {"user_annotation", "python_function"}
assert categories([]) == set()
