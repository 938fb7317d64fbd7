"""Without a with statement."""

from torch.profiler import profile, record_function

prof = profile()
prof.start()
with record_function("between"):
    pass
prof.stop()
with record_function("behind"):
    pass

prof.export_chrome_trace("trace.json")
keys = [row.key for row in prof.key_averages()]
assert "between" in keys and "behind" not in keys
