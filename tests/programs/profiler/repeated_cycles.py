"""A schedule that comes back: the handler runs once for each cycle."""

from torch.profiler import profile, record_function, schedule

ready = []


def handler(prof):
    ready.append(prof.step_num)
    prof.export_chrome_trace(f"trace{len(ready)}.json")


with profile(
    schedule=schedule(wait=1, warmup=1, active=1, repeat=2), on_trace_ready=handler
) as prof:
    for _ in range(10):
        with record_function("iteration"):
            pass
        prof.step()

assert ready == [3, 6], ready
