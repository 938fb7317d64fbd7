"""Any function from the step to an action is a schedule."""

from torch.profiler import ProfilerAction, profile, record_function


def every_third(step):
    return ProfilerAction.RECORD_AND_SAVE if step % 3 == 2 else ProfilerAction.NONE


ready = []


def handler(prof):
    ready.append(prof.step_num)
    prof.export_chrome_trace(f"trace{len(ready)}.json")


with profile(schedule=every_third, on_trace_ready=handler) as prof:
    for _ in range(7):
        with record_function("work"):
            pass
        prof.step()

assert ready == [3, 6], ready
