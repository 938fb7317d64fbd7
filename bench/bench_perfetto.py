"""A capture's Perfetto export in Perfetto's trace processor, for comparison with bench_view.py.

    python bench/bench_perfetto.py [slices, default 10 000 000]

Prints how long the export takes to load, from the start of the program to the answer to a first
question, and how much memory that needs. tools/trace-processor.sh gets the trace processor. It is
WebAssembly with addresses of 32 bits, so it ends at 4 GB.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
IMITATE = ROOT / "build" / "bench" / "bench" / "imitate"
ENGINE = ROOT / "tests" / "python" / "trace_processor.mjs"


def load(directory: str, trace: Path) -> tuple[object, float, float, float]:
    """What it says about TRACE, seconds until then, those of a processor, and MB resident."""
    question = json.dumps({"trace": str(trace), "queries": ["select count(*) from slice"]})
    began = time.monotonic()
    with subprocess.Popen(
        ["node", ENGINE, directory], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdin and process.stdout
        process.stdin.write(question + "\n")
        process.stdin.flush()
        line = process.stdout.readline()
        seconds = time.monotonic() - began
        process.stdin.close()
        _, _, usage = os.wait4(process.pid, 0)
        process.returncode = 0
    answer = json.loads(line or '"it ended without an answer"')
    return answer, seconds, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024


def main() -> None:
    slices = int(sys.argv[1]) if len(sys.argv) > 1 else 10_000_000
    found = subprocess.run(
        [ROOT / "tools" / "trace-processor.sh"], capture_output=True, text=True, check=False
    )
    if found.returncode:
        print(f"no trace processor to compare with: {found.stderr.strip()}")
        return
    with tempfile.TemporaryDirectory() as folder:
        path, trace = Path(folder) / "huge.kymo", Path(folder) / "huge.pftrace"
        if len(sys.argv) > 2:  # one that is there
            path = Path(sys.argv[2])
        else:
            subprocess.run([IMITATE, path, str(2 * slices)], check=True)
        program = Path(sys.executable).with_name("kymograph")
        subprocess.run([program, "export", path, "--to", "perfetto", "-o", trace], check=True)
        answer, seconds, busy, resident = load(found.stdout.strip(), trace)
        print(f"{slices:,} slices, exported to Perfetto: {trace.stat().st_size / 1e6:.0f} MB")
        print(f"  in the trace processor after {seconds:.1f} s ({busy:.1f} s of a processor)")
        print(f"  {resident:.0f} MB resident at most; its answer: {answer}")


if __name__ == "__main__":
    main()
