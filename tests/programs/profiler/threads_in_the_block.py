# kymograph only: torch does not see threads that start later
"""Threads that are started in the block are recorded."""

import threading

from torch.profiler import profile, record_function


def worker(number):
    with record_function(f"worker {number}"):
        sum(range(1000))


with profile(with_stack=True) as prof:
    threads = [threading.Thread(target=worker, args=(n,)) for n in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

events = [event for event in prof.events() if event.name.startswith("worker ")]
assert sorted(event.name for event in events) == ["worker 0", "worker 1", "worker 2"]
assert len({event.thread for event in events}) == 3
