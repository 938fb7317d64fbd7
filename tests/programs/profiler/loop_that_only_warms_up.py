"""The loop ends during the warm-up: there is no trace."""

from torch.profiler import profile, record_function, schedule

ready = []
with profile(
    schedule=schedule(wait=1, warmup=3, active=1), on_trace_ready=lambda prof: ready.append(1)
) as prof:
    for _ in range(2):
        with record_function("iteration"):
            pass
        prof.step()

assert ready == []
