"""What is run: each function does it SIZE times."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True)
class Workload:
    name: str
    what: str
    size: int
    run: Callable[[int], object]
    threads: int = 1
    once: bool = False  # works only the first time in a process
    packages: tuple[str, ...] = ()


def fib(n: int) -> int:
    return n if n < 2 else fib(n - 1) + fib(n - 2)


FIB_N = 24  # 75 025 leaves, 150 049 calls


def calls(size: int) -> None:
    for _ in range(size):
        fib(FIB_N)


class Point:
    __slots__ = ("items", "number", "table")

    def __init__(self, i: int) -> None:
        self.number = i
        self.items = [i]
        self.table = {i: i}


def objects(size: int) -> int:
    kept = []
    for i in range(size):
        point = Point(i)
        if i % 10 == 0:
            kept.append(point)
    return len(kept)


def strings(size: int) -> int:
    kept = []
    for i in range(size):
        block = bytes(600 + (i & 255))
        if i % 50 == 0:
            kept.append(block)
    return len(kept)


def arrays(size: int) -> float:
    import numpy as np

    total = 0.0
    for i in range(size):
        array = np.empty(2000 + i % 1000)
        array += 1.0
        total += array[0]
    return total


def imports(_: int) -> None:
    import numpy  # noqa: F401
    import pandas  # noqa: F401


def native(threads: int) -> Callable[[int], object]:
    def run(size: int) -> None:
        error = library.run(threads, ctypes.c_long(size))
        if error:
            raise OSError(error, "a thread could not be started")

    return run


def load_native(path: str) -> None:
    """The extension that bench/mallocs/mallocs.c was compiled to."""
    global library
    library = ctypes.CDLL(path)


library: ctypes.CDLL

WORKLOADS = [
    Workload("calls", "fib: calls, hardly an allocation", 20, calls),
    Workload(
        "objects", "500 thousand small objects, each with a list and a dict", 500_000, objects
    ),
    Workload("strings", "2 million byte strings above 600 bytes", 2_000_000, strings),
    Workload("arrays", "200 thousand numpy temporaries", 200_000, arrays, packages=("numpy",)),
    Workload(
        "imports", "import of numpy and pandas", 1, imports, once=True, packages=("numpy", "pandas")
    ),
    Workload("1 thread", "malloc and free in C, 2 million in each thread", 2_000_000, native(1)),
    Workload("2 threads", "the same in 2 threads", 2_000_000, native(2), threads=2),
    Workload("3 threads", "the same in 3 threads", 2_000_000, native(3), threads=3),
    Workload("4 threads", "the same in 4 threads", 2_000_000, native(4), threads=4),
]
