"""acc_events keeps the events of all cycles."""

from torch.profiler import profile, record_function, schedule

plan = schedule(wait=0, warmup=1, active=1, repeat=3)
with profile(schedule=plan, acc_events=True) as prof:
    for _ in range(6):
        with record_function("iteration"):
            pass
        prof.step()

assert sum(event.name == "iteration" for event in prof.events()) == 3
assert [row.count for row in prof.key_averages() if row.key == "iteration"] == [3]
