"""Annotations inside annotations, and what belongs to which."""

from torch.profiler import profile, record_function

with profile() as prof:
    with record_function("epoch"):
        for _ in range(2):
            with record_function("batch"):
                with record_function("forward"):
                    sum(range(2000))
                with record_function("backward"):
                    sum(range(4000))

prof.export_chrome_trace("trace.json")
rows = {row.key: row for row in prof.key_averages()}
assert rows["epoch"].count == 1 and rows["batch"].count == 2 and rows["forward"].count == 2
assert rows["epoch"].cpu_time_total >= rows["batch"].cpu_time_total
assert rows["batch"].cpu_time_total >= rows["forward"].cpu_time_total
assert rows["batch"].self_cpu_time_total <= rows["batch"].cpu_time_total
