"""A schedule that makes no sense is refused."""

from torch.profiler import schedule

wrong = [
    {"wait": -1, "warmup": 1, "active": 1},
    {"wait": 1, "warmup": -1, "active": 1},
    {"wait": 1, "warmup": 1, "active": 0},
    {"wait": 1, "warmup": 1, "active": 1, "repeat": -1},
    {"wait": 1, "warmup": 1, "active": 1, "skip_first": -1},
]
refused = 0
for arguments in wrong:
    try:
        schedule(**arguments)
    except AssertionError:
        refused += 1
assert refused == len(wrong)
