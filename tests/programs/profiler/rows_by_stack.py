# kymograph only: torch needs a hidden flag for this
"""Averages taken apart by who called."""

from torch.profiler import profile, record_function


def one():
    with record_function("shared"):
        pass


def two():
    with record_function("shared"):
        pass


with profile(with_stack=True) as prof:
    one()
    two()
    two()

rows = [row for row in prof.key_averages(group_by_stack_n=1) if row.key == "shared"]
assert sorted(row.count for row in rows) == [1, 2]
text = prof.key_averages(group_by_stack_n=2).table(row_limit=3)
assert "Source Location" in text
