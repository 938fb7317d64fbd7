"""A table with a heading and one row."""

from torch.profiler import profile, record_function

with profile() as prof:
    for name in ("first", "second", "third"):
        with record_function(name):
            pass

prof.export_chrome_trace("trace.json")
averages = prof.key_averages()
text = averages.table(sort_by="count", row_limit=1, header="What was done")
assert "What was done" in text
assert sum(name in text for name in ("first", "second", "third")) == 1
assert all(name in averages.table(row_limit=-1) for name in ("first", "second", "third"))
