"""With skip_first_wait the first cycle does not wait."""

from torch.profiler import ProfilerAction, schedule

plan = schedule(skip_first=2, wait=2, warmup=1, active=1, repeat=2, skip_first_wait=1)
names = {ProfilerAction.NONE: "-", ProfilerAction.WARMUP: "w"}
line = "".join(names.get(plan(step), "R") for step in range(12))
assert line == "--wR--wR----", line
