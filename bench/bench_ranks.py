"""`kymograph report DIRECTORY` on many captures, and the export of some of them to Parquet.

    python bench/bench_ranks.py [--captures 1000] [--calls 100000] [--exported 50]

Prints elapsed and CPU time, and the most memory that was resident. The captures are in the cache:
they have just been written. The export needs pyarrow in this Python.
"""

from __future__ import annotations

import argparse
import importlib.util
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
IMITATE = ROOT / "build" / "bench" / "bench" / "imitate"


def measure(what: str, *command: object) -> None:
    """Run it, and print what it took. A process of its own forks it, so that memory is its own."""
    began, read = time.perf_counter(), os.pipe()
    pid = os.fork()
    if pid == 0:
        with open(os.devnull, "wb") as nowhere:
            code = subprocess.run([*map(str, command)], stdout=nowhere, check=False).returncode
        used = resource.getrusage(resource.RUSAGE_CHILDREN)
        os.write(read[1], f"{used.ru_utime + used.ru_stime} {used.ru_maxrss}".encode())
        os._exit(code)
    if os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]):
        sys.exit(f"it failed: {' '.join(map(str, command))}")
    elapsed = time.perf_counter() - began
    cpu, kilobytes = os.read(read[0], 100).split()
    print(
        f"{what:44} {elapsed:6.1f} s elapsed, {float(cpu):6.1f} s of CPU time, "
        f"{int(kilobytes) / 1000:6.0f} MB"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--captures", type=int, default=1000)
    parser.add_argument("--calls", type=int, default=100_000)
    parser.add_argument("--exported", type=int, default=50)
    options = parser.parse_args()
    if not IMITATE.exists():
        sys.exit("bench/imitate is not built; run: make bench")
    with tempfile.TemporaryDirectory() as temporary:
        all_of_them, some = Path(temporary, "all"), Path(temporary, "some")
        all_of_them.mkdir()
        some.mkdir()
        for number in range(options.captures):
            path = all_of_them / f"rank{number:05}.kymo"
            subprocess.run([IMITATE, path, str(2 * options.calls)], check=True)
            if number < options.exported:
                (some / path.name).hardlink_to(path)
        size = sum(path.stat().st_size for path in all_of_them.iterdir())
        print(f"{options.captures} captures of {options.calls} calls, {size / 1e6:.0f} MB together")
        kymograph = [sys.executable, "-m", "kymograph"]
        measure("report of all", *kymograph, "report", all_of_them)
        if importlib.util.find_spec("pyarrow") is None:
            print("no export: there is no pyarrow")
            return
        export = [*kymograph, "export", "--to", "parquet", "-o", Path(temporary, "data"), some]
        measure(f"export of {options.exported} to parquet", *export)
        measure("the same again, which finds all complete", *export)


if __name__ == "__main__":
    main()
