"""Tasks that wait for a queue, for each other and for a busy event loop; see docs/asyncio.md."""

import asyncio
import time


async def worker(queue):
    while True:
        item = await queue.get()
        if item is None:
            return
        await asyncio.sleep(0.02)  # "I/O"


async def fetch(number):
    await asyncio.sleep(0.05 * number)
    time.sleep(0.03)  # blocks everybody else
    return number


async def main():
    queue = asyncio.Queue()
    working = asyncio.create_task(worker(queue))
    for item in range(3):
        await queue.put(item)
    await asyncio.gather(fetch(1), fetch(2), fetch(2))
    await queue.put(None)
    await working


asyncio.run(main())
