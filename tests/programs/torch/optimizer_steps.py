"""Optimizers annotate what they do."""

import json

import torch
from torch import nn
from torch.profiler import ProfilerActivity, profile

model = nn.Linear(4, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)


def train():
    optimizer.zero_grad()
    model(torch.ones(2, 4)).sum().backward()
    optimizer.step()


train()
with profile(activities=[ProfilerActivity.CPU]) as prof:
    for _ in range(3):
        train()

prof.export_chrome_trace("trace.json")
with open("trace.json") as file:
    events = json.load(file)["traceEvents"]
names = [e["name"] for e in events if e.get("cat") == "user_annotation"]
assert names.count("Optimizer.step#SGD.step") == 3, names
assert names.count("Optimizer.zero_grad#SGD.zero_grad") == 3, names
