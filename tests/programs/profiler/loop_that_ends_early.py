"""The loop ends before the schedule does: what there is, is handed over."""

from torch.profiler import profile, record_function, schedule

ready = []


def handler(prof):
    ready.append([row.count for row in prof.key_averages() if row.key == "iteration"])
    prof.export_chrome_trace("trace.json")


with profile(
    schedule=schedule(wait=1, warmup=1, active=10, repeat=1), on_trace_ready=handler
) as prof:
    for _ in range(5):
        with record_function("iteration"):
            pass
        prof.step()

assert ready == [[3]], ready
