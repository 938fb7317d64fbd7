"""A trainer calls the callback that makes the step."""

import json

from torch.profiler import profile, record_function, schedule


class Callback:
    def __init__(self, prof):
        self.prof = prof

    def on_batch_end(self):
        self.prof.step()


def fit(callback, batches):
    for _ in range(batches):
        with record_function("batch"):
            sum(range(100))
        callback.on_batch_end()


with profile(schedule=schedule(wait=1, warmup=1, active=2, repeat=1), with_stack=True) as prof:
    fit(Callback(prof), 6)

prof.export_chrome_trace("trace.json")
with open("trace.json") as file:
    events = json.load(file)["traceEvents"]
steps = sorted(e["name"] for e in events if e["name"].startswith("ProfilerStep"))
assert steps == ["ProfilerStep#2", "ProfilerStep#3"], steps
