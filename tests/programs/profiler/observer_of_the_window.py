"""An object that is told when recording begins and ends."""

from torch.profiler import profile, record_function, schedule


class Observer:
    def __init__(self):
        self.calls = []

    def start(self):
        self.calls.append("start")

    def stop(self):
        self.calls.append("stop")

    def cleanup(self):
        self.calls.append("cleanup")


observer = Observer()
with profile(
    schedule=schedule(wait=1, warmup=1, active=1, repeat=2), execution_trace_observer=observer
) as prof:
    for _ in range(7):
        with record_function("iteration"):
            pass
        prof.step()

assert observer.calls == ["start", "stop", "start", "stop", "cleanup"], observer.calls
