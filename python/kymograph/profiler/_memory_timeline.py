"""Memory of tensors over time, in the files of torch's `export_memory_timeline`.

torch divides memory into categories by following tensors through operators. Which block belongs to
which tensor is not recorded here, so all of it is in the last category, which torch has for memory
that it cannot assign.
"""

from __future__ import annotations

import html
import json
from collections.abc import Sequence
from typing import TYPE_CHECKING

from kymograph.profiler import _memory
from kymograph.profiler._devices import DeviceType

if TYPE_CHECKING:
    from kymograph.profiler._memory import Allocation
    from kymograph.profiler._recording import Recording

# torch's order: parameter, optimizer state, input, temporary, activation, gradient, detail of
# autograd, unknown. A row of sizes begins with a 0.
CATEGORIES = 8
UNKNOWN = CATEGORIES - 1
CREATE, DESTROY = 2, 4

# Of the picture, in its own units.
_WIDTH, _HEIGHT, _LEFT, _TOP = 1000, 400, 90, 40


class MemoryTimeline:
    """The blocks of `device`, such as "cpu" or "cuda:0", in the window of a recording; without a
    device, those of the first that is not the CPU, if there is any."""

    def __init__(self, recording: Recording, device: str | None = None) -> None:
        info = recording.capture.info
        self.shift = info.wall_start - info.start  # to nanoseconds since 1970
        found = [each for each in _memory.allocations(recording) if each.name == _memory.NAME]
        kind, index = _parse(device) if device is not None else _first(found)
        self.device = _name(kind, index)
        self.blocks = [
            each
            for each in found
            if each.device_type == kind and max(each.device_index, 0) == index
        ]

    def raw(self) -> list[tuple[int, int, int, int]]:
        """Return time in nanoseconds, action, bytes and category of every block's begin and end."""
        return [
            (each.time + self.shift, CREATE if each.bytes > 0 else DESTROY, each.bytes, UNKNOWN)
            for each in self.blocks
        ]

    def coalesced(self) -> tuple[list[int], list[list[int]]]:
        """Return times in microseconds, and for each of them the bytes by category."""
        times: list[int] = []
        sizes: list[list[int]] = []
        total = 0
        for each in self.blocks:
            total += each.bytes
            time = (each.time + self.shift) // 1000
            if not times or time != times[-1]:
                times.append(time)
                sizes.append([0] * (CATEGORIES + 1))
            sizes[-1][UNKNOWN + 1] = total
        return times, sizes

    def text(self, path: str) -> str:
        """Return the file that the ending of `path` asks for, uncompressed."""
        if path.endswith(".html"):
            return self._page()
        return json.dumps(self.raw() if path.endswith("raw.json.gz") else self.coalesced())

    def _page(self) -> str:
        times, sizes = self.coalesced()
        totals = [row[-1] for row in sizes]
        title = f"Memory of tensors on {self.device}"
        peak = max(totals, default=0)
        last = (times[-1] - times[0]) / 1000 if times else 0
        return f"""<!DOCTYPE html>
<html>
<head><meta charset="utf-8"><title>{html.escape(title)}</title></head>
<body style="font-family: sans-serif">
<svg viewBox="0 0 {_WIDTH + _LEFT + 20} {_HEIGHT + _TOP + 60}" font-size="14">
<text x="{_LEFT}" y="20">{html.escape(title)}: at most {peak / 2**20:.2f} MiB</text>
<text x="{_LEFT - 6}" y="{_TOP + 10}" text-anchor="end">{peak / 2**20:.2f} MiB</text>
<text x="{_LEFT - 6}" y="{_TOP + _HEIGHT}" text-anchor="end">0</text>
<path d="{_area(times, totals)}" fill="slategrey"/>
<path d="M{_LEFT} {_TOP}v{_HEIGHT}h{_WIDTH}" fill="none" stroke="black"/>
<text x="{_LEFT}" y="{_TOP + _HEIGHT + 20}">0</text>
<text x="{_LEFT + _WIDTH}" y="{_TOP + _HEIGHT + 20}" text-anchor="end">{last:.3f} ms</text>
</svg>
</body>
</html>
"""


def _area(times: Sequence[int], totals: Sequence[int]) -> str:
    """Return the path of an area under steps, with the most in each column of the picture."""
    if not times:
        return ""
    columns: dict[int, tuple[int, int]] = {}  # the most, and the last
    length = max(times[-1] - times[0], 1)
    for time, total in zip(times, totals, strict=True):
        column = (time - times[0]) * _WIDTH // length
        columns[column] = (max(columns.get(column, (0, 0))[0], total), total)
    scale = _HEIGHT / max(max(totals), 1)
    path = [f"M{_LEFT} {_TOP + _HEIGHT}"]
    for column, (most, last) in columns.items():
        path.append(f"H{_LEFT + column}V{_TOP + _HEIGHT - max(most, 0) * scale:.1f}")
        if last != most:
            path.append(f"H{_LEFT + column + 1}V{_TOP + _HEIGHT - max(last, 0) * scale:.1f}")
    return "".join([*path, f"H{_LEFT + _WIDTH}V{_TOP + _HEIGHT}Z"])


def _first(found: Sequence[Allocation]) -> tuple[int, int]:
    for each in found:
        if each.device_type != DeviceType.CPU.value:
            return each.device_type, max(each.device_index, 0)
    return DeviceType.CPU.value, 0


def _name(kind: int, index: int) -> str:
    name = next((each.name for each in DeviceType if each.value == kind), str(kind)).lower()
    return name if kind == DeviceType.CPU.value else f"{name}:{index}"


def _parse(device: str) -> tuple[int, int]:
    name, _, index = str(device).partition(":")
    known = {each.name.lower(): each.value for each in DeviceType}
    if name not in known or (index and not index.isdecimal()):
        raise ValueError(f"device should be like 'cpu' or 'cuda:0', got {str(device)!r}")
    return known[name], int(index or 0)
