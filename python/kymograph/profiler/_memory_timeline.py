"""Memory of tensors over time, in the files of torch's `export_memory_timeline`."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from kymograph.profiler import _devices, _memory_picture
from kymograph.profiler._memory_categories import Categories, Category
from kymograph.profiler._memory_flow import Flow

if TYPE_CHECKING:
    from kymograph.profiler._memory_flow import Block
    from kymograph.profiler._recording import Recording

# What happens to a block, numbered as torch does.
BEFORE, CREATE, CHANGE, DESTROY = 1, 2, 3, 4

Row = tuple[int, int, int, int]  # time in nanoseconds, action, bytes, category


class MemoryTimeline:
    """The blocks of `device`, such as "cpu" or "cuda:0", in the window of a recording; without a
    device, those of the first that is not the CPU, if there is any."""

    def __init__(self, recording: Recording, device: str | None = None) -> None:
        info = recording.capture.info
        self._shift = info.wall_start - info.start  # to nanoseconds since 1970
        wanted = None if device is None else _devices.parse(device)
        self._flow = Flow(recording)
        self._categories = Categories(self._flow)
        self.device = wanted or _first(self._flow.blocks)

    def raw(self) -> list[Row]:
        """Return what happened to blocks, in order of time: -1 for those that were there before.
        A block that changes is in two rows, without its bytes and with them again."""
        return sorted(self._rows(), key=lambda row: row[:2])

    def _rows(self) -> Iterator[Row]:
        here = {
            number: block
            for number, block in enumerate(self._flow.blocks)
            if block.device == self.device
        }
        last = dict.fromkeys(here, 0)
        known = {number for number, _ in self._flow.seen()}
        for step in self._flow.steps:
            for number, version in step.made:
                if number in here and version:
                    time, size = step.time + self._shift, here[number].bytes
                    yield time, CHANGE, -size, self._categories[number, version - 1]
                    yield time, CHANGE, size, self._categories[number, version]
                    last[number] = version
        for number, block in here.items():
            category = self._categories[number, 0]
            if block.allocated is not None:
                yield block.allocated + self._shift, CREATE, block.bytes, category
            elif number in known or block.tensor < 0:
                yield -1, BEFORE, block.bytes, category
            else:
                continue  # only operators have it that do nothing themselves
            if block.freed is not None:
                category = self._categories[number, last[number]]
                yield block.freed + self._shift, DESTROY, -block.bytes, category

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
