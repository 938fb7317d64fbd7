"""A small program to profile: threads build an index of words, coroutines query it.

kymograph run examples/demo.py
kymograph report demo.kymo
"""

import asyncio
import collections
import random
import re
import threading

WORDS = "the drum turns and several pens draw at once on one moving sheet of paper".split()


def sentence(rng: random.Random) -> str:
    return " ".join(rng.choice(WORDS) for _ in range(12))


def tokens(text: str) -> list[str]:
    return re.findall(r"[a-z]+", text.lower())


class Index:
    """Which lines a word is on."""

    def __init__(self) -> None:
        self.lines: dict[str, set[int]] = collections.defaultdict(set)
        self.lock = threading.Lock()

    def add(self, number: int, text: str) -> None:
        found = set(tokens(text))
        with self.lock:
            for word in found:
                self.lines[word].add(number)

    def lookup(self, word: str) -> int:
        return len(self.lines.get(word, ()))


def build(index: Index, first: int, count: int) -> None:
    rng = random.Random(first)
    for number in range(first, first + count):
        index.add(number, sentence(rng))


async def ask(index: Index, word: str) -> int:
    await asyncio.sleep(0.001)
    return index.lookup(word)


async def ask_all(index: Index) -> list[int]:
    return await asyncio.gather(*(ask(index, word) for word in WORDS))


def main() -> None:
    index = Index()
    threads = [
        threading.Thread(target=build, args=(index, 1000 * i, 1000), name=f"builder {i}")
        for i in range(3)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    print(f"{sum(asyncio.run(ask_all(index)))} places of {len(set(WORDS))} words")


if __name__ == "__main__":
    main()
