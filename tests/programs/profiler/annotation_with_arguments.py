"""An annotation that says something about its arguments."""

from torch.profiler import profile, record_function

with profile(record_shapes=True) as prof:
    with record_function("load", "file=a.bin"):
        pass
    with record_function(name="load", args="file=b.bin"):
        pass
    with record_function("load", None):
        pass

prof.export_chrome_trace("trace.json")
assert [row.count for row in prof.key_averages() if row.key == "load"] == [3]
