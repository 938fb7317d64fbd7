"""The first example of every tutorial: a block, an annotation, a table."""

from torch.profiler import profile, record_function

with profile() as prof:
    with record_function("load the batch"):
        batch = [i * i for i in range(1000)]
    with record_function("add it up"):
        total = sum(batch)

text = prof.key_averages().table(sort_by="cpu_time_total", row_limit=10)
print(text)
assert "load the batch" in text and "add it up" in text
assert "Self CPU %" in text and "# of Calls" in text
assert "Self CPU time total: " in text
prof.export_chrome_trace("trace.json")
