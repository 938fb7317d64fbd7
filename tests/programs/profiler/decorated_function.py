"""An annotation as a decorator."""

from torch.profiler import profile, record_function


@record_function("square")
def square(number):
    return number * number


with profile() as prof:
    assert [square(n) for n in range(4)] == [0, 1, 4, 9]

prof.export_chrome_trace("trace.json")
assert [row.count for row in prof.key_averages() if row.key == "square"] == [4]
