"""What was recorded before an exception is there afterwards."""

from torch.profiler import profile, record_function

prof = profile()
try:
    with prof:
        with record_function("before"):
            pass
        raise KeyError("the program's own mistake")
except KeyError:
    pass

prof.export_chrome_trace("trace.json")
assert "before" in [row.key for row in prof.key_averages()]
