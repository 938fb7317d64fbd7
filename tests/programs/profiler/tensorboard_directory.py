"""The handler for TensorBoard writes one file for each cycle."""

import os
import re
import socket

from torch.profiler import profile, record_function, schedule, tensorboard_trace_handler

with profile(
    schedule=schedule(wait=0, warmup=1, active=1, repeat=2),
    on_trace_ready=tensorboard_trace_handler("log/run"),
) as prof:
    for _ in range(4):
        with record_function("iteration"):
            pass
        prof.step()

files = sorted(os.listdir("log/run"))
assert len(files) == 2, files
pattern = re.escape(f"{socket.gethostname()}_{os.getpid()}") + r"\.\d+\.pt\.trace\.json"
assert all(re.fullmatch(pattern, name) for name in files), files
