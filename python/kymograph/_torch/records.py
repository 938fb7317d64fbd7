"""The fields of a record: what torch knows about one operator that runs.

Operators with known arguments are run, and snapshots of their records (ext/torch/torchprobe.h) are
searched for those arguments. Every place that could hold a field is a candidate; each operator
rules some out. A field is found if exactly one candidate is left after two operators or more.
"""

from __future__ import annotations

import functools
import struct
import threading
from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple

from kymograph import _core

SCHEMA_BYTES = 128
MINUS_ONE = 2**64 - 1


class NotFound(Exception):
    """The text says what was not found."""


class Snapshot(NamedTuple):
    end: bool
    scope: int
    name: str
    record: int
    name_at: int
    inputs: int
    outputs: int
    thread: int
    sequence: int  # the next sequence number
    memory: dict[int, bytes]

    def words(self) -> tuple[int, ...]:
        return words_of(self.memory[self.record])

    def words_at(self, address: int, count: int) -> tuple[int, ...]:
        """Return as many of `count` words at `address` as were copied."""
        return words_of(self.memory.get(address, b""))[:count]


def words_of(memory: bytes) -> tuple[int, ...]:
    return struct.unpack(f"<{len(memory) // 8}Q", memory[: len(memory) // 8 * 8])


class Field:
    """Candidates for the offset of a field."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.left: set[int] = set()
        self.probes = 0

    def narrow(self, offsets: Iterable[int]) -> None:
        self.left = self.left & set(offsets) if self.probes else set(offsets)
        self.probes += 1

    def offset(self) -> int:
        if self.probes < 2 or len(self.left) != 1:
            raise NotFound(f"{self.name} in {len(self.left)} places")
        return next(iter(self.left))


def equal(words: Iterable[int], value: int) -> Iterator[int]:
    return (8 * i for i, word in enumerate(words) if word == value & MINUS_ONE)


def snapshots(name: str, run: Callable[[], object], deep: bool = False) -> list[Snapshot]:
    """Run `run` and return the snapshots of records called `name` on this thread."""
    if not _core.torch_watch(name, deep):
        raise NotFound("torch's callbacks")
    try:
        run()
    finally:
        seen = [Snapshot(*each) for each in _core.torch_snapshots()]
    if not seen:
        raise NotFound(f"a record of {name}")
    return seen


class Records:
    """The fields of a record."""

    def __init__(self, torch: Any) -> None:
        self.torch = torch
        names = ("inputs", "outputs", "sequence", "id", "thread", "forward_thread", "schema")
        self.fields = {name: Field(name) for name in names}
        self.scope = Field("scope")
        self.overload = Field("overload")
        self.last: tuple[int, ...] | None = None  # words of the record before

    def see(self, name: str, run: Callable[[], object]) -> list[Snapshot]:
        """Run `run` and narrow what every record called `name` tells."""
        seen = snapshots(name, run)
        for one in seen:
            if one.end:
                continue
            words = one.words()
            self.fields["thread"].narrow(equal(words, one.thread))
            memory = one.memory[one.record]
            self.scope.narrow(i for i, byte in enumerate(memory) if byte == one.scope)
            if self.last is not None:  # ids rise, by more than one if other threads run operators
                pairs = enumerate(zip(self.last, words, strict=False))
                rising = (8 * i for i, (old, new) in pairs if old < new < old + 2**16)
                self.fields["id"].narrow(rising)
            self.last = words
            if one.scope == 0:
                named = (
                    8 * i for i, word in enumerate(words) if one.words_at(word, 1) == (one.name_at,)
                )
                self.fields["schema"].narrow(named)
        return seen

    def full(self, *shape: int) -> Any:
        return self.torch.full(shape, 0.5, dtype=self.torch.float32, device="cpu")

    def arguments(self) -> None:
        for shape in ((3, 5), (2, 7), (4, 4)):
            a, b, c, out = (self.full(*shape) for _ in range(4))

            def run(a: Any = a, b: Any = b, c: Any = c, out: Any = out) -> None:
                with self.torch.no_grad():
                    self.torch.addcmul(a, b, c, value=2.0, out=out)

            seen = self.see("aten::addcmul", run)
            start = next(one for one in seen if not one.end)
            end = next(one for one in seen if one.end)
            known = {0: a._cdata, 2: b._cdata, 4: c._cdata, 8: out._cdata}
            words = start.words()
            self.fields["inputs"].narrow(
                8 * i
                for i, word in enumerate(words[:-1])
                if words[i + 1] == start.inputs == 5
                and len(array := start.words_at(word, 10)) == 10
                and all(array[at] == value for at, value in known.items())
            )
            words = end.words()
            self.fields["outputs"].narrow(
                8 * i
                for i, word in enumerate(words[:-2])
                if words[i + 1] == word + 16 <= words[i + 2]
                and end.words_at(word, 1) == (out._cdata,)
            )

    def numbers(self) -> None:
        """The sequence number of operators that build a graph, and what backward knows of them."""
        torch = self.torch
        kept: list[Any] = []
        leaf = self.full(4, 4).requires_grad_()
        with torch.enable_grad():
            for i in range(4):
                kept.extend(leaf * 2 for _ in range(3 + 5 * i))  # moves the counter
                start = self.see("aten::sinh", lambda: kept.append(leaf.sinh()))[0]
                self.fields["sequence"].narrow(equal(start.words(), start.sequence))

        def without() -> None:
            with torch.no_grad():
                leaf.cosh()

        for _ in range(2):
            start = self.see("aten::cosh", without)[0]
            self.fields["sequence"].narrow(equal(start.words(), -1))
            self.fields["forward_thread"].narrow(equal(start.words(), 0))
        for _ in range(3):
            result, thread = self._forward_elsewhere(leaf)
            backward = functools.partial(run_backward, torch, result, torch.ones_like(result))
            start = self.see("SinhBackward0", backward)[0]
            sequence = result.grad_fn._sequence_nr()
            self.fields["sequence"].narrow(equal(start.words(), sequence))
            self.fields["forward_thread"].narrow(equal(start.words(), thread))

    def _forward_elsewhere(self, leaf: Any) -> tuple[Any, int]:
        got: list[Any] = []

        def work() -> None:
            with self.torch.enable_grad():
                self.see("aten::sinh", lambda: got.append(leaf.sinh()))
            got.append(_core.torch_thread())

        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
        if len(got) != 2:
            raise NotFound("a record on another thread")
        return got[0], got[1]

    def scopes(self) -> None:
        for _ in range(2):
            self.see("kymograph scope", lambda: record(self.torch, "kymograph scope", 1))

    def overloads(self) -> None:
        operators, tensor = self.torch.ops.aten, self.full(2, 2)
        for run, name, want in (
            (lambda: operators.add.Tensor(tensor, tensor), "aten::add", b"Tensor"),
            (lambda: operators.sum.dim_IntList(tensor, [0]), "aten::sum", b"dim_IntList"),
        ):
            start = self.see(name, run)[0]
            schema = start.words()[self.fields["schema"].offset() // 8]
            memory = start.memory[schema]
            words = words_of(memory)
            self.overload.narrow(
                8 * i
                for i, word in enumerate(words[:-1])
                if words[i + 1] == len(want)
                and memory[word - schema : word - schema + len(want)] == want
                and 0 < word - schema < SCHEMA_BYTES
            )


def run_backward(torch: Any, tensor: Any, gradient: Any) -> None:
    """As torch.autograd.backward does, which would import much more."""
    engine = torch.autograd.Variable._execution_engine
    engine.run_backward(
        (tensor,), (gradient,), False, False, (), allow_unreachable=True, accumulate_grad=True
    )


def record(torch: Any, name: str, *values: object) -> None:
    """A range with `values` as its inputs."""
    handle = torch.autograd._record_function_with_args_enter(name, *values)
    torch.autograd._record_function_with_args_exit(handle)
