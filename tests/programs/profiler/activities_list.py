"""Activities as a list."""

from torch.profiler import ProfilerActivity, profile, record_function

with profile(activities=[ProfilerActivity.CPU]) as prof:
    with record_function("work"):
        sorted(range(1000), reverse=True)

prof.export_chrome_trace("trace.json")
assert [row.count for row in prof.key_averages() if row.key == "work"] == [1]
