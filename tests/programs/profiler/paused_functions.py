# kymograph only: torch cannot pause the recording of functions
"""Functions and annotations are not recorded while collection is off."""

import json

from torch.profiler import ProfilerActivity, profile, record_function


def seen():
    pass


def unseen():
    pass


@record_function("seen slices")
def numbers():
    yield 1
    yield 2


with profile(activities=[ProfilerActivity.CPU], with_stack=True) as prof:
    seen()
    slices = numbers()
    next(slices)
    with record_function("seen across"):
        prof.toggle_collection_dynamic(False, [ProfilerActivity.CPU])
        with record_function("unseen"):
            unseen()
        next(slices)
    with record_function("unseen to its end"):
        prof.toggle_collection_dynamic(True, [ProfilerActivity.CPU])
    with record_function("seen after"):
        seen()
    prof.toggle_collection_dynamic(False, [ProfilerActivity.CPU])

prof.export_chrome_trace("trace.json")
with open("trace.json") as file:
    names = [e["name"].rsplit(": ", 1)[-1] for e in json.load(file)["traceEvents"]]
for name, count in {"seen": 2, "seen across": 1, "seen after": 1, "seen slices": 1}.items():
    assert names.count(name) == count, (name, names.count(name))
assert not any(name.startswith("unseen") for name in names)

# What was left off stays with its session.
with profile() as prof, record_function("seen"):
    pass
assert "seen" in {event.name for event in prof.events()}
