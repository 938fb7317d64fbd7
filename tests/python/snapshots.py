"""A PyTorch memory snapshot gone through as PyTorch's viewer does: backwards from its end."""

from __future__ import annotations

import bisect
import pickle
import pickletools
from pathlib import Path
from typing import Any

# What the viewer's own reader of pickles understands.
OPCODES = set(
    """PROTO EMPTY_DICT EMPTY_LIST EMPTY_TUPLE MARK APPEND APPENDS LIST TUPLE TUPLE1 TUPLE2 TUPLE3
    SETITEM SETITEMS DICT NONE NEWTRUE NEWFALSE BININT BININT1 BININT2 LONG1 BINFLOAT
    SHORT_BINUNICODE BINUNICODE MEMOIZE BINGET LONG_BINGET STOP""".split()
)
ACTIONS = {"alloc", "free_requested", "free_completed", "segment_alloc", "segment_free", "snapshot"}


def load(path: Path) -> dict[str, Any]:
    """The snapshot in PATH, after checking how it is written: with these opcodes, and no more than
    1000 items appended to a list at a time."""
    data = path.read_bytes()
    assert data[:2] == b"\x80\x04"
    counts = [0]  # objects on the stack, by mark
    for opcode, value, _ in pickletools.genops(data):
        name = opcode.name
        assert name in OPCODES, name
        if name == "MARK":
            counts.append(0)
        elif name in ("APPENDS", "SETITEMS"):
            assert counts.pop() <= 1000
        elif name == "TUPLE2":
            counts[-1] -= 1
        elif name not in ("PROTO", "MEMOIZE", "STOP"):
            counts[-1] += 1
        assert name != "LONG1" or (value is not None and 0 <= value < 2**63)
    loaded: dict[str, Any] = pickle.loads(data)
    return loaded


def check_segments(segments: list[dict[str, Any]]) -> None:
    """Blocks fill their segments, sums are right, segments do not overlap."""
    ends: dict[int, int] = {}
    for segment in sorted(segments, key=lambda s: (s["device"], s["address"])):
        at, active = segment["address"], 0
        assert at >= ends.get(segment["device"], 0)
        assert segment["segment_type"] in ("large", "small")
        assert segment["segment_pool_id"] == (0, 0)
        for block in segment["blocks"]:
            assert block["address"] == at and block["size"] > 0
            assert block["state"] in ("active_allocated", "inactive")
            at += block["size"]
            if block["state"] == "active_allocated":
                active += block["size"]
                assert block["requested_size"] == block["size"]
        assert at == segment["address"] + segment["total_size"]
        assert active == segment["allocated_size"] == segment["active_size"]
        assert active == segment["requested_size"]
        ends[segment["device"]] = at


class Space:
    """Address ranges of which none overlaps another."""

    def __init__(self) -> None:
        self.starts: list[int] = []
        self.size: dict[int, int] = {}

    def at(self, address: int) -> int | None:
        i = bisect.bisect_right(self.starts, address) - 1
        if i < 0 or address >= self.starts[i] + self.size[self.starts[i]]:
            return None
        return self.starts[i]

    def add(self, address: int, size: int) -> None:
        i = bisect.bisect_left(self.starts, address)
        assert self.at(address) is None
        assert i == len(self.starts) or self.starts[i] >= address + size
        self.starts.insert(i, address)
        self.size[address] = size

    def remove(self, address: int, size: int) -> None:
        assert self.size.pop(address) == size
        del self.starts[bisect.bisect_left(self.starts, address)]


def replay_backwards(snapshot: dict[str, Any], device: int) -> list[int]:
    """Live bytes after each entry, the first last; everything must fit together."""
    blocks, segments = Space(), Space()
    for segment in snapshot["segments"]:
        if segment["device"] != device:
            continue
        segments.add(segment["address"], segment["total_size"])
        for block in segment["blocks"]:
            if block["state"] == "active_allocated":
                blocks.add(block["address"], block["size"])
    live, course = sum(blocks.size.values()), []
    trace = snapshot["device_traces"][device]
    for index in range(len(trace) - 1, -1, -1):
        entry = trace[index]
        action, address, size = entry["action"], entry["addr"], entry["size"]
        course.append(live)
        assert action in ACTIONS
        if action == "alloc":
            assert segments.at(address) is not None, "a block outside all segments"
            blocks.remove(address, size)
            live -= size
        elif action == "free_completed":
            asked = trace[index - 1]
            assert index and asked["action"] == "free_requested"
            assert (asked["addr"], asked["size"]) == (address, size)
            segment_at = segments.at(address)
            assert segment_at is not None
            assert address + size <= segment_at + segments.size[segment_at]
            blocks.add(address, size)
            live += size
        elif action == "segment_alloc":
            segments.remove(address, size)
        elif action == "segment_free":
            segments.add(address, size)
    return course[::-1]


def check(path: Path, most: int = 200_000) -> dict[str, Any]:
    """Everything that must hold for the file at PATH."""
    snapshot = load(path)
    assert {"segments", "device_traces", "allocator_settings"} <= set(snapshot)
    check_segments(snapshot["segments"])
    categories = set()
    for device, trace in enumerate(snapshot["device_traces"]):
        assert len(trace) <= most
        times = [entry["time_us"] for entry in trace]
        assert times == sorted(times)
        replay_backwards(snapshot, device)
        categories |= {entry["category"] for entry in trace if "category" in entry}
        stacks = {id(entry["frames"]): entry["frames"] for entry in trace}
        for frames in stacks.values():
            for frame in frames:
                assert isinstance(frame["name"], str) and isinstance(frame["filename"], str)
                assert isinstance(frame["line"], int)
    assert not categories or "unknown" in categories
    return snapshot
