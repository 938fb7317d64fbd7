"""total_average adds all rows up."""

from torch.profiler import profile, record_function

with profile() as prof:
    for _ in range(5):
        with record_function("a"):
            pass
        with record_function("b"):
            pass

prof.export_chrome_trace("trace.json")
total = prof.key_averages().total_average()
assert total.count >= 10
assert total.self_cpu_time_total > 0
