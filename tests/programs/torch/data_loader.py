"""So do data loaders."""

import json

import torch
from torch.profiler import ProfilerActivity, profile
from torch.utils.data import DataLoader, TensorDataset

loader = DataLoader(TensorDataset(torch.arange(12)), batch_size=4)
list(loader)
with profile(activities=[ProfilerActivity.CPU]) as prof:
    for _batch in loader:
        pass

prof.export_chrome_trace("trace.json")
with open("trace.json") as file:
    events = json.load(file)["traceEvents"]
names = [e["name"] for e in events if e.get("cat") == "user_annotation"]
assert sum(name.startswith("enumerate(DataLoader)#") for name in names) == 4, names
