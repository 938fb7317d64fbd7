"""Every event as an object."""

from torch.profiler import profile, record_function

with profile() as prof:
    for _ in range(3):
        with record_function("work"):
            sum(range(500))

prof.export_chrome_trace("trace.json")
events = [event for event in prof.events() if event.name == "work"]
assert len(events) == 3
assert all(event.time_range.end >= event.time_range.start for event in events)
assert all(event.cpu_time_total > 0 for event in events)
assert all(event.is_user_annotation for event in events)
assert events[0].time_range.start <= events[1].time_range.start
