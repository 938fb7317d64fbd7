"""Memory: the same programs under memray, where both report the same thing."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest
from allocated import notes

if importlib.util.find_spec("memray") is None:
    pytest.skip("memray is not installed: not compared with it", allow_module_level=True)

# Each reaches its peak in the function `peak`. Only large blocks that it allocates itself are
# compared: memray's profile function makes Python allocate frames.
PROGRAMS = {
    "objects": """
        def peak():
            kept = [bytes(5000 + i) for i in range(300)]
            del kept[::2]
            kept += [bytearray(7000) for _ in range(200)]
            return kept
        def work():
            peak()
    """,
    "threads": """
        import threading
        def peak(number):
            kept = [bytes(6000 + number) for _ in range(100)]
            ready.wait()
            done.wait()
        def work():
            global ready, done
            ready, done = threading.Barrier(4), threading.Barrier(4)
            threads = [threading.Thread(target=peak, args=(i,)) for i in range(4)]
            for thread in threads: thread.start()
            for thread in threads: thread.join()
    """,
    "resizing": """
        def peak():
            buffer = bytearray(5000)
            for _ in range(200):
                buffer.extend(bytes(5000))
            kept = [0] * 5000
            for i in range(5000): kept.append(i)
            return buffer, kept
        def work():
            peak()
    """,
    "mappings": """
        import mmap
        def peak():
            kept = [mmap.mmap(-1, 4096 * n) for n in range(2, 20)]
            kept[3].close()
            return kept
        def work():
            peak()
    """,
    "a fork": """
        import os
        def peak():
            kept = [bytes(9000) for _ in range(100)]
            child = os.fork()
            if child == 0:
                more = [bytes(9000) for _ in range(500)]
                os._exit(0)
            os.waitpid(child, 0)
            return kept + [bytes(8000)]
        def work():
            peak()
    """,
}

UNDER_MEMRAY = """
import memray
with memray.Tracker(sys.argv[1], trace_python_allocators=True):
    work()
kinds = memray.AllocatorType
inside = [['peak'], ['<listcomp>']]
gone = {kinds.FREE, kinds.MUNMAP, kinds.PYMALLOC_FREE}
live, now, highest = {}, 0, 0
with memray.FileReader(sys.argv[1]) as reader:
    for record in reader.get_allocation_records():
        if record.allocator in gone:
            now -= live.pop(record.address, 0)
        elif record.size >= 5000 and [f[0] for f in record.stack_trace(1)] in inside:
            now += record.size - live.get(record.address, 0)
            live[record.address] = record.size
            highest = max(highest, now)
print(highest)
"""

UNDER_US = """
import kymograph
with kymograph.memory.start(sys.argv[1]):
    work()
"""


def run(path: Path, program: str, recorder: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", "import sys\n" + textwrap.dedent(program) + recorder, str(path)],
        env={**os.environ, "PYTHONWARNINGS": "ignore::DeprecationWarning"},
        capture_output=True,
        encoding="utf-8",
        timeout=400,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def peak_of(path: Path) -> int:
    """The highest sum of blocks and mappings of 5000 bytes or more that `peak` allocated itself."""
    live: dict[int, int] = {}
    highest = now = 0
    for name, fields in notes(path):
        if name in ("memory.free", "memory.unmap"):
            now -= live.pop(fields["address"], 0)
        elif name in ("memory.alloc", "memory.realloc", "memory.map"):
            if fields["function"] == "arena":
                continue  # which objects are in: memray does not count it
            if fields["stack"][:1] in (("peak",), ("<listcomp>",)) and fields["size"] >= 5000:
                live[fields["address"]] = fields["size"]
                now += fields["size"]
                highest = max(highest, now)
    return highest


@pytest.mark.parametrize("name", PROGRAMS)
def test_the_peak_is_the_same_to_the_byte(tmp_path: Path, name: str) -> None:
    theirs = int(run(tmp_path / "memray.bin", PROGRAMS[name], UNDER_MEMRAY))
    run(tmp_path / "ours.kymo", PROGRAMS[name], UNDER_US)
    assert theirs > 0
    assert peak_of(tmp_path / "ours.kymo") == theirs
