"""Memory of tensors over time, in the files of torch's `export_memory_timeline`."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

from kymograph.profiler import _devices, _memory_picture
from kymograph.profiler._memory_categories import Categories, Category
from kymograph.profiler._memory_flow import Flow

if TYPE_CHECKING:
    from kymograph.profiler._memory_flow import Block
    from kymograph.profiler._recording import Recording

# What happens to a block, numbered as torch does.
BEFORE, CREATE, CHANGE, DESTROY = 1, 2, 3, 4

Row = tuple[int, int, int, int]  # time in nanoseconds, action, bytes, category


class Happening(NamedTuple):
    """Something that happens to a block, in nanoseconds since 1970; -1: it was there before."""

    time: int
    action: int
    block: int
    version: int  # before a change
    bytes: int


class MemoryTimeline:
    """The blocks of `device`, such as "cpu" or "cuda:0", in the window of a recording; without a
    device, those of the first that is not the CPU, if there is any."""

    def __init__(self, recording: Recording, device: str | None = None) -> None:
        info = recording.capture.info
        self._shift = info.wall_start - info.start  # to nanoseconds since 1970
        wanted = None if device is None else _devices.parse(device)
        self.flow = Flow(recording)
        self.categories = Categories(self.flow)
        self.device = wanted or _first(self.flow.blocks)

    def raw(self) -> list[Row]:
        """Return what happened to blocks, in order of time: -1 for those that were there before.
        A block that changes is in two rows, without its bytes and with them again."""
        return sorted(self._rows(), key=lambda row: row[:2])

    def _rows(self) -> Iterator[Row]:
        for time, action, number, version, size in self.happenings():
            if self.flow.blocks[number].device != self.device:
                continue
            category = self.categories[number, version]
            if action == CHANGE:
                yield time, action, -size, category
                yield time, action, size, self.categories[number, version + 1]
            else:
                yield time, action, -size if action == DESTROY else size, category

    def happenings(self) -> Iterator[Happening]:
        """Yield what happens to the blocks of all devices, in no order."""
        blocks = self.flow.blocks
        last = dict.fromkeys(range(len(blocks)), 0)
        known = {number for number, _ in self.flow.seen()}
        for step in self.flow.steps:
            for number, version in step.made:
                if version:
                    time = step.time + self._shift
                    yield Happening(time, CHANGE, number, version - 1, blocks[number].bytes)
                    last[number] = version
        for number, block in enumerate(blocks):
            if block.allocated is not None:
                time = block.allocated + self._shift
                yield Happening(time, CREATE, number, 0, block.bytes)
            elif number in known or block.tensor < 0:
                yield Happening(-1, BEFORE, number, 0, block.bytes)
            else:
                continue  # only operators have it that do nothing themselves
            if block.freed is not None:
                time = block.freed + self._shift
                yield Happening(time, DESTROY, number, last[number], block.bytes)

    def coalesced(self) -> tuple[list[int], list[list[int]]]:
        """Return times in microseconds, and for each of them a 0 and the bytes by category."""
        times: list[int] = []
        sizes: list[list[int]] = []
        for time, _, size, category in self.raw():
            micros = time // 1000  # -1 remains -1
            if not times or micros != times[-1]:
                times.append(micros)
                sizes.append(list(sizes[-1]) if sizes else [0] * (len(Category) + 1))
            sizes[-1][category + 1] += size
        # What was there before has the time of what happens first, and a row of its own.
        if len(times) > 1 and times[0] < 0:
            times[0] = times[1]
        return times, sizes

    def text(self, path: str) -> str:
        """Return the file that the ending of `path` asks for, uncompressed."""
        if path.endswith(".html"):
            return _memory_picture.page(self.device, *self.coalesced())
        return json.dumps(self.raw() if path.endswith("raw.json.gz") else self.coalesced())


def _first(blocks: Sequence[Block]) -> str:
    """Return the device of the first block that is not on the CPU, if there is any."""
    return next((each.device for each in blocks if each.device != "cpu"), "cpu")
