"""__enter__ and __exit__ called by the program itself."""

from torch.profiler import profile, record_function

with profile() as prof:
    region = record_function("by hand")
    region.__enter__()
    sum(range(100))
    region.__exit__(None, None, None)

prof.export_chrome_trace("trace.json")
assert [row.count for row in prof.key_averages() if row.key == "by hand"] == [1]
