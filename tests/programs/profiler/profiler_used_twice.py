"""Two blocks, one after the other."""

from torch.profiler import profile, record_function

for number in range(2):
    with profile() as prof:
        with record_function(f"block {number}"):
            pass
    prof.export_chrome_trace(f"trace{number}.json")
    keys = [row.key for row in prof.key_averages() if row.key.startswith("block")]
    assert keys == [f"block {number}"]
