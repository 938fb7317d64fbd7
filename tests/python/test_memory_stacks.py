"""Memory: the stack of an allocation is that of its moment, however the frames came to be.

Recording compares a thread's frames with those of its last allocation. So these programs change
frames in every way that leaves others where they were.
"""

from __future__ import annotations

import random
import sys
import threading
from collections.abc import Callable, Generator, Iterator
from pathlib import Path
from typing import Any

import pytest
from allocated import OVERHEAD, notes

from kymograph import memory

FIRST = 1 << 20  # sizes from here on are those of the test's own blocks

FREE_THREADED = not getattr(sys, "_is_gil_enabled", lambda: True)()

Expected = dict[int, tuple[str, ...]]


class Program:
    """Allocates blocks of sizes that occur once, and notes who called."""

    def __init__(self, seed: int, first: int = FIRST) -> None:
        self.random = random.Random(seed)
        self.size = first
        self.expected: Expected = {}
        self.pending: list[Generator[int, None, None]] = []

    def allocate(self) -> None:
        self.size += 1
        names, frame = [], sys._getframe()
        while frame:
            names.append(frame.f_code.co_name)
            frame = frame.f_back  # type: ignore[assignment]
        self.expected[self.size + OVERHEAD] = tuple(names)
        bytes(self.size)

    def step(self, depth: int) -> None:
        choice = self.random.choice(self.STEPS)
        choice(self, depth)

    def twice(self, depth: int) -> None:
        self.allocate()
        self.allocate()

    def down_a(self, depth: int) -> None:
        if depth:
            self.step(depth - 1)
        self.allocate()

    def down_b(self, depth: int) -> None:
        if depth:
            self.step(depth - 1)
            self.step(depth - 1)

    def through_c(self, depth: int) -> None:
        if depth:
            sorted([1, 2], key=lambda _: self.step(depth - 1) or 0)  # type: ignore[func-returns-value]

    def numbers(self, depth: int) -> Generator[int, None, None]:
        while True:
            self.allocate()
            if depth:
                self.step(depth - 1)
            yield 1

    def begin_generator(self, depth: int) -> None:
        self.pending.append(self.numbers(min(depth, 2)))

    def resume_generator(self, depth: int) -> None:
        """From wherever this is: the generator's frame stays, its callers change."""
        if self.pending:
            generator = self.pending.pop(self.random.randrange(len(self.pending)))
            next(generator)
            self.pending.append(generator)

    def short_lived(self, depth: int) -> None:
        """A function that is freed, so that the next one may be at its address."""
        name = self.random.choice(("ephemeral_a", "ephemeral_b", "ephemeral_c"))
        space: dict[str, Any] = {"program": self}
        exec(f"def {name}():\n    program.allocate()\n    return 1\n", space)
        space[name]()
        space.clear()

    def raising(self, depth: int) -> None:
        try:
            self.down_a(min(depth, 1))
            raise KeyError
        except KeyError:
            self.allocate()

    STEPS: tuple[Callable[..., None], ...] = (
        *(twice, down_a, down_a, down_b, down_b, through_c, through_c),
        *(begin_generator, resume_generator, resume_generator, short_lived, raising),
    )

    def run(self, blocks: int) -> None:
        while len(self.expected) < blocks:
            self.step(self.random.randrange(9))
        self.pending.clear()


def stacks_of(path: Path) -> Expected:
    return {
        fields["size"]: fields["stack"]
        for name, fields in notes(path)
        if name == "memory.alloc" and fields["size"] > FIRST
    }


def differing(found: Expected, expected: Expected) -> list[tuple[Any, Any]]:
    """Stacks that are not equal down to the frames of what runs the tests."""
    wrong = []
    for size, names in expected.items():
        got = found.get(size, ())
        inner = names[: names.index("run") + 1]
        if got[: len(inner)] != inner:
            wrong.append((inner, got))
    return wrong


@pytest.mark.parametrize("stacks", ["python", "both"])
def test_every_stack_is_that_of_its_moment(capture_path: Path, stacks: str) -> None:
    program = Program(seed=1)
    memory.start(capture_path, domains="python", stacks=stacks)
    try:
        program.run(3000)
    finally:
        memory.stop()
    found = stacks_of(capture_path)
    if stacks == "both":  # native functions in between are not the question here
        known = {name for names in program.expected.values() for name in names}
        found = {size: tuple(n for n in names if n in known) for size, names in found.items()}
    assert len(program.expected) >= 3000
    assert differing(found, program.expected) == []


def test_threads_do_not_mix_their_stacks(capture_path: Path) -> None:
    programs = [Program(seed, FIRST + seed * 100_000) for seed in range(1, 5)]
    memory.start(capture_path, domains="python")
    try:
        threads = [threading.Thread(target=p.run, args=(800,)) for p in programs]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        memory.stop()
    found = stacks_of(capture_path)
    for program in programs:
        assert differing(found, program.expected) == []


def test_a_second_recording_has_stacks_of_its_own(capture_path: Path, tmp_path: Path) -> None:
    for path, seed in ((capture_path, 5), (tmp_path / "second.kymo", 6)):
        program = Program(seed)
        memory.start(path, domains="python")
        try:
            program.run(500)
        finally:
            memory.stop()
        assert differing(stacks_of(path), program.expected) == []


@pytest.mark.skipif(FREE_THREADED, reason="free-threaded builds do not reuse addresses of code")
def test_a_function_at_the_address_of_a_freed_one_has_its_own_name(capture_path: Path) -> None:
    program = Program(seed=8)
    addresses = []

    def run() -> None:
        for i in range(200):
            space: dict[str, Any] = {"program": program}
            exec(f"def made_{i % 10}():\n    program.allocate()\n", space)
            function = space[f"made_{i % 10}"]
            addresses.append(id(function.__code__))
            function()
            space.clear()

    memory.start(capture_path, domains="python")
    try:
        run()
    finally:
        memory.stop()
    assert len(set(addresses)) < len(addresses)  # otherwise this shows nothing
    assert differing(stacks_of(capture_path), program.expected) == []


def test_stacks_deeper_than_the_most_are_cut_and_later_ones_whole(capture_path: Path) -> None:
    # Recorded from the bottom on: before 3.11 every call allocates its frame.
    def descend(steps: Iterator[int]) -> None:  # new numbers would be allocated on the way
        size = next(steps)
        if not size:
            descend(steps)
            return
        if size == FIRST + 1:
            memory.start(capture_path, domains="python")
        bytes(size)

    def run() -> None:
        limit = sys.getrecursionlimit()
        sys.setrecursionlimit(40_000)
        try:
            descend(iter([0] * 20_000 + [FIRST + 1]))
        finally:
            sys.setrecursionlimit(limit)
        descend(iter([0] * 3 + [FIRST + 2]))

    try:
        run()
    finally:
        memory.stop()
    deep, shallow = (stack for _, stack in sorted(stacks_of(capture_path).items()))
    assert set(deep) == {"descend"}
    assert 10_000 < len(deep) < 20_000
    assert shallow[:5] == (*["descend"] * 4, "run")
