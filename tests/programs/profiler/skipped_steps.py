"""skip_first comes before everything else."""

from torch.profiler import profile, record_function, schedule

steps = []


def handler(prof):
    steps.extend(row.key for row in prof.key_averages() if row.key.startswith("number"))
    prof.export_chrome_trace("trace.json")


plan = schedule(skip_first=3, wait=1, warmup=1, active=2, repeat=1)
with profile(schedule=plan, on_trace_ready=handler) as prof:
    for number in range(10):
        with record_function(f"number {number}"):
            pass
        prof.step()

assert sorted(steps) == ["number 5", "number 6"], steps
