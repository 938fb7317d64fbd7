"""The loop of the tutorials: a schedule, a handler, a model, an optimizer."""

import os

import torch
from torch import nn
from torch.profiler import (
    ProfilerActivity,
    profile,
    record_function,
    schedule,
    tensorboard_trace_handler,
)

model = nn.Sequential(nn.Linear(8, 16), nn.Tanh(), nn.Linear(16, 1))
optimizer = torch.optim.Adam(model.parameters())
criterion = nn.MSELoss()
batches = [(torch.randn(4, 8), torch.randn(4, 1)) for _ in range(8)]


def train(inputs, targets):
    with record_function("forward"):
        loss = criterion(model(inputs), targets)
    with record_function("backward"):
        optimizer.zero_grad()
        loss.backward()
    with record_function("update"):
        optimizer.step()


train(*batches[0])


def handler(prof):
    tensorboard_trace_handler("log")(prof)
    prof.export_chrome_trace("trace.json")


with profile(
    activities=[ProfilerActivity.CPU],
    schedule=schedule(wait=1, warmup=1, active=3, repeat=1),
    on_trace_ready=lambda prof: prof.export_chrome_trace("trace.json"),
    record_shapes=True,
    profile_memory=True,
    with_stack=True,
) as prof:
    for step, batch in enumerate(batches):
        if step >= 1 + 1 + 3:
            break
        train(*batch)
        prof.step()

assert os.path.exists("trace.json")
rows = {row.key: row.count for row in prof.key_averages()}
assert rows["forward"] == rows["backward"] == rows["update"] == 3, rows
