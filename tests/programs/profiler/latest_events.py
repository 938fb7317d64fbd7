"""Without acc_events the latest cycle is what is left."""

from torch.profiler import profile, record_function, schedule

plan = schedule(wait=0, warmup=1, active=1, repeat=3)
with profile(schedule=plan) as prof:
    for _ in range(6):
        with record_function("iteration"):
            pass
        prof.step()

assert sum(event.name == "iteration" for event in prof.events()) == 1
