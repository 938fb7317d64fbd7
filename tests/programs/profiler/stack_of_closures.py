"""Lambdas, closures, partials, comprehensions."""

import functools
import json

from torch.profiler import profile


def adder(more):
    def add(number):
        return number + more

    return add


def power(base, exponent):
    return base**exponent


with profile(with_stack=True) as prof:
    add_two = adder(2)
    cube = functools.partial(power, exponent=3)
    assert [add_two(n) for n in range(3)] == [2, 3, 4]
    assert list(map(cube, (1, 2))) == [1, 8]
    assert sorted([3, 1, 2], key=lambda n: -n) == [3, 2, 1]

prof.export_chrome_trace("trace.json")
with open("trace.json") as file:
    names = [e["name"].rsplit(": ", 1)[-1] for e in json.load(file)["traceEvents"]]
last = [name.rsplit(".", 1)[-1] for name in names]
assert last.count("add") == 3 and last.count("power") == 2 and last.count("<lambda>") == 3
