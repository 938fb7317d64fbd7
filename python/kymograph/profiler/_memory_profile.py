"""`_memory_profile()`: the blocks of `export_memory_timeline` as torch's objects, for programs that
read them, among them torch's own `MemoryProfileTimeline`.

torch must be imported: keys, actions and categories are its own.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from kymograph.profiler._memory_categories import Category
from kymograph.profiler._memory_timeline import MemoryTimeline

if TYPE_CHECKING:
    from kymograph.profiler._recording import Recording

Version = tuple[Any, int]  # a key of torch, and how often what it is the key of was written to


class MemoryProfile:
    """The blocks of all devices in the window of a recording."""

    def __init__(self, recording: Recording) -> None:
        self._torchs = importlib.import_module("torch.profiler._memory_profiler")
        self._found = MemoryTimeline(recording)
        self._keys = [self._key(number) for number in range(len(self._found.flow.blocks))]
        self._blocks = {key: number for number, key in enumerate(self._keys)}
        self._categories = _Categories(self)

    def _key(self, number: int) -> Any:
        """Return torch's key of a block. Those that no tensor has share one for each device."""
        block = self._found.flow.blocks[number]
        device = importlib.import_module("torch").device(block.device)
        if block.tensor < 0:
            return self._torchs.Key(device)
        storage = self._torchs._Storage(block.address, number + 1)
        return self._torchs.TensorKey(device, block.tensor, storage)

    @property
    def timeline(self) -> tuple[tuple[int, Any, Version, int], ...]:
        """What happens to blocks, in order of time: time in nanoseconds, `Action`, key and version,
        bytes. What was there before has the time -1."""
        happenings = sorted(self._found.happenings(), key=lambda each: each[:2])
        return tuple(
            (each.time, self._torchs.Action(each.action), (key, each.version), each.bytes)
            for each in happenings
            for key in (self._keys[each.block],)
        )

    def _category(self, key: Any, version: int) -> Any:
        """Return torch's category of a version, None if it is unknown."""
        if not isinstance(key, self._torchs.TensorKey):
            return None
        known = self._found.categories[self._blocks[key], version]
        return None if known is Category.UNKNOWN else self._torchs.Category[known.name]

    def _category_snapshot(self) -> dict[Version, Any]:
        """Return the category of every version of a block that a tensor has."""
        seen = sorted(set(self._found.flow.seen()))
        versions = [(self._keys[number], version) for number, version in seen]
        return {each: self._category(*each) for each in versions}


class _Categories:
    """What torch's `MemoryProfile` has as `_categories`."""

    def __init__(self, profile: MemoryProfile) -> None:
        self._profile = profile

    def get(self, key: Any, version: int) -> Any:
        """Return the category of a version, None if it is unknown."""
        return self._profile._category(key, version)
