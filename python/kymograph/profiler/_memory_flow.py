"""How blocks of memory go through operators: what `_memory_categories` decides by.

A block is memory from its allocation to its free, known by its address in between. Each operator
that the program or the backward pass calls is a step, together with all that it calls itself, and
so is each allocation and each free outside of them. A step reads and writes blocks. When one is
written to, it has its next version.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from kymograph import _core
from kymograph._torch import schemas
from kymograph.profiler import _devices, _memory
from kymograph.profiler._holders import GRADIENT
from kymograph.profiler._names import OPERATOR

if TYPE_CHECKING:
    from kymograph.profiler._memory import Allocation
    from kymograph.profiler._recording import Recording

_BACKWARD = 1  # scope of a function of the backward pass
# enum kymo_op_kind
_TENSOR, _INT, _BOOL, _LIST, _TUPLE = 1, 2, 3, 7, 8

# The first operator inside, and its first input is a gradient that is stored or added to.
_ACCUMULATE = "torch::autograd::AccumulateGrad"
_ACCUMULATES = {"aten::detach", "aten::add_"}
# After these the first input has the memory of another one. Setting `Tensor.data` calls the second.
_MOVES = {"aten::set_", "aten::_has_compatible_shallow_copy_type"}

# What operators of a step do with a block: bits.
_READ, _CHANGE, _UNCLEAR, _ALLOCATE, _FREE = 1, 2, 4, 8, 16

Version = tuple[int, int]  # of a block: its number, and how often it was written to


class Block:
    """A block of memory on a device."""

    __slots__ = ("address", "allocated", "bytes", "device", "freed", "tensor")

    def __init__(
        self, device: str, address: int, allocated: int | None = None, size: int = 0
    ) -> None:
        self.device = device
        self.address = address
        self.allocated = allocated  # when; None: before the recording
        self.freed: int | None = None
        self.bytes = size
        self.tensor = -1  # which one has it; blocks that a tensor had in turn share it. -1: none


class Step:
    """What an operator does to blocks: which versions it reads, and which it makes."""

    __slots__ = ("backward", "made", "read", "temporary", "time", "uses")

    def __init__(self, time: int, backward: bool) -> None:
        self.time = time
        self.backward = backward
        self.uses: dict[int, int] = {}  # by number of a block: bits
        self.read: list[Version] = []
        self.made: list[Version] = []
        self.temporary: list[int] = []  # blocks that it allocates and frees

    def use(self, block: int, how: int) -> None:
        self.uses[block] = self.uses.get(block, 0) | how


class Tensor(NamedTuple):
    """An input of an operator."""

    argument: int
    address: int
    memory: int
    device: str
    bytes: int  # that it reaches over


class Operator(NamedTuple):
    """An operator and what it is in."""

    name: str
    rf_id: int
    start: int
    end: int
    step: Step | None  # None: it only surrounds others
    changes: frozenset[int] | None  # arguments; None: it has no schema
    inputs: list[Tensor]
    accumulates: bool


class Held(NamedTuple):
    """What a module or an optimizer has, or a gradient that the backward pass has stored."""

    role: int
    block: int


def reach(shape: Sequence[int], strides: Sequence[int]) -> int:
    """Return the elements that a tensor reaches over by its greatest dimension, as torch counts."""
    return max((a * b for a, b in zip(shape, strides, strict=False)), default=1)


def _arguments(note: dict[str, Any]) -> Iterator[int]:
    """Yield the argument that each tensor of an operator is, or is in."""
    numbers = iter(note["ints"])
    left: list[int] = []  # values to come in each list that is open
    argument = -1
    for kind in note["kinds"]:
        while left and not left[-1]:
            left.pop()
        if left:
            left[-1] -= 1
        else:
            argument += 1
        if kind == _TENSOR:
            yield argument
        elif kind in (_LIST, _TUPLE):
            left.append(next(numbers, 0))
        elif kind in (_INT, _BOOL):
            next(numbers, 0)


def _inputs(note: dict[str, Any], memory: Sequence[int]) -> list[Tensor]:
    """Return those that have memory."""
    plain = (not mark for mark in note["marks"])
    sizes = (
        reach(shape, strides) * size if is_plain else 0
        for shape, strides, size, is_plain in zip(
            note["shapes"], note["strides"], note["itemsizes"], plain, strict=False
        )
    )
    parts = zip(_arguments(note), note["tensors"], memory, note["devices"], sizes, strict=False)
    return [Tensor(*each) for each in parts if each[2]]


class _Notes:
    """What is in a recording besides operators."""

    def __init__(self, recording: Recording) -> None:
        self.memory: dict[int, list[int]] = {}  # of the inputs of an operator, by its id
        self.holders: list[tuple[int, dict[str, Any]]] = []
        self.freed: list[tuple[int, int]] = []  # addresses of blocks on the CPU from before
        if recording.start == recording.end:
            return
        for event in recording.capture.events(start=recording.start, end=recording.end):
            if event.kind != "payload":
                continue
            if event.name == "operator.memory":
                fields = event.fields
                self.memory.setdefault(fields["rf_id"], []).extend(fields["memory"])
            elif event.name == "operator.holder":
                self.holders.append((event.time, event.fields))
            elif event.name == "operator.freed":
                self.freed.append((event.time, event.fields["memory"]))


class _Operators:
    """The operators of a recording in the order of their begin, and the steps they make."""

    def __init__(self, recording: Recording, notes: _Notes) -> None:
        self.all: list[Operator] = []
        self.steps: list[Step] = []
        self._threads: dict[int, list[Operator]] = {}
        self._schemas: dict[str, frozenset[int] | None] = {}
        timeline = _core.timeline(recording.capture, recording.start, recording.end, False, True)
        known: dict[int, Operator] = {}
        first = set[int]()  # operators that call another
        for number in range(len(timeline)):
            callee, start, end, _, parent, thread, *_ = timeline[number]
            note = timeline.operator(number) if callee[3] == OPERATOR else None
            above = known.get(parent)
            if note is None:
                if above:
                    known[number] = above
                continue
            accumulates = (
                above is not None
                and above.name == _ACCUMULATE
                and parent not in first
                and callee[0] in _ACCUMULATES
            )
            first.add(parent)
            changes = self._changes(note["schema"])
            step = above.step if above else None
            if step is None and (note["scope"] == _BACKWARD or changes is not None):
                step = Step(start, note["scope"] == _BACKWARD)
                self.steps.append(step)
            inputs = _inputs(note, notes.memory.get(note["rf_id"], ()))
            op = Operator(callee[0], note["rf_id"], start, end, step, changes, inputs, accumulates)
            known[number] = op
            self.all.append(op)
            self._threads.setdefault(thread, []).append(op)

    def _changes(self, schema: str) -> frozenset[int] | None:
        if schema not in self._schemas:
            self._schemas[schema] = schemas.changed(schema)
        return self._schemas[schema]

    def steps_of(self, blocks: Sequence[Allocation]) -> Iterator[Step]:
        """Yield for each of `blocks`, which are in order of time, the step that it is in."""
        opened: dict[int, tuple[int, list[Operator]]] = {}  # by thread: how many began, those open
        for block in blocks:
            here = self._threads.get(block.thread, [])
            at, stack = opened.get(block.thread, (0, []))
            while at < len(here) and here[at].start <= block.time:
                while stack and stack[-1].end <= here[at].start:
                    stack.pop()
                stack.append(here[at])
                at += 1
            while stack and stack[-1].end < block.time:
                stack.pop()
            opened[block.thread] = at, stack
            step = stack[-1].step if stack else None
            if step is None:
                step = Step(block.time, False)
                self.steps.append(step)
            yield step


class Flow:
    """The blocks and steps of a recording."""

    def __init__(self, recording: Recording) -> None:
        self.blocks: list[Block] = []
        self.held: list[Held] = []
        # By id of the operator: the address of the memory of each tensor that goes in, 0 if it has
        # none, and the blocks of the others.
        self.memory: dict[int, list[int]] = {}
        self.inputs: dict[int, list[int]] = {}
        self.allocations: dict[tuple[int, int, int, int], int] = {}  # the block of each
        self._live: dict[tuple[str, int], int] = {}  # by device and address
        self._tensors = _Tensors(self.blocks)
        notes = _Notes(recording)
        self.memory = notes.memory
        operators = _Operators(recording, notes)
        allocations = [each for each in _memory.allocations(recording) if each.name == _memory.NAME]
        happened: list[tuple[int, Any]] = [(op.start, op) for op in operators.all]
        happened += notes.holders
        happened += notes.freed
        happened += zip(
            (each.time for each in allocations),
            zip(allocations, operators.steps_of(allocations), strict=True),
            strict=True,
        )
        happened.sort(key=lambda each: each[0])
        for time, what in happened:
            if isinstance(what, Operator):
                self._call(what)
            elif isinstance(what, dict):
                self._hold(what)
            elif isinstance(what, int):
                self._free(time, what)
            else:
                self._allocate(*what)
        self._tensors.unite()
        self.steps = sorted(operators.steps, key=lambda step: step.time)
        self._count_versions()

    def _block(self, device: str, address: int, size: int) -> int:
        """Return the block at `address`, which a tensor has that reaches over `size` bytes."""
        key = device, address
        number = self._live.get(key)
        if number is None:
            number = self._live[key] = len(self.blocks)
            self.blocks.append(Block(device, address))
        block = self.blocks[number]
        if block.allocated is None:
            block.bytes = max(block.bytes, size)
        return number

    def _call(self, op: Operator) -> None:
        found = []
        for each in op.inputs:
            number = self._block(each.device, each.memory, each.bytes)
            self._tensors.see(each.address, number)
            if op.step is not None:
                how = _UNCLEAR if op.changes is None else _READ
                changes = op.changes is not None and each.argument in op.changes
                op.step.use(number, _CHANGE if changes else how)
            found.append(number)
        self.inputs[op.rf_id] = found
        if op.accumulates and op.inputs and op.inputs[0].argument == 0:
            self.held.append(Held(GRADIENT, found[0]))
        self._tensors.may_move(op, found)

    def _hold(self, held: dict[str, Any]) -> None:
        parts = (held[name] for name in ("roles", "tensors", "memory", "bytes", "devices"))
        for role, tensor, memory, size, device in zip(*parts, strict=True):
            if memory:
                number = self._block(device, memory, size)
                self._tensors.see(tensor, number)
                self.held.append(Held(role, number))

    def _allocate(self, what: Allocation, step: Step) -> None:
        device = _devices.name_of(what.device_type, what.device_index)
        key = device, what.address
        number = self._live.pop(key, None)
        if what.bytes > 0:
            if number is not None:  # its free was not recorded
                self.blocks[number].freed = what.time
            number = self._live[key] = len(self.blocks)
            self.blocks.append(Block(device, what.address, what.time, what.bytes))
            self.allocations[what.event] = number
            step.use(number, _ALLOCATE)
            return
        if number is None:
            number = len(self.blocks)
            self.blocks.append(Block(device, what.address))
        block = self.blocks[number]
        self.allocations[what.event] = number
        block.freed = what.time
        block.bytes = -what.bytes
        step.use(number, _FREE)

    def _free(self, time: int, address: int) -> None:
        number = self._live.pop(("cpu", address), None)
        if number is not None:
            self.blocks[number].freed = time

    def _count_versions(self) -> None:
        versions: dict[int, int] = {}
        for step in self.steps:
            for number, how in sorted(step.uses.items()):
                if self.blocks[number].tensor < 0:
                    continue
                now = versions.setdefault(number, 0)
                # If no schema says what is done to it, it may be changed.
                changed = not how & _FREE and (
                    how & _CHANGE or how & (_READ | _UNCLEAR) == _UNCLEAR
                )
                if not how & _ALLOCATE:
                    step.read.append((number, now))
                    if changed:
                        versions[number] = now + 1
                        step.made.append((number, now + 1))
                elif how & _FREE:
                    step.temporary.append(number)
                else:
                    step.made.append((number, 0))

    def seen(self) -> Iterable[Version]:
        """Return every version of a block that a tensor has, some of them more than once."""
        for step in self.steps:
            yield from step.read
            yield from step.made
            yield from ((number, 0) for number in step.temporary)
        yield from ((each.block, 0) for each in self.held)


class _Tensors:
    """Which tensor has which block.

    A tensor is known by its address, which another one may get later. If a tensor is seen with
    another block than before, it is the same one only if an operator was called in between that
    gave it the other block; else it is another tensor at the same address.
    """

    def __init__(self, blocks: list[Block]) -> None:
        self._blocks = blocks
        self._had: dict[int, int] = {}  # by address: the block it was last seen with
        self._moved: dict[int, tuple[Operator, list[int]]] = {}  # what may have moved it last
        self._above: dict[int, int] = {}  # from a block to one that the same tensor had

    def see(self, tensor: int, block: int) -> None:
        before = self._had.get(tensor)
        self._had[tensor] = block
        self._above.setdefault(block, block)
        if before is None or before == block or tensor not in self._moved:
            return
        op, blocks = self._moved[tensor]
        allocated = self._blocks[block].allocated
        inside = allocated is not None and op.start <= allocated <= op.end
        if block in blocks if op.name in _MOVES else inside:
            self._join(before, block)

    def may_move(self, op: Operator, blocks: list[int]) -> None:
        """`op` is called, and its inputs have `blocks`."""
        if op.name in _MOVES:
            if op.inputs and op.inputs[0].argument == 0:
                self._moved[op.inputs[0].address] = op, blocks
        elif op.changes:
            for each in op.inputs:
                if each.argument in op.changes:
                    self._moved[each.address] = op, blocks

    def _root(self, block: int) -> int:
        while self._above[block] != block:
            self._above[block] = block = self._above[self._above[block]]
        return block

    def _join(self, one: int, other: int) -> None:
        a, b = self._root(one), self._root(other)
        self._above[max(a, b)] = min(a, b)

    def unite(self) -> None:
        for block in self._above:
            self._blocks[block].tensor = self._root(block)
