"""Activities as a set, which is what supported_activities gives."""

from torch.profiler import ProfilerActivity, profile, record_function, supported_activities

assert ProfilerActivity.CPU in supported_activities()
with profile(activities={ProfilerActivity.CPU}) as prof:
    for _ in range(3):
        with record_function("work"):
            pass

prof.export_chrome_trace("trace.json")
assert [row.count for row in prof.key_averages() if row.key == "work"] == [3]
