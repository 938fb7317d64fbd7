"""A handler that prints the table of each cycle."""

from torch.profiler import ProfilerActivity, profile, record_function, schedule

tables = []


def handler(prof):
    tables.append(prof.key_averages().table(sort_by="self_cpu_time_total", row_limit=-1))
    prof.export_chrome_trace("trace_" + str(prof.step_num) + ".json")


with profile(
    activities=[ProfilerActivity.CPU],
    schedule=schedule(wait=1, warmup=1, active=2, repeat=1),
    on_trace_ready=handler,
) as prof:
    for _ in range(5):
        with record_function("iteration"):
            sorted(str(i) for i in range(50))
        prof.step()

assert len(tables) == 1
assert "iteration" in tables[0] and "ProfilerStep*" in tables[0]
