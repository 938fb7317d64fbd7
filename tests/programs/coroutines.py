"""Coroutines and asynchronous generators, driven by hand."""


class Pause:
    def __await__(self):
        return (yield "pause")


async def worker(n):
    if n == 0:
        return await Pause()
    return await worker(n - 1)


async def numbers(n):
    for i in range(n):
        await Pause()
        yield i


async def main():
    total = 0
    async for i in numbers(5):
        total += i
    return total + await worker(10) + sum([i async for i in numbers(3)])


def drive(coroutine):
    sent = None
    while True:
        try:
            coroutine.send(sent)
        except StopIteration as stop:
            return stop.value
        sent = 7


print([drive(main()) for _ in range(20)])
