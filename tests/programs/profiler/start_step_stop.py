"""The same with steps."""

from torch.profiler import profile, record_function, schedule

prof = profile(
    schedule=schedule(wait=1, warmup=1, active=3, repeat=1),
    on_trace_ready=lambda p: p.export_chrome_trace("trace.json"),
)
prof.start()
for _ in range(6):
    with record_function("iteration"):
        pass
    prof.step()
prof.stop()
assert [row.count for row in prof.key_averages() if row.key == "iteration"] == [3]
