"""Modules are named after their class, and numbered."""

import json

import torch
from torch import nn
from torch.profiler import ProfilerActivity, profile


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Linear(4, 8)
        self.act = nn.ReLU()
        self.second = nn.Linear(8, 2)

    def forward(self, x):
        return self.second(self.act(self.first(x)))


net = Net()
with profile(activities=[ProfilerActivity.CPU], with_stack=True) as prof:
    for _ in range(2):
        net(torch.ones(3, 4))

prof.export_chrome_trace("trace.json")
with open("trace.json") as file:
    events = json.load(file)["traceEvents"]
modules = [e for e in events if e["name"].startswith("nn.Module: ")]
names = sorted(e["name"] for e in modules)
single = ["Linear_0", "Linear_1", "Net_0", "ReLU_0"]
assert names == sorted(f"nn.Module: {name}" for name in single * 2), names
numbers = {e["name"]: e["args"]["Python module id"] for e in modules}
assert numbers["nn.Module: Linear_1"] == 1 and numbers["nn.Module: Net_0"] == 0
