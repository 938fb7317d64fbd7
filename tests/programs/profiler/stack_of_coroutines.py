"""Coroutines, too."""

import asyncio
import json

from torch.profiler import profile


async def double(number):
    await asyncio.sleep(0)
    return 2 * number


async def main():
    return [await double(n) for n in range(3)]


with profile(with_stack=True) as prof:
    assert asyncio.run(main()) == [0, 2, 4]

prof.export_chrome_trace("trace.json")
with open("trace.json") as file:
    events = json.load(file)["traceEvents"]
assert len([e for e in events if e["name"].endswith(": double")]) == 6
