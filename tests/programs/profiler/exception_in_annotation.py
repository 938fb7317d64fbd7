"""An exception passes through an annotation, which ends there."""

from torch.profiler import profile, record_function

with profile() as prof:
    try:
        with record_function("fails"):
            raise ValueError("no")
    except ValueError:
        pass
    with record_function("goes on"):
        pass

prof.export_chrome_trace("trace.json")
rows = {row.key: row.count for row in prof.key_averages()}
assert rows["fails"] == 1 and rows["goes on"] == 1
