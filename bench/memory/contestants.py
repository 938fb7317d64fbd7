"""Who records: each starts and stops in the process that runs the workload."""

from __future__ import annotations

import struct
import sysconfig
import tracemalloc
from pathlib import Path
from typing import Any

from tracer import floor


class Contestant:
    """Nobody, and the base of the others."""

    key = "plain"
    label = "plain"
    package = ""  # that it needs
    ours = False
    peer = ""  # key of the peer that records the same, as nearly as it can
    floor = ""  # key of the least that recording this can cost

    def start(self, path: Path) -> None:
        pass

    def stop(self) -> None:
        pass

    def on_disk(self, path: Path) -> dict[str, int]:
        """Events, bytes of them without stacks and names, bytes of the whole file."""
        return {}


class Floor(Contestant):
    """Intercepts allocations; see bench/memfloor/memfloor.c, which must have been compiled."""

    def __init__(self, key: str, label: str, reading: bool, native: bool) -> None:
        self.key, self.label, self.reading, self.native = key, label, reading, native
        self.module: Any = None

    def start(self, path: Path) -> None:
        if not self.module:
            file = path.parent / f"memfloor{sysconfig.get_config_var('EXT_SUFFIX')}"
            self.module = floor.load_built(file, "memfloor")
        self.module.start(self.reading, self.native)

    def stop(self) -> None:
        self.module.stop()


class Kymograph(Contestant):
    ours = True

    def __init__(self, key: str, label: str, least: str, peer: str, **options: Any) -> None:
        self.key, self.label, self.floor, self.peer = key, label, least, peer
        self.options = options

    def start(self, path: Path) -> None:
        import kymograph.memory

        kymograph.memory.start(path, **self.options)

    def stop(self) -> None:
        import kymograph.memory

        kymograph.memory.stop()

    def on_disk(self, path: Path) -> dict[str, int]:
        import kymograph

        with kymograph.open(path) as capture:
            info = capture.info
            if info.lost_records:
                raise RuntimeError(f"{info.lost_records} events were lost")
            return {
                "events": info.records,
                "event_bytes": record_bytes(path),
                "file_bytes": info.file_bytes,
            }


def record_bytes(path: Path) -> int:
    """Bytes of a capture's blocks of records; see docs/internals/trace-format.md."""
    data = path.read_bytes()
    at, total = 128, 0
    while data[at : at + 4] == b"KYBK":
        stored = struct.unpack_from("<I", data, at + 12)[0]
        size = 64 + (stored + 7) // 8 * 8
        total += size if data[at + 8] in (1, 7) else 0
        at += size
    return total


class Memray(Contestant):
    package = "memray"

    def __init__(self, key: str, label: str, **options: Any) -> None:
        self.key, self.label, self.options = key, label, options
        self.tracker: Any = None

    def start(self, path: Path) -> None:
        import memray  # type: ignore[import-not-found]

        self.tracker = memray.Tracker(path, **self.options)
        self.tracker.__enter__()

    def stop(self) -> None:
        self.tracker.__exit__(None, None, None)
        self.tracker = None

    def on_disk(self, path: Path) -> dict[str, int]:
        import memray

        with memray.FileReader(path) as reader:
            events = reader.metadata.total_allocations  # frees are among them
        return {"events": events, "file_bytes": path.stat().st_size}


class Tracemalloc(Contestant):
    key = "tracemalloc"
    label = "tracemalloc"

    def start(self, path: Path) -> None:
        tracemalloc.start()

    def stop(self) -> None:
        tracemalloc.stop()


CONTESTANTS = [
    Contestant(),
    Floor("empty", "empty hooks, Python's domains", False, False),
    Floor("counter", "hooks + counter, Python's domains", True, False),
    Floor("empty_all", "empty hooks, everything", False, True),
    Floor("counter_all", "hooks + counter, everything", True, True),
    Kymograph(
        "python", "kymograph, Python's domains", "counter", "memray_python", domains="python"
    ),
    Kymograph(
        "native", "kymograph, no Python objects", "counter_all", "memray", domains="native,mappings"
    ),
    Kymograph("all", "kymograph, everything", "counter_all", "memray_python"),
    Kymograph(
        "both", "kymograph, everything, native stacks", "counter_all", "memray_both", stacks="both"
    ),
    Kymograph("sampled", "kymograph, sampled", "empty_all", "memray", mode="sampled"),
    Memray("memray", "memray"),
    Memray("memray_python", "memray, Python's domains", trace_python_allocators=True),
    Memray(
        "memray_both",
        "memray, Python's domains, native stacks",
        trace_python_allocators=True,
        native_traces=True,
    ),
    Tracemalloc(),
]
