"""What a row of the averages says."""

from torch.profiler import profile, record_function

with profile() as prof:
    for _ in range(4):
        with record_function("work"):
            sum(range(1000))

prof.export_chrome_trace("trace.json")
(row,) = [row for row in prof.key_averages() if row.key == "work"]
assert row.count == 4
assert abs(row.cpu_time - row.cpu_time_total / 4) < 1e-6
assert 0 < row.self_cpu_time_total <= row.cpu_time_total
assert row.device_time_total == 0
assert row.cpu_time_str.endswith(("us", "ms"))
