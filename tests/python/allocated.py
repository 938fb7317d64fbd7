"""Captures of memory as the tests make them and look at them: events replayed one by one."""

from __future__ import annotations

import heapq
import os
import subprocess
import sys
import textwrap
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import kymograph
from kymograph import memory


@dataclass
class Block:
    size: int
    function: str
    stack: tuple[str, ...]  # names of functions, innermost first


@dataclass
class Replayed:
    """What a capture says about memory."""

    allocated: list[Block] = field(default_factory=list)
    live: dict[int, Block] = field(default_factory=dict)
    freed: list[Block] = field(default_factory=list)
    unknown: int = 0  # frees of blocks from before the start
    overlaps: int = 0  # allocations at an address that is in use
    arenas: list[int] = field(default_factory=list)
    snapshots: list[dict[str, Any]] = field(default_factory=list)
    held: list[dict[str, Any]] = field(default_factory=list)
    objects: list[dict[str, Any]] = field(default_factory=list)
    metadata: dict[str, str] = field(default_factory=dict)

    def born_in(self, function: str) -> list[Block]:
        """The blocks allocated directly by the Python function `function`."""
        return [block for block in self.allocated if block.stack[:1] == (function,)]

    def held_by(self, function: str) -> list[Block]:
        return [block for block in self.live.values() if block.stack[:1] == (function,)]


def in_order(lanes: Collection[list[kymograph.Event]]) -> Iterator[kymograph.Event]:
    """The events of all threads by time. Those of a thread stay in their order: the counter may be
    too slow to tell them apart. Otherwise, of those at the same time, frees come first."""
    heads = [(lane[0].time, lane[0].name != "memory.free", i, 0) for i, lane in enumerate(lanes)]
    all_lanes = list(lanes)
    heapq.heapify(heads)
    while heads:
        _, _, i, at = heads[0]
        yield all_lanes[i][at]
        if at + 1 == len(all_lanes[i]):
            heapq.heappop(heads)
        else:
            following = all_lanes[i][at + 1]
            key = (following.time, following.name != "memory.free", i, at + 1)
            heapq.heapreplace(heads, key)


def notes(path: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    with kymograph.open(path) as capture:
        lanes: dict[int, list[kymograph.Event]] = {}
        for event in capture.events():
            if event.kind == "payload":
                lanes.setdefault(event.thread, []).append(event)
        stacks = capture.stacks(symbols=False)
        for event in in_order(lanes.values()):
            fields = dict(event.fields)
            if "stack" in fields:
                frames = stacks.get(fields["stack"], ())
                fields["stack"] = tuple(frame.name.rpartition(".")[2] for frame in frames)
            yield event.name, fields


def replay(path: Path) -> Replayed:
    found = Replayed()
    for name, fields in notes(path):
        if name == "memory.free":
            block = found.live.pop(fields["address"], None)
            found.unknown += block is None
            if block is not None:
                found.freed.append(block)
        elif name in ("memory.alloc", "memory.realloc"):
            block = Block(fields["size"], fields["function"], fields["stack"])
            found.allocated.append(block)
            # What a library reports may be a block that was recorded as malloc's.
            named = fields["function"].startswith("tracked")
            found.overlaps += fields["address"] in found.live and not named
            found.live[fields["address"]] = block
        elif name == "memory.map" and fields["function"] == "arena":
            found.arenas.append(fields["size"])
        elif name == "memory.snapshot":
            found.snapshots.append(fields)
        elif name == "memory.held":
            found.held.append(fields)
        elif name == "memory.object":
            found.objects.append(fields)
    with kymograph.open(path) as capture:
        found.metadata = dict(capture.metadata)
    return found


def recorded(path: Path, work: Any, *arguments: Any, **options: Any) -> tuple[Replayed, Any]:
    options.setdefault("domains", "python")
    memory.start(path, **options)
    try:
        result = work(*arguments)
    finally:
        memory.stop()
    return replay(path), result


def run_code(path: Path, code: str, **environment: str) -> str:
    """Run CODE in a Python of its own; `path` is in its argument."""
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code), str(path)],
        env={**os.environ, "PYTHONWARNINGS": "ignore::DeprecationWarning", **environment},
        capture_output=True,
        encoding="utf-8",
        timeout=400,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, ""), done
    return done.stdout


def hold(sizes: range) -> list[bytes]:
    return [bytes(size) for size in sizes]


OVERHEAD = sys.getsizeof(b"")  # of a bytes object
