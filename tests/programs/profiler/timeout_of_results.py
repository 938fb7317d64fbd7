# kymograph only: torch accepts what is negative until the block ends
"""post_processing_timeout_s is taken, and checked."""

from torch.profiler import profile, record_function

try:
    profile(post_processing_timeout_s=-1)
except ValueError as error:
    assert "non-negative" in str(error)
else:
    raise AssertionError("a negative timeout was accepted")

with profile(post_processing_timeout_s=60.0) as prof:
    with record_function("work"):
        pass
prof.export_chrome_trace("trace.json")
assert "work" in [row.key for row in prof.key_averages()]
